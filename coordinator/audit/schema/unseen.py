"""What nodes that watch a group have not seen."""

from enum import StrEnum

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import MemberRef


class UnseenBecause(StrEnum):
    """Why something was not seen. A closed list."""

    NODE_AWAY = "node_away"
    FACTS_DROPPED = "facts_dropped"
    NOT_THROUGH_NODES = "not_through_nodes"
    NOT_WATCHED = "not_watched"


class GroupUnseen(AuditEvent, frozen=True, kw_only=True, tag="group.unseen"):
    """Something may have happened in a watched group that no node has seen: of that time, records alone tell.

    Only nodes that watch write it. `because` is `node_away`: the node `by_node`, by way of which members came, was away
    or could not look; `facts_dropped`: it saw more than it could keep; `not_through_nodes`: `member` came to the
    brokers directly, so what it sends is not seen until it comes by way of a node; or `not_watched`: no rule watched
    the group for a time, which is told where that begins. `from_ms` and `until_ms` are null where that has no begin or
    no end.
    """

    because: str
    from_ms: int | None = None
    until_ms: int | None = None
    by_node: int | None = None
    member: MemberRef | None = None
