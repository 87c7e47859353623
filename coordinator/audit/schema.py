"""The events of `__group_audit`: what happened to a group, why, and how long it took.

One record per event. Key: the group id (UTF-8). Value: one JSON object of the structs below; `kind` names the struct.
Headers: CloudEvents 1.0 binary mode (`ce_id` = "group/seq", `ce_type` = the kind, `ce_source`, `ce_time`,
`ce_specversion`, `content-type`).

`seq` numbers the events of a group. A group that is deleted and created again begins a new incarnation: `created_seq`
is the `seq` of its first event, which is larger than every `seq` of an earlier incarnation. Within an incarnation
`seq` is contiguous. So a reader can drop duplicates by `(group_id, seq)`. No event is missing if each `seq` is
either the previous one plus 1, or equal to `created_seq` after a `group.removed`.

The size of an event is bounded. If a subscription has more than `TOPICS_NAMED_MAX` topics, or an assignment exceeds
`PARTITIONS_NAMED_MAX` partitions, the event names none of them and gives their number in `unnamed_topics` or
`unnamed_partitions`. Both are 0 if everything is named.

Fields are added but never removed. A change of meaning increases `SCHEMA_VERSION`. A field that was added later has a
default, which is its value in older events.
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
"""The largest number of topics of one subscription that an event names.

Each JoinGroup is an event, so a rebalance repeats the subscription once per member: 1,000 topics of 30 characters take
33 KB and 0.1 ms each time.
"""

PARTITIONS_NAMED_MAX: Final = 10_000
"""The largest number of partitions that the events of one generation name together, and one event about offsets.

A partition takes 4 bytes of a SyncGroup request, but 150 bytes of memory and 0.5 to 1 µs to compare with the previous
generation. The limit keeps this below 10 ms and 1.5 MiB per generation, however large the request is.
"""


class MemberRef(msgspec.Struct, frozen=True):
    """The identity of a member."""

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None


class MemberSnapshot(msgspec.Struct, frozen=True):
    """A member as DescribeGroups shows it, with its assignment decoded.

    The assignment is empty unless the protocol type is "consumer".

    `unnamed_topics` and `unnamed_partitions` count those left out of `subscribed_topics` and `partitions` because they
    exceed the limits.
    """

    member: MemberRef
    subscribed_topics: list[str]
    partitions: TopicPartitions
    unnamed_topics: int = 0
    unnamed_partitions: int = 0


class StoredState(msgspec.Struct, frozen=True):
    """The state of a group in `__consumer_offsets`, which is older than the group during a rebalance.

    `seq` is that of the last event that it includes.
    """

    seq: int
    generation_id: int
    state: str
    member_ids: list[str]


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The fields that every event has in addition to its own.

    `generation_id` and `state` are those after the event; `generation_id_before` and `state_before` are those before
    it. `time_ms` is wall-clock time in milliseconds since the epoch. `created_seq` is the `seq` of the first event of
    this incarnation of the group; each incarnation counts its generations from 0. `node_id` is the `node.id` of the
    coordinator that wrote the event, and `coordinator_epoch` is its leader epoch of the partition.
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
    """The group was created by its first JoinGroup or OffsetCommit."""


class MemberJoined(AuditEvent, frozen=True, kw_only=True, tag="member.joined"):
    """A new member joined the group.

    If the subscription has more than `TOPICS_NAMED_MAX` topics, `subscribed_topics` is empty and `unnamed_topics` is
    their number.
    """

    member: MemberRef
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[str]
    subscribed_topics: list[str]
    unnamed_topics: int = 0


class MemberRejoined(AuditEvent, frozen=True, kw_only=True, tag="member.rejoined"):
    """A member sent JoinGroup again. `metadata_changed` is true if its protocols or their metadata changed.

    `unnamed_topics` is as in `member.joined`.
    """

    member: MemberRef
    metadata_changed: bool
    subscribed_topics: list[str]
    reason: str
    unnamed_topics: int = 0


class MemberRemoved(AuditEvent, frozen=True, kw_only=True, tag="member.removed"):
    """A member was removed from the group. `reason` is the text that the client sent (KIP-800)."""

    member: MemberRef
    cause: Cause
    reason: str


class StaticMemberReplaced(AuditEvent, frozen=True, kw_only=True, tag="static_member.replaced"):
    """A static member rejoined with a new member id (KIP-345)."""

    member: MemberRef
    old_member_id: str


class RebalanceStarted(AuditEvent, frozen=True, kw_only=True, tag="rebalance.started"):
    """The members have to join generation `generation_id + 1`. `members` counts the members at that time."""

    cause: Cause
    member: MemberRef | None
    reason: str
    members: int


class GenerationStarted(AuditEvent, frozen=True, kw_only=True, tag="generation.started"):
    """The join phase ended. `join_ms` is the time since the rebalance started."""

    protocol_type: str
    protocol_name: str
    leader: str
    members: int
    join_ms: int


class MemberAssigned(AuditEvent, frozen=True, kw_only=True, tag="member.assigned"):
    """The assignment of one member. `gained`, `lost` and `kept` compare it with the member's previous assignment.

    All of them are empty if the protocol type is not "consumer", or if the bytes are not a valid assignment (`readable`
    is false). They are also empty if the events of this generation would otherwise name more than
    `PARTITIONS_NAMED_MAX` partitions. In that case `unnamed_partitions` is the number of assigned partitions, and the
    member's next assignment is compared with an empty one.
    """

    member: MemberRef
    readable: bool
    partitions: TopicPartitions
    gained: TopicPartitions
    lost: TopicPartitions
    kept: TopicPartitions
    unnamed_partitions: int = 0


class GenerationStable(AuditEvent, frozen=True, kw_only=True, tag="generation.stable"):
    """The leader's assignment is stored, and the members consume.

    `partitions` counts the assigned partitions. `partitions_moved` counts those of them whose previous owner is another
    member: the owner in the previous generation or, if the partition had none there, in the one before. Partitions that
    `member.assigned` does not name are counted in `partitions` only. `rebalance_ms` = `join_ms` + `sync_ms`.
    `unowned_partition_ms` is the time since the rebalance started, summed over the assigned partitions, except those
    that their members kept during the rebalance (owned partitions, KIP-429).
    """

    members: int
    partitions: int
    partitions_moved: int
    join_ms: int
    sync_ms: int
    rebalance_ms: int
    unowned_partition_ms: int


class RebalanceSuperseded(AuditEvent, frozen=True, kw_only=True, tag="rebalance.superseded"):
    """Generation `generation_id` did not become stable: the next rebalance started before its assignment was stored.

    `rebalance_ms` is the time since the superseded rebalance started.
    """

    rebalance_ms: int


class GroupEmptied(AuditEvent, frozen=True, kw_only=True, tag="group.emptied"):
    """The rebalance ended without members. It still increases the generation id.

    The retention time of the committed offsets starts. `rebalance_ms` is the time since the rebalance started.
    """

    rebalance_ms: int


class GroupRemoved(AuditEvent, frozen=True, kw_only=True, tag="group.removed"):
    """The group was removed, which ends this incarnation. If it is created again, `seq` continues with a larger number.

    Causes: `admin`, the group was deleted; `offsets_expired`, it was empty and its last offset expired. With
    `not_stored` and `store_failed` only the audit knows the group: its creation was not stored, because the server
    crashed or because the append failed.
    """

    cause: Cause


class GroupLoaded(AuditEvent, frozen=True, kw_only=True, tag="group.loaded"):
    """The group was loaded from `__consumer_offsets`: in a state that differs from the last audited one, or by itself.

    The events with a `seq` from `void_from_seq` up to this one did not take effect; null means that all did. Excepted
    are `group.snapshot` and `offsets.*`, because offsets are stored separately from the state of the group. `lost` is
    true if none of the events that were read leads to the loaded state. More than the last batch is then missing from
    one of the two topics, which only a power loss can cause. `cause` is `store_failed` if the partition was loaded
    again because an append failed, and `invariant_violated` if the group alone was loaded again because of a defect of
    the coordinator, in whatever state it was. It is null for any other load, such as at a start or a change of the
    leader.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    void_from_seq: int | None
    lost: bool
    cause: Cause | None = None


