"""The row that declares a kind of group: everything by which one kind differs from another.

The rows of all kinds are in `kinds.py`. Everything outside the folder of a kind reads its row and the views of
`membership.py`, so that a kind is added by its folder, its line in `kinds.py` and its audit.

Counterpart in Kafka: the interface `Group`, its `GroupType`, and what `GroupMetadataManager` does for each type.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.key import ConfigKey
from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, Effect, Environment, OperationContext, Topics
from coordinator.core.event import Event
from coordinator.core.groups.background_work import Worker
from coordinator.core.groups.membership import Membership, WaitingRequest
from coordinator.core.groups.states import DEAD, GroupState
from coordinator.core.sessions import SessionChange
from coordinator.core.stored import StoredRecord

CLASSIC_NAME: Final = "classic"
"""The kind of a group that a commit creates: a "simple" group, which no client joined."""
CONSUMER_NAME: Final = "consumer"
"""The kind of the groups of ConsumerGroupHeartbeat (KIP-848)."""
SHARE_NAME: Final = "share"
"""The kind of the groups of ShareGroupHeartbeat (KIP-932)."""
STREAMS_NAME: Final = "streams"
"""The kind of the groups of StreamsGroupHeartbeat (KIP-1071)."""

Handler = Callable[[Any, Any, OperationContext], Decision]
"""(group, request, context) → decision."""
FailureHandler = Callable[[Any, Any, OperationContext, object], Decision]
"""(group, request, context, problem) → decision."""
RecordMaker = Callable[[Any, Any, tuple[Any, ...]], list[StoredRecord]]
"""(event, group before the decision, all events of the decision) → records."""


NOTHING_LOGGED: Final[Mapping[type, Callable[[Any], None]]] = {}
NO_WORKERS: Final[Mapping[str, Worker]] = {}


class EventRecords(msgspec.Struct, frozen=True):
    """The records of an event."""

    make: RecordMaker
    stores_group: bool | Callable[[Any], bool] = True
    """Whether they describe the whole group as the event leaves it; a function asks the event."""


class RecordType(msgspec.Struct, frozen=True):
    """A type of record of `__consumer_offsets` that a kind of group is stored in."""

    key_type: int
    """The first two bytes of its keys."""
    group_id_of: Callable[[bytes], str]
    """Reads the group id from a key. Raises MalformedMessage."""
    replay: Callable[[Membership | None, bytes, bytes | None], Membership | None]
    """(membership before, key, value) → membership after the record; None: the group does not exist.

    Also gets the membership of another kind, which the record then replaces, or leaves if it is a tombstone. Raises
    MalformedMessage.
    """
    is_whole: bool = False
    """Whether a value describes the whole group, so that a load need not decode the values before the last one."""


class KindRecords(msgspec.Struct, frozen=True):
    """How a kind of group is stored."""

    of_events: Mapping[type, EventRecords]
    of_creation: Callable[[Any], list[StoredRecord]]
    """The event `GroupCreated` → records. Also those of a group without members that becomes one of this kind."""
    of_state: Callable[[Any], list[StoredRecord]]
    """The records of the current state; a load of them restores it, but for waiting requests."""
    of_removal: Callable[[Any], list[StoredRecord]]
    """The tombstones of a group that is removed. Kafka: `createGroupTombstoneRecords`."""
    types: tuple[RecordType, ...]
    stores_creation: bool = True
    """Whether `of_creation` makes records; if not, the events after `GroupCreated` have to."""


class OffsetRules(msgspec.Struct, frozen=True):
    """What a kind of group says about the committed offsets of its groups."""

    validate_commit: Callable[[Any, str, str | None, int, int, Sequence[Any], Topics], ErrorCode]
    """(membership, member id, instance id, generation or member epoch, API version, committed, topics).

    `committed` are the topics of the request (structs with `name` and `partitions`, which have a `partition_index`);
    `topics` are those of the cluster. Kafka: `validateOffsetCommit`.
    """
    validate_transactional_commit: Callable[[Any, str, str | None, int, Sequence[Any], Topics], ErrorCode]
    """(membership, member id, instance id, generation or member epoch, committed, topics), for TxnOffsetCommit."""
    validate_fetch: Callable[[Any, str | None, int], ErrorCode]
    """(membership, member id, member epoch). Kafka: `validateOffsetFetch`."""
    validate_delete: Callable[[Any], ErrorCode]
    """Whether offsets may be deleted at all. Kafka: `validateOffsetDelete`."""
    sessions_renewed: Callable[[Any, str], tuple[SessionChange, ...]]
    """(membership, member id) → the sessions that a commit of the member renews."""
    topics_read: Callable[[Any], Container[str]]
    """The topics that the group reads: their offsets are neither deleted nor expired. Kafka: `isSubscribedToTopic`."""
    may_expire: Callable[[Any], bool]
    """Whether offsets age in the state of the group. Kafka: `offsetExpirationCondition`."""
    expiration_base_ms: Callable[[Any], int | None]
    """Since when the offsets of the group age, in wall-clock milliseconds; None: each since its commit."""


class KindEvents(msgspec.Struct, frozen=True):
    """What the events of a kind mean to who counts and logs them, by class of event."""

    transition_reasons: Mapping[type, Callable[[Any], str]]
    """Why the event changed the state of its group, for the log."""
    rebalance_started: Mapping[type, Callable[[Any], Cause]]
    rebalance_ended: Mapping[type, Callable[[Any, GroupState], bool]]
    """(event, state of the group after its decision) → whether the rebalance is over, if there was one."""
    rebalance_counted: Mapping[type, Callable[[Any], bool]]
    """Whether Kafka's metric of the rebalances of this kind counts the event."""
    members_removed: Mapping[type, Callable[[Any], Iterable[Cause]]]
    """Why members were removed, one cause for each."""
    pending_member_added: frozenset[type] = frozenset()
    """A member id was handed out that nobody uses yet (KIP-394). Each has `member_id` and `client_host`."""
    logged: Mapping[type, Callable[[Any], None]] = NOTHING_LOGGED
    """Logs the event, beside the change of the state that it may make."""


