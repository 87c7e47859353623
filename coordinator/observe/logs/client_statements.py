"""What a line of a client's log states. One class per statement, whichever library wrote the line.

`None` where the line does not tell a value. Times are those of the places.
"""

from enum import StrEnum

import msgspec

from coordinator.observe.places import Place


class Library(StrEnum):
    JAVA = "java"
    LIBRDKAFKA = "librdkafka"
    KAFKA_PYTHON = "kafka-python"
    FRANZ_GO = "franz-go"


class ClientStatement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What all have.

    `group_id` and `member_id` may be from earlier lines of the same client in the same file: kafka-python has no client
    id in its lines and not always a group, and only some lines of each library have the member id.
    """

    place: Place
    library: Library
    client_id: str | None = None
    group_id: str | None = None
    group_instance_id: str | None = None
    member_id: str | None = None
    is_zone_assumed: bool = False
    is_doubtful: bool = False
    """The line can be read in several ways."""


class MemberIdReceived(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The coordinator gave the client its id."""


class GenerationJoined(ClientStatement, frozen=True, kw_only=True, gc=False):
    """JoinGroup was answered: the client is a member of this generation."""

    generation_id: int
    is_leader: bool | None = None


class GenerationSynced(ClientStatement, frozen=True, kw_only=True, gc=False):
    """SyncGroup was answered: the client has its assignment."""

    generation_id: int | None = None
    partitions: tuple[str, ...] | None = None


class AssignmentComputed(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The client is the leader and has computed who gets what."""

    generation_id: int | None = None
    text: str = ""


class EpochReached(ClientStatement, frozen=True, kw_only=True, gc=False):
    """A member of KIP-848 went from one state to another."""

    epoch: int
    state_before: str
    state: str


class RejoinRequested(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The client decided to join again; `reason` is what it also tells the broker (KIP-800), or more."""

    reason: str


class Leaving(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The client leaves its group."""

    reason: str | None = None


class PollTimeoutExceeded(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The application did not poll within max.poll.interval.ms."""

    interval_ms: int | None = None
    exceeded_ms: int | None = None
    is_over: bool = False
    """It polls again now."""


class HeartbeatFailed(ClientStatement, frozen=True, kw_only=True, gc=False):
    """`error`: Kafka's name of it, if the line has it, else the text of the line."""

    error: str


class JoinFailed(ClientStatement, frozen=True, kw_only=True, gc=False):
    """JoinGroup or SyncGroup was refused. `error` as in `HeartbeatFailed`."""

    error: str
    is_fatal: bool = False


class Fenced(ClientStatement, frozen=True, kw_only=True, gc=False):
    """Another client has the static instance id, or the member epoch is not valid any more."""

    error: str


class CoordinatorLost(ClientStatement, frozen=True, kw_only=True, gc=False):
    """The client does not know or reach its coordinator."""

    error: str


class PartitionsAssigned(ClientStatement, frozen=True, kw_only=True, gc=False):
    """Partitions as `TOPIC-INDEX`; None: the line does not list them. `text` is the list as it has it."""

    text: str
    partitions: tuple[str, ...] | None = None


class PartitionsRevoked(ClientStatement, frozen=True, kw_only=True, gc=False):
    """As `PartitionsAssigned`. `is_lost`: the client was no member any more."""

    text: str
    partitions: tuple[str, ...] | None = None
    is_lost: bool = False