class GroupSnapshot(AuditEvent, frozen=True, kw_only=True, tag="group.snapshot"):
    """The complete state of a group, without a change.

    A checkpoint consists of the snapshots of all live groups of a partition. One is written after a number of records,
    so that a start reads only the end of the topic, and at least once per half of the topic's retention time, so that
    retention never removes the last event of a live group.

    `stored` is the state of the group in `__consumer_offsets`, to which a crash would reset it. It is null in Empty and
    Stable, where it is the state of this event. `checkpoint_offset` is set in the last snapshot of a checkpoint: the
    offset of the partition at which the checkpoint begins. A reader that starts there learns of all live groups.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    stored: StoredState | None = None
    checkpoint_offset: int | None = None


class OffsetsCommitted(AuditEvent, frozen=True, kw_only=True, tag="offsets.committed"):
    """The number of offset commits of the group that were stored in an interval; not written if there were none.

    `interval_ms` is the length of the interval, which ends at `time_ms`. `commits` counts the requests and `partitions`
    the committed offsets in them. Commits of a transaction are counted when they are stored, whether or not the
    transaction is committed. Their records are in the group's partition of `__consumer_offsets`, from
    `first_log_offset` to `last_log_offset` inclusive. An interval that ends early, with a crash or the removal of the
    group, is not reported.
    """

    interval_ms: int
    commits: int
    partitions: int
    first_log_offset: int
    last_log_offset: int


class OffsetsExpired(AuditEvent, frozen=True, kw_only=True, tag="offsets.expired"):
    """Committed offsets expired (`offsets.retention.minutes`).

    If there are more than `PARTITIONS_NAMED_MAX`, `partitions` is empty and `unnamed_partitions` is their number.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0


class OffsetsDeleted(AuditEvent, frozen=True, kw_only=True, tag="offsets.deleted"):
    """Committed offsets were deleted by OffsetDelete (KIP-496), or together with their topic or group.

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
"""Events that change neither members nor generation. `void_from_seq` of a `group.loaded` does not apply to them."""

TAGS: Final[dict[type[AuditEvent], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyAuditEvent)}
"""Class → kind."""

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(AnyAuditEvent).decode


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record's value, for readers in other languages."""
    return msgspec.json.schema(AnyAuditEvent)