class DerivedField(NamedTuple):
    """A value that follows from others, and what it should be."""

    what: str
    found: object
    expected: object


class KindChecks(msgspec.Struct, frozen=True):
    """What holds for every group of a kind, for the checks of `groups/checked.py`."""

    legal_predecessors: Mapping[GroupState, frozenset[GroupState]]
    durable_part: Callable[[Any], object]
    """What the records keep of a membership, in a form that can be compared."""
    derived_fields: Callable[[Any], Iterable[DerivedField]]


class GroupKind(msgspec.Struct, frozen=True):
    """A kind of group. `Any` stands for the membership class of the kind."""

    name: str
    """As ListGroups calls it: its `group_type`."""
    states: tuple[GroupState, ...]
    """All states that a group of this kind can be in."""
    stored_states: frozenset[GroupState]
    """Those that the records describe."""
    rebalance_states: frozenset[GroupState]
    """Those in which a rebalance can be started although no member changes."""
    new_membership: Callable[[str], Membership]
    """Group id → the membership of a group that was just created: Empty."""
    handlers: Mapping[str, Handler]
    """Name of an operation that depends on the kind → its decision for a group of this kind."""
    too_large_handlers: Mapping[str, Handler]
    """The same for records that are larger than the log takes (`Operation.too_large`)."""
    failure_handlers: Mapping[str, FailureHandler]
    """Name of an operation that nobody waits for → what follows from its failure (`Operation.failed`)."""
    advance: Callable[[Any, OperationContext], Decision]
    """The next step that the state requires at `context.now_ms`, or NOTHING."""
    next_deadline_ms: Callable[[Any], int | None]
    """When the group has to advance without a request, in milliseconds since the epoch; None: never."""
    waiting_requests: Callable[[Any], list[WaitingRequest]]
    """The requests that are answered when the group is discarded or its partition is unloaded."""
    session_ids: Callable[[Any], list[str]]
    """The member ids that have a session, those of pending members too."""
    effects_of_loaded: Callable[[Any, Environment], Sequence[Effect]]
    """The sessions and the work that begin when the group was loaded."""
    has_fast_heartbeats: bool
    """Whether a Heartbeat for a Stable generation does nothing but renew a session, so that `groups/sessions.pyx` may
    answer it."""
    max_size: ConfigKey[int] | None
    """The setting that limits the members. A loaded group with more of them is to rebalance; None: it is not."""
    described_bytes: Callable[[Any], int]
    """About how many bytes the description of its members takes (`answer_sizes.py`)."""
    validate_removal: Callable[[Any], ErrorCode]
    """Whether an administrator may remove the group. Kafka: `validateDeleteGroup`."""
    offsets: OffsetRules
    records: KindRecords
    events: KindEvents
    checks: KindChecks
    generation_name: str = "generation"
    """What the number of a generation is called."""
    workers: Mapping[str, Worker] = NO_WORKERS
    """Name → who does the work that the effect `StartWork` of this name starts."""
    steps_left: Callable[[Any], Iterator[None]] = lambda membership: iter(())
    """What events with much to change have left to be done: steps of about a millisecond."""
    forget_topics: Callable[[Any, Any, OperationContext], tuple[Event, ...]] = lambda membership, gone, context: ()
    """(membership, topics that are gone (`GoneTopics`), context) → what follows for it, beside committed offsets."""
    needs_topic_list: Callable[[Any], bool] = lambda membership: False
    """Whether requests of members may compute with the list of all topics, as those of regular expressions do."""

    def __repr__(self) -> str:
        """Short: an event with it may be part of an error message."""
        return f"GroupKind({self.name!r})"

    @property
    def is_always_stored(self) -> bool:
        """Whether the records describe every state of a group that exists."""
        return self.stored_states.issuperset(state for state in self.states if state is not DEAD)
