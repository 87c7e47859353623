"""What the audit of one kind of group consists of. Its row is in the module of the kind (`classic.py`)."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.world import World
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState


class Projection(NamedTuple):
    """Makes one audit event from a core event."""

    event_class: type[schema.AuditEvent] | None
    """None: nothing is told, but something remembered for later events."""
    fields: Callable[[Any, Any, GroupAuditState, GroupState, World], Fields | None]
    """(core event, membership after it, audit state, state before it, world) → fields, or None for no audit event."""


class KindAudit(NamedTuple):
    """The audit of a kind of group."""

    projections: Mapping[type, tuple[Projection, ...]]
    """Class of core events of the kind → its projections."""
    remember: Callable[[Any, GroupAuditState, World], None]
    """(membership, audit state, world): make the audit state of a group that was loaded."""
    mark: Callable[[Any], Hashable]
    """Member → what tells it apart from itself in another stored state of the group: at least its id."""
    progress: Callable[[Any, GroupAuditState], dict[str, schema.MemberProgress]] | None = None
    """(membership, audit state) → how far the members are, by member id. Then the marks are tuples that begin with the
    member id, and go on with that. None: a rebalance is stored in no steps."""


def ms_between(start_ms: int, end_ms: int) -> int:
    """The time between two events; 0 if the wall clock was set back between them."""
    return end_ms - start_ms if end_ms > start_ms else 0


def whole_group(membership: Membership, state: GroupAuditState) -> Fields:
    """The first fields of `group.loaded` and `group.snapshot`."""
    return {
        "protocol_type": membership.protocol_type or "",
        "protocol_name": membership.protocol_name or "",
        "leader": membership.leader or "",
        "members": [state.members[member_id] for member_id in membership.members],
    }
