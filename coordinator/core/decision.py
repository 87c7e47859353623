"""What a request comes to: events, replies, and which sessions begin anew. Deciding changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coordinator.core.events import Event
from coordinator.core.group import Group
from coordinator.core.states import COMPLETING_REBALANCE, STABLE

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a member may wait for its first generation (Kafka's `classicGroupNewMemberJoinTimeoutMs`).

It counts from the JoinGroup. A member that sends a heartbeat or a commit meanwhile has shown that it knows its id, and
its session timeout counts from then on.
"""


@dataclass(slots=True)
class OperationContext:
    """Who asks, how, and where randomness comes from.

    `new_id` makes a UUID in text; `request_id` is what a reply is addressed to.
    """

    request_id: int
    api_version: int
    client_id: str
    client_host: str
    new_id: Callable[[], str]


@dataclass(slots=True)
class Reply:
    """The answer to a request: a message of `_wire.messages`."""

    request_id: int
    response: object


@dataclass(slots=True)
class Decision:
    """`renewed`: members and reserved member ids whose session timeout begins anew with this decision.

    Never changed; that its class is not frozen makes it cheaper to make, as with events.
    """

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()
    renewed: tuple[str, ...] = ()


NOTHING: Final = Decision()


def next_deadline_ms(group: Group) -> int | None:
    """When something follows for the group though nobody asks it anything; None: never. Milliseconds since the epoch.

    The end of the join phase, or the time to remove who sent no SyncGroup: a group waits for one of them at most.
    Sessions are not among these deadlines: they belong to the lease table.
    """
    if group.rebalance is not None:
        return group.rebalance.deadline_ms
    if group.pending_sync and group.state in (COMPLETING_REBALANCE, STABLE):
        return group.sync_deadline_ms
    return None
