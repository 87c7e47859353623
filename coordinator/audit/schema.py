"""The events of `__group_audit`: what happened to a group, why, and how long it took.

One record per event. Key: the group id (UTF-8). Value: one JSON object of the structs below; `kind` tells which.
Headers: CloudEvents 1.0 binary mode (`ce_id` = "group/seq", `ce_type` = the kind, `ce_source`, `ce_time`,
`ce_specversion`, `content-type`).

`seq` numbers the events of a group. A group that is deleted and created again begins a new incarnation: `created_seq`
is the `seq` of its first event, which is larger than every `seq` of an earlier incarnation. Within an incarnation
`seq` is contiguous. So a reader drops duplicates by `(group_id, seq)`, and it knows that nothing is missing if each
`seq` is the one before plus 1, or equals `created_seq` and the event before it is `group.removed`.

Names that clients chose are bounded: of a subscription with more than `TOPICS_NAMED_MAX` topics, or an assignment
beyond `PARTITIONS_NAMED_MAX` partitions, an event names nothing, and `unnamed_topics` or `unnamed_partitions` counts
them. These two are 0 where everything is named.

Fields are only ever added; a change of meaning raises `SCHEMA_VERSION`. A field that was added later has a default,
which stands for it in events that were written before.
"""

from typing import Any, Final, get_args

import msgspec

from coordinator.core.causes import Cause

SCHEMA_VERSION: Final = 1

Record = tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the topic."""

TopicPartitions = dict[str, list[int]]
"""Topic name → partition indexes, ascending."""

TOPICS_NAMED_MAX: Final = 1_000
"""Topics that an event names of one subscription.

Each JoinGroup is an event, so a rebalance repeats the subscription once per member: at 1,000 topics of 30 characters
that is 33 KB and 0.1 ms each.
"""

PARTITIONS_NAMED_MAX: Final = 10_000
"""Partitions that are named of all assignments of one generation, and of one deletion or expiry of offsets.

A partition takes 4 bytes of a SyncGroup request, but 150 bytes of memory and 0.5 to 1 µs to compare with the generation
before. This bound keeps that at 10 ms and 1.5 MiB per generation, however large the request is.
"""


class MemberRef(msgspec.Struct, frozen=True):
    """A member as an event names it."""

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None


class MemberSnapshot(msgspec.Struct, frozen=True):
    """A member as DescribeGroups shows it, its assignment decoded (empty unless the protocol type is "consumer").

    `unnamed_topics` and `unnamed_partitions` count what is too much to be in `subscribed_topics` and `partitions`.
    """

    member: MemberRef
    subscribed_topics: list[str]
    partitions: TopicPartitions
    unnamed_topics: int = 0
    unnamed_partitions: int = 0


class StoredState(msgspec.Struct, frozen=True):
    """The state of a group that `__consumer_offsets` holds, which lags behind while a rebalance is under way.

    `seq` is the last event that is part of it.
    """

    seq: int
    generation_id: int
    state: str
    member_ids: list[str]


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The envelope that each event carries beside its own fields.

    `generation_id` and `state` are those after the event, the `_before` ones those before it; `time_ms` is wall-clock
    milliseconds since the epoch. `created_seq` is the `seq` of the first event of this incarnation of the group; an
    incarnation counts its generations from 0. `node_id` and `coordinator_epoch` name the coordinator that wrote the
    event: its `node.id`, and the leader epoch of the partition under which it wrote.
    """

    schema_version: int = SCHEMA_VERSION
    group_id: str
    seq: int
    created_seq: int
    time_ms: int
    node_id: int
    coordinator_epoch: int
    generation_id_before: int
    generation_id: int
    state_before: str
    state: str


class GroupCreated(AuditEvent, frozen=True, kw_only=True, tag="group.created"):
    """The group came to be: by a first join or a first commit."""


