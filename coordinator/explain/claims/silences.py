"""Members that were not heard, what their connections tell of it, and the coordinator's own absence."""

from enum import StrEnum

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim


class Silent(Claim, frozen=True):
    """A member was removed because nothing of it that renews its session had arrived for its session timeout.

    True if nothing that the member sent arrived from `since_ms` to `until_ms` while the coordinator listened, but
    commits if `committed_ms` says so, and the coordinator did nothing to it in that time (see `Refused`, `Muted`,
    `Unheard`). `since_ms` None: not known.

    Its evidence is unknown where nothing is known of its connection, as after a start of the coordinator: requests of
    it may have been refused, rejected or left unread then.
    """

    member: MemberRef
    until_ms: int
    since_ms: int | None = None
    timeout_ms: int | None = None
    committed_ms: int | None = None
    """When it sent a commit meanwhile: one renews no session in a consumer group (KIP-848), or where it is refused."""
    rejected: str = ""
    """The error with which requests of it were rejected meanwhile; empty: none was, as far as that is told."""

    @property
    def silent_ms(self) -> int | None:
        return None if self.since_ms is None else max(0, self.until_ms - self.since_ms)


class Unheard(Claim, frozen=True):
    """The session of a member ended because the coordinator itself stood still: the member is not to blame.

    Its evidence is unknown where its connection closed meanwhile, and either another member of the same client was
    there at once after the pause, or nothing was heard of it for a whole session: its process may have ended then.
    """

    member: MemberRef
    paused_ms: int
    timeout_ms: int | None = None
    is_closed: bool = False
    """Its connection closed meanwhile: clients give up when nobody answers."""
    found_closed: bool = False
    """That is why it was removed: the coordinator found the connection closed when it went on."""


class Refused(Claim, frozen=True):
    """The session of a member ended because its requests were refused: it has no right to what they need.

    True if the member sent requests after it had lost the right, and none that renews its session was answered
    otherwise. `count` are those over its last connection.
    """

    member: MemberRef
    api: str
    operation: str
    resource_type: str
    resource_name: str
    since_ms: int
    count: int = 1


class Muted(Claim, frozen=True):
    """The session of a member ended because nothing was read from its connection for so long: a quota was exceeded."""

    member: MemberRef
    muted_ms: int
    timeout_ms: int | None = None


class StoodStill(Claim, frozen=True):
    """The coordinator itself stood still for a part of the time in which it did not hear a member."""

    member: MemberRef
    paused_ms: int
    silent_ms: int


class Closer(StrEnum):
    """Who may have closed a consumer without LeaveGroup, in order."""

    STATIC = "static"
    KAFKA_STREAMS = "kafka_streams"


class ConnectionClosed(Claim, frozen=True):
    """The connection of a silent member was closed by its client's side before it was removed.

    True if its process ended, it was closed in order, or something between closed the connection, at that time.
    """

    member: MemberRef
    at_ms: int
    removed_ms: int
    closer: Closer | None = None
    silent_before_ms: int | None = None
    """How long it had been silent by then, where that is more than half of its session timeout."""
    lives: bool = False
    """Its process lived: it asked again (see `CameAgain`)."""
    in_pause_ms: int | None = None
    """How long the coordinator stood still when it closed: its client may have given up, as nobody answered."""


class CameAgain(Claim, frozen=True):
    """The client of a removed member asked again under its old member id: its process lived all the time.

    `silent_ms` is from its last sign before the removal until then; None: that sign is not known.
    """

    member: MemberRef
    at_ms: int
    removed_ms: int
    silent_ms: int | None = None


class ConnectionOpen(Claim, frozen=True):
    """The connection of a silent member was open when it was removed.

    True if its process lived (suspended, without a processor, hung, or busy where only poll() sends heartbeats), or
    its host or the network was cut off.
    """

    member: MemberRef


class MayBeClosed(Claim, frozen=True):
    """A static member sends no LeaveGroup when it is closed, and whether its connection was open is not known."""

    member: MemberRef


class Back(Claim, frozen=True):
    """The client of a removed member is in the group again, under another member id."""

    member: MemberRef
    new_member: MemberRef
    gone_ms: int
    back_ms: int
    is_closed: bool = False
    """`gone_ms` is when its connection closed, not when it was removed."""
    found_closed: bool = False
    """Its connection closed while the coordinator stood still: `gone_ms` is when that was found, after the pause."""


class UnheardSinceStart(Claim, frozen=True):
    """The session of a member began again with a start of the coordinator, and nothing of it arrived since.

    Nothing but commits, if `has_committed`: these renew no session in a consumer group (KIP-848).
    """

    member: MemberRef
    start_ms: int
    has_committed: bool = False


class AbsenceKind(StrEnum):
    """What a coordinator did."""

    PAUSED = "paused"
    STOPPED = "stopped"
    STARTED = "started"
    UNAVAILABLE = "unavailable"
    """It could write nothing, and so answered no request of the group."""
    LED = "led"
    """Another node led the group from then on."""


class End(StrEnum):
    """How the coordinator had ended before it started again, or before another node led the group."""

    NOT_KNOWN = "not_known"
    IN_ORDER = "in_order"
    IN_ORDER_UNTOLD = "in_order_untold"
    """It was stopped in order, and could not write when, as after a full disk."""
    WITHOUT_STOP = "without_stop"


class CoordinatorAway(Claim, frozen=True):
    """The coordinator of the group stood still, stopped, started, or was replaced by another node.

    True if it was away from `from_ms` to `until_ms`, as far as these are known.
    """

    kind: AbsenceKind
    at_ms: int
    from_ms: int | None = None
    until_ms: int | None = None
    node_id: int | None = None
    """Which node, where there are several; None: the only one."""
    other_node_id: int | None = None
    """The node that led before (LED), or that took over meanwhile (PAUSED)."""
    pause_kind: str = ""
    is_first: bool = False
    """A start before which the group was not there."""
    end: End = End.NOT_KNOWN
    """How the coordinator before had ended. `from_ms` is when: its stop, or its last sign among the events."""
