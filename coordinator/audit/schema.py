"""The events of `__group_audit`: what happened to a group, why, and how long it took.

One record per event. Key: the group id (UTF-8). Value: one JSON object of the structs below; `kind` tells which.
Headers: CloudEvents 1.0 binary mode (`ce_id` = "group/seq", `ce_type` = the kind, `ce_source`, `ce_time`,
`ce_specversion`, `content-type`). A reader proves that nothing is missing by `seq`, which is contiguous per group,
and drops doubles by `(group_id, seq)`.

Fields are only ever added; a change of meaning raises `SCHEMA_VERSION`.
"""

from typing import Any, Final, get_args

import msgspec

from coordinator.core.causes import Cause

SCHEMA_VERSION: Final = 1

Record = tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the topic."""

TopicPartitions = dict[str, list[int]]
"""Topic name → partition indexes, ascending."""


class MemberRef(msgspec.Struct, frozen=True):
    """A member as an event names it."""

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None


class MemberSnapshot(msgspec.Struct, frozen=True):
    """A member as DescribeGroups shows it, its assignment decoded (empty unless the protocol type is "consumer")."""

    member: MemberRef
    subscribed_topics: list[str]
    partitions: TopicPartitions


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The envelope that each event carries beside its own fields.

    `generation_id` and `state` are those after the event, the `_before` ones those before it; `time_ms` is wall-clock
    milliseconds since the epoch. `created_seq` is the `seq` of the group's creation: a group that was deleted and made
    anew counts its generations from 0 again, and this tells its lives apart.
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
    """A member that the group did not know before."""

    member: MemberRef
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[str]
    subscribed_topics: list[str]


class MemberRejoined(AuditEvent, frozen=True, kw_only=True, tag="member.rejoined"):
    """A known member sent JoinGroup again; `metadata_changed` when its protocols or their metadata did."""

    member: MemberRef
    metadata_changed: bool
    subscribed_topics: list[str]
    reason: str


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
    (then `readable` is false).
    """

    member: MemberRef
    readable: bool
    partitions: TopicPartitions
    gained: TopicPartitions
    lost: TopicPartitions
    kept: TopicPartitions


class GenerationStable(AuditEvent, frozen=True, kw_only=True, tag="generation.stable"):
    """The leader's assignment is stored: members work.

    `partitions` counts those assigned, `partitions_moved` those whose owner is another member than their last one.
    `rebalance_ms` = `join_ms` + `sync_ms`. `unowned_partition_ms` sums, over the assigned partitions, the time between
    the start of the rebalance and now, but for those a member kept through it (owned partitions, KIP-429).
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
    """The group is gone: deleted, or empty with no offsets left, or known to the audit alone (`not_stored`)."""

    cause: Cause


class GroupLoaded(AuditEvent, frozen=True, kw_only=True, tag="group.loaded"):
    """A start found the group in `__consumer_offsets` in another state than the audit says.

    Events with a `seq` from `void_from_seq` on up to this one never took effect (null: all did). `lost` is true when
    the group was never told to be in the state it was loaded in: more than the last batch is missing from one of the
    two topics, which only a power loss without fsync can do.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    void_from_seq: int | None
    lost: bool


class GroupSnapshot(AuditEvent, frozen=True, kw_only=True, tag="group.snapshot"):
    """The whole group, repeated so that time retention never takes the last word about a live group."""

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]


class OffsetsCommitted(AuditEvent, frozen=True, kw_only=True, tag="offsets.committed"):
    """How many offset commits were stored in an interval, and the offsets of `__consumer_offsets` they lie between."""

    interval_ms: int
    commits: int
    partitions: int
    first_log_offset: int
    last_log_offset: int


class OffsetsExpired(AuditEvent, frozen=True, kw_only=True, tag="offsets.expired"):
    """Committed offsets that got too old (`offsets.retention.minutes`)."""

    partitions: TopicPartitions


class OffsetsDeleted(AuditEvent, frozen=True, kw_only=True, tag="offsets.deleted"):
    """Committed offsets that an administrator deleted (KIP-496), or that went with their topic or group."""

    partitions: TopicPartitions


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

TAGS: Final[dict[type[AuditEvent], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyAuditEvent)}
"""Class → the name of its kind."""

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(AnyAuditEvent).decode


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record's value, for readers in other languages."""
    return msgspec.json.schema(AnyAuditEvent)
