"""The result of an operation: events, replies and changes of sessions. Making a decision changes nothing."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.causes import Requester
from coordinator.core.classic_group import ClassicGroup, ClientConnection
from coordinator.core.committed_offsets import TransactionMarker
from coordinator.core.events import Event
from coordinator.core.pauses import NO_PAUSES, Pauses
from coordinator.core.states import COMPLETING_REBALANCE, STABLE
from coordinator.wall_time import ONE_CLOCK, WallTime


class Topics(Protocol):
    """Read access to the topics of the cluster."""

    def partition_count(self, name: str) -> int:
        """Partitions of the topic, 0 where there is none of that name."""

    def names(self) -> Container[str]:
        """The topics that exist at the time of the call; it does not change afterwards."""

    def topic_id(self, name: str) -> bytes:
        """16 bytes, all zero where there is no topic of that name."""

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with that id (16 bytes), None where there is none."""


class SessionTimeouts(Protocol):
    """Read access to the sessions of members."""

    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Whether the member's session has run out, or never was."""

    def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
        """When the member's session was last renewed, in the time of deadlines; None: not since it began."""


def _no_producer_ids(now_ms: int) -> int | None:
    raise LookupError("nobody allocates producer ids here")


class Environment(NamedTuple):
    """What all operations of a coordinator may read. `new_id` returns a random UUID as text.

    `filled_size` is the most members that a fault of a test allows the group of this operation; None: there is none.
    """

    config: Config
    topics: Topics
    sessions: SessionTimeouts
    new_id: Callable[[], str]
    filled_size: int | None = None
    addresses: AddressLimits | None = None
    """How much the clients of one address may create; None: without a limit."""
    new_producer_id: Callable[[int], int | None] = _no_producer_ids
    """(now in ms) → a producer id that was never used; None: there will be one in a moment."""
    wall: WallTime = ONE_CLOCK
    """What is stamped on records and events."""
    pauses: Pauses = NO_PAUSES
    """When the coordinator itself stood still."""

    def may_create_group(self, client_host: str) -> bool:
        return self.addresses is None or self.addresses.may_create_group(client_host)

    def may_create_transactional_id(self, client_host: str) -> bool:
        return self.addresses is None or self.addresses.transactional_ids.is_allowed(client_host)


@dataclass(slots=True)
class OperationContext:
    """Who asks for an operation, in which version, and when it is decided.

    `request_id` is the address of the reply; None if no reply is needed. `now_ms` is set when the operation is
    taken from its queue: the time of deadlines, in milliseconds. So is `wall_ms`, which is stamped on events,
    offsets and groups: wall-clock milliseconds since the epoch.
    """

    request_id: int | None
    api_version: int
    client_id: str
    client_host: str
    environment: Environment
    now_ms: int
    wall_ms: int

    @property
    def config(self) -> Config:
        return self.environment.config

    @property
    def topics(self) -> Topics:
        return self.environment.topics

    def new_id(self) -> str:
        return self.environment.new_id()

    @property
    def requester(self) -> Requester:
        return Requester(self.client_id, self.client_host)

    @property
    def client_connection(self) -> ClientConnection | None:
        """The connection that the request came by; None if it came by none."""
        return None

    @property
    def client_software_name(self) -> str:
        """What the client said of itself with ApiVersions (KIP-511); empty if it said nothing."""
        return ""

    @property
    def client_software_version(self) -> str:
        return ""


@dataclass(slots=True)
class Reply:
    """The response to a request: a message of `_wire.messages`."""

    request_id: int
    response: object


class SessionTable(Protocol):
    """Write access to the sessions of members. It keeps deadlines only; the rules are in the decisions."""

    def start(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        first_timeout_ms: int,
        timeout_ms: int,
        may_heartbeat: bool,
        now_ms: int,
    ) -> None: ...

    def renew(self, group_id: str, member_id: str, timeout_ms: int, now_ms: int) -> None: ...

    def end(self, group_id: str, member_id: str) -> bool: ...


@dataclass(slots=True)
class SessionStarted:
    """A session begins that ends after `first_timeout_ms`; from its first heartbeat on it lasts `timeout_ms`.

    `may_heartbeat` is false for a pending member id: no heartbeat renews its session.
    """

    member_id: str
    group_instance_id: str | None
    first_timeout_ms: int
    timeout_ms: int
    may_heartbeat: bool = True

    def apply(self, sessions: SessionTable, group_id: str, now_ms: int) -> None:
        sessions.start(
            group_id,
            self.member_id,
            self.group_instance_id,
            self.first_timeout_ms,
            self.timeout_ms,
            self.may_heartbeat,
            now_ms,
        )


@dataclass(slots=True)
class SessionRenewed:
    """The member sent a request: its session ends `timeout_ms` from now."""

    member_id: str
    timeout_ms: int

    def apply(self, sessions: SessionTable, group_id: str, now_ms: int) -> None:
        sessions.renew(group_id, self.member_id, self.timeout_ms, now_ms)


@dataclass(slots=True)
class SessionEnded:
    """The member, or the pending member id, is gone."""

    member_id: str

    def apply(self, sessions: SessionTable, group_id: str, now_ms: int) -> None:
        sessions.end(group_id, self.member_id)


SessionChange = SessionStarted | SessionRenewed | SessionEnded


@dataclass(slots=True)
class Decision:
    """The result of an operation. It is not changed once it is made.

    The class is not frozen because that would make each decision several times as expensive to create.
    """

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()
    sessions: tuple[SessionChange, ...] = ()
    marker: TransactionMarker | None = None
    """Stored after the records of the events."""
    keeps_membership: bool = False
    """The events change nothing but committed offsets, so no step of the group can follow from them."""
    is_partial: bool = False
    """Over the whole shard: the operation has more to do, and is decided again before any other one of the shard."""
    weight: int = 0
    """As how many usual operations its work counts beside the one that it is."""


NOTHING: Final = Decision()


def replying(context: OperationContext, response: object) -> Decision:
    """A decision that answers the request and changes nothing."""
    assert context.request_id is not None
    return Decision(replies=(Reply(context.request_id, response),))


def next_deadline_ms(group: ClassicGroup) -> int | None:
    """When the group has to advance without a request; None: never. Milliseconds since the epoch.

    The end of the join phase, or the time to remove the members that sent no SyncGroup: a group waits for at most one
    of the two. Sessions are not among these deadlines: the session table keeps them.
    """
    if group.rebalance is not None:
        return group.rebalance.deadline_ms
    if group.pending_sync and group.state in (COMPLETING_REBALANCE, STABLE):
        return group.sync_deadline_ms
    return None