class MemberJoined(AuditEvent, frozen=True, kw_only=True, tag="member.joined"):
    """A member that the group did not know before.

    `unnamed_topics` counts the topics of a subscription that has more than `TOPICS_NAMED_MAX`; `subscribed_topics` is
    empty then.
    """

    member: MemberRef
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[str]
    subscribed_topics: list[str]
    unnamed_topics: int = 0


class MemberRejoined(AuditEvent, frozen=True, kw_only=True, tag="member.rejoined"):
    """A known member sent JoinGroup again; `metadata_changed` when its protocols or their metadata did.

    `unnamed_topics` is as in `member.joined`.
    """

    member: MemberRef
    metadata_changed: bool
    subscribed_topics: list[str]
    reason: str
    unnamed_topics: int = 0


class MemberRemoved(AuditEvent, frozen=True, kw_only=True, tag="member.removed"):
    """A member is out; `reason` is the client's own text (KIP-800)."""

    member: MemberRef
    cause: Cause
    reason: str


class StaticMemberReplaced(AuditEvent, frozen=True, kw_only=True, tag="static_member.replaced"):
    """A static member came back under a new member id (KIP-345)."""

    member: MemberRef
    old_member_id: str


class RebalanceStarted(AuditEvent, frozen=True, kw_only=True, tag="rebalance.started"):
    """The group asks its members to join generation `generation_id + 1`. `members` counts those known at that time."""

    cause: Cause
    member: MemberRef | None
    reason: str
    members: int


class GenerationStarted(AuditEvent, frozen=True, kw_only=True, tag="generation.started"):
    """The join barrier closed. `join_ms` is the time since the rebalance started."""

    protocol_type: str
    protocol_name: str
    leader: str
    members: int
    join_ms: int


class MemberAssigned(AuditEvent, frozen=True, kw_only=True, tag="member.assigned"):
    """What one member owns in this generation. `gained`, `lost` and `kept` compare with what it owned last.

    All empty when the protocol type is not "consumer" or the bytes cannot be read as an assignment
    (then `readable` is false). All are empty, too, if the events of this generation would name more than
    `PARTITIONS_NAMED_MAX` partitions with this one: `unnamed_partitions` counts what is assigned then, and the member's
    next assignment is compared with nothing.
    """

    member: MemberRef
    readable: bool
    partitions: TopicPartitions
    gained: TopicPartitions
    lost: TopicPartitions
    kept: TopicPartitions
    unnamed_partitions: int = 0


class GenerationStable(AuditEvent, frozen=True, kw_only=True, tag="generation.stable"):
    """The leader's assignment is stored: members work.

    `partitions` counts those assigned, `partitions_moved` those whose owner is another member than their last one, in
    the generation before or, if nobody had them there, in the one before that. What `member.assigned` does not name
    is in `partitions` only. `rebalance_ms` = `join_ms` + `sync_ms`. `unowned_partition_ms` sums, over the assigned
    partitions, the time between the start of the rebalance and now, but for those a member kept through it (owned
    partitions, KIP-429).
    """

    members: int
    partitions: int
    partitions_moved: int
    join_ms: int
    sync_ms: int
    rebalance_ms: int
    unowned_partition_ms: int


class RebalanceSuperseded(AuditEvent, frozen=True, kw_only=True, tag="rebalance.superseded"):
    """Generation `generation_id` never became stable: another rebalance began before its assignment was stored.

    `rebalance_ms` counts from the start of the rebalance that is given up.
    """

    rebalance_ms: int


class GroupEmptied(AuditEvent, frozen=True, kw_only=True, tag="group.emptied"):
    """The rebalance ended without a member; that uses up a generation. Committed offsets start to age.

    `rebalance_ms` counts from the start of the rebalance.
    """

    rebalance_ms: int


class GroupRemoved(AuditEvent, frozen=True, kw_only=True, tag="group.removed"):
    """The group is gone, and with it this incarnation: `seq` goes on from a larger number if it is created again.

    `cause`: deleted (`admin`); empty with no offsets left (`offsets_expired`); known to the audit alone, as its
    creation was never stored, because the server died (`not_stored`) or because the append failed (`store_failed`).
    """

    cause: Cause


