"""Why a rebalance began, and who came and went in it."""

from enum import StrEnum

import msgspec

from coordinator.audit.schema import MemberRef, Requester
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims.claim import Claim


class Joined(Claim, frozen=True):
    """A client that was no member joined the group, or joined it again under a new member id."""

    member: MemberRef
    said: str = ""
    """The reason that it gave (KIP-800); empty: none, or the one that Java's consumer gives at every first join."""


class Change(StrEnum):
    """What a member said differently when it rejoined."""

    TOPICS = "topics"
    PATTERN = "pattern"
    """Another regular expression (KIP-848)."""
    PROTOCOLS = "protocols"
    """The same topics, so other assignors, or other data for them."""
    PROCESS = "process"
    """Where and as what it runs, in a streams group (KIP-1071): its topics are those of the topology."""
    UNKNOWN = "unknown"
    NONE_KNOWN = "none_known"
    """The same topics; of assignors the coordinator stores one only, and it had restarted."""


class Resubscribed(Claim, frozen=True):
    """A member of the group changed what it subscribes to, or which assignors it offers."""

    member: MemberRef
    change: Change
    subscribed: tuple[str, ...] = ()
    """Topics that it did not subscribe to before."""
    unsubscribed: tuple[str, ...] = ()
    said: str = ""


class TopicChanged(Claim, frozen=True):
    """A topic of the group appeared (0 partitions before), vanished (0 now), or has another number of partitions.

    True if the administrators did that since the last assignment that the group made.
    """

    topic: str
    partitions_before: int
    partitions_now: int
    is_created_again: bool = False
    """It was deleted and created again: its partitions are new ones."""


class PatternTopics(msgspec.Struct, frozen=True):
    """A regular expression, and the topics that it matches."""

    pattern: str
    topics: tuple[str, ...]


class TopicsFound(Claim, frozen=True):
    """Regular expressions of members were looked up, and the topics that they match are others than before.

    True if members subscribe to them, and they match these topics; no topic need have changed. `found` is empty if
    they match too many to be named.
    """

    found: tuple[PatternTopics, ...]


class LeaderAsked(Claim, frozen=True):
    """The leader of a classic group rejoined, and its coordinator began a rebalance for it."""

    member: MemberRef
    said: str = ""
    had_no_partitions: bool = False
    """Its last assignment had no partitions for anybody."""
    is_seen_whole: bool = True
    """Whether the coordinator itself tells: what else it said is known. Lines of other brokers leave out some."""


class Rejoined(Claim, frozen=True):
    """A member that is not the leader rejoined with the same subscription, and a rebalance began."""

    member: MemberRef
    said: str = ""
    assigns_revoked: bool = False
    """It gave up partitions in a cooperative rebalance, which this one assigns."""


class Way(StrEnum):
    """How a member left by itself, as far as it said."""

    CLOSED = "closed"
    UNSUBSCRIBED = "unsubscribed"
    POLL_TIMEOUT = "poll_timeout"
    """Its application did not call poll() for max.poll.interval.ms."""
    OTHER = "other"
    """It gave another reason."""
    NOT_SAID = "not_said"


class Left(Claim, frozen=True):
    """A member left by a request of its own client (LeaveGroup, or a heartbeat with epoch -1 or -2)."""

    member: MemberRef
    way: Way
    at_ms: int
    said: str = ""
    limit_ms: int | None = None
    """max.poll.interval.ms, where `way` is POLL_TIMEOUT and the client sends it."""
    is_reason_seen: bool = True
    """Whether a reason would be known if it had given one: brokers before 3.2 do not log any."""


class Usual(StrEnum):
    """Whether clients of some software say why they leave."""

    GIVES = "gives"
    GIVES_NONE = "gives_none"
    UNKNOWN = "unknown"
    UNNAMED = "unnamed"
    """The client does not say what it is."""
    FORGOTTEN = "forgotten"
    """The coordinator had loaded its group again since the client said what it is."""
    UNSEEN = "unseen"
    """Logs and records of other brokers do not tell what the client is."""
    NOT_LOGGED = "not_logged"
    """A reason that it gave would not be in the log either: brokers before 3.2 do not log any."""


class Guess(StrEnum):
    """What fits the time since the last sign that the application called poll()."""

    CLOSED = "closed"
    POLL_TIMEOUT = "poll_timeout"
    NEITHER = "neither"


class DidNotComeBack(Claim, frozen=True):
    """A static member was closed for a moment (member epoch -2, KIP-848), and was not back when its session ended."""

    member: MemberRef
    left_ms: int
    timeout_ms: int | None = None


class LeftUnsaid(Claim, frozen=True):
    """Whether members that left were closed, or exceeded max.poll.interval.ms, is not known.

    True if they left without a reason; `guess` must not be what did not happen.
    """

    members: tuple[MemberRef, ...]
    usual: Usual = Usual.UNKNOWN
    limit_ms: int | None = None
    idle_ms: int | None = None
    """Since its last JoinGroup or commit, of a single member."""
    committed: bool = False
    """Whether the later of both was a commit."""
    guess: Guess = Guess.NEITHER


class RemovedByAdministrator(Claim, frozen=True):
    """An administrator removed a member."""

    member: MemberRef
    by: Requester | None = None
    said: str = ""


class Missing(StrEnum):
    """What a member did not do in time."""

    REJOIN = "rejoin"
    SYNC = "sync"
    GIVE_UP = "give_up"
    """Give up partitions that it was asked for (KIP-848)."""


class Late(Claim, frozen=True):
    """A member did not do something within the rebalance timeout, while the coordinator waited for it."""

    member: MemberRef
    missing: Missing
    limit_ms: int | None = None
    has_no_time: bool = False
    """Its own client asked for a timeout of 0 or less."""


class Restarted(Claim, frozen=True):
    """A client took the place of a static member (KIP-345): another process, or the same one with a new consumer."""

    member: MemberRef
    client_id_before: str = ""
    host_before: str = ""
    topics_before: tuple[str, ...] = ()
    topics_now: tuple[str, ...] = ()
    said: str = ""


class Evicted(Claim, frozen=True):
    """A member had to go because group.max.size was reached before it rejoined."""

    member: MemberRef


class AssignmentTooLarge(Claim, frozen=True):
    """The assignment of the leader is larger than message.max.bytes allows."""

    member: MemberRef | None = None


class FaultInjected(Claim, frozen=True):
    """A test injected a fault."""

    member: MemberRef | None = None
    said: str = ""


class Caused(Claim, frozen=True):
    """The coordinator began the rebalance itself, for a reason that concerns no single member."""

    cause: Cause


class AssignorChanged(Claim, frozen=True):
    """The generation before used another assignor."""

    before: str
    now: str


class Undecided(Claim, frozen=True):
    """What is seen of another Kafka leaves several causes open, which `cause` names; one of them is true."""

    cause: InferredCause
    member: MemberRef | None = None


class Untold(Claim, frozen=True):
    """`count` further causes are recorded without a name; or, if 0, why it began is not among the events."""

    count: int = 0
