"""What a request comes to: events, replies, and which sessions begin anew. Deciding changes nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coordinator.core.events import Event
from coordinator.core.group import Group
from coordinator.core.states import GroupState

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a member may wait for its first generation (Kafka's `classicGroupNewMemberJoinTimeoutMs`).

It counts from the JoinGroup. A member that sends a heartbeat or a commit meanwhile has shown that it knows its id, and
its session timeout counts from then on.
"""


@dataclass(slots=True)
class RequestContext:
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


class TimerName:
    """The timers of a group, each with one meaning. Sessions are not among them: they belong to the lease table."""

    JOIN: Final = "join"
    """The join phase is over, complete or not."""
    SYNC: Final = "sync"
    """Who has not sent SyncGroup by then is removed."""


def wanted_timers(group: Group) -> dict[str, int]:
    """The timers that should run for the state as it is: name → deadline, milliseconds since the epoch."""
    if group.rebalance is not None:
        return {TimerName.JOIN: group.rebalance.deadline_ms}
    if group.pending_sync and group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return {TimerName.SYNC: group.sync_deadline_ms}
    return {}