class GroupLoaded(AuditEvent, frozen=True, kw_only=True, tag="group.loaded"):
    """A load found the group in `__consumer_offsets` in another state than the audit says, or the group was rebuilt.

    Events with a `seq` from `void_from_seq` on and below this one never took effect (null: all did). That does not
    concern `offsets.*`, which are stored apart from the state of the group, and `group.snapshot`. `lost` is true when
    the events that the load has read never had the group in the state it was loaded in: more than the last batch is
    missing from one of the two topics, which only a power loss without fsync can do. `cause` is `store_failed` when
    the partition was loaded again because an append failed; `invariant_violated` when the group alone was read again
    because of a defect of the coordinator, in whatever state it was; null when the partition was loaded for another
    reason (a start, a change of the leader).
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    void_from_seq: int | None
    lost: bool
    cause: Cause | None = None


class GroupSnapshot(AuditEvent, frozen=True, kw_only=True, tag="group.snapshot"):
    """The whole group as it is; nothing happened to it.

    It is written for each live group of the partition in a row: after every so many records, so that a start reads
    the end of the topic only, and at least every half of the topic's retention, so that retention never removes the
    last event about a live group.

    `stored` is the state that `__consumer_offsets` holds, which is what a crash would leave of the group; null in
    Empty and Stable, when that is the state of this event. `checkpoint_offset` is set in the last snapshot of such a
    row: the offset at which the row began in this partition. Whoever reads from there knows all live groups.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    stored: StoredState | None = None
    checkpoint_offset: int | None = None


class OffsetsCommitted(AuditEvent, frozen=True, kw_only=True, tag="offsets.committed"):
    """How many offset commits of the group were stored in an interval; it is not written when there were none.

    `interval_ms` is the length of the interval, which ends at `time_ms`. `commits` counts requests, `partitions` the
    committed offsets in them; those of a transaction are counted when they are stored, whether or not it is
    committed. All their records lie in the group's partition of `__consumer_offsets` between `first_log_offset` and
    `last_log_offset`, both inclusive. What was counted in an interval that a crash or the group's removal cuts short
    is not reported.
    """

    interval_ms: int
    commits: int
    partitions: int
    first_log_offset: int
    last_log_offset: int


class OffsetsExpired(AuditEvent, frozen=True, kw_only=True, tag="offsets.expired"):
    """Committed offsets that got too old (`offsets.retention.minutes`).

    `unnamed_partitions` counts them if they are more than `PARTITIONS_NAMED_MAX`; `partitions` is empty then.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0


class OffsetsDeleted(AuditEvent, frozen=True, kw_only=True, tag="offsets.deleted"):
    """Committed offsets that an administrator deleted (KIP-496), or that went with their topic or group.

    `unnamed_partitions` is as in `offsets.expired`.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0


AnyAuditEvent = (
    GroupCreated
    | MemberJoined
    | MemberRejoined
    | MemberRemoved
    | StaticMemberReplaced
    | RebalanceStarted
    | GenerationStarted
    | MemberAssigned
    | GenerationStable
    | RebalanceSuperseded
    | GroupEmptied
    | GroupRemoved
    | GroupLoaded
    | GroupSnapshot
    | OffsetsCommitted
    | OffsetsExpired
    | OffsetsDeleted
)

NEVER_VOID: Final[frozenset[type[AuditEvent]]] = frozenset(
    {GroupSnapshot, OffsetsCommitted, OffsetsExpired, OffsetsDeleted}
)
"""Events that change neither members nor generation: `void_from_seq` of a `group.loaded` does not concern them."""

TAGS: Final[dict[type[AuditEvent], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyAuditEvent)}
"""Class → the name of its kind."""

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(AnyAuditEvent).decode


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record's value, for readers in other languages."""
    return msgspec.json.schema(AnyAuditEvent)
