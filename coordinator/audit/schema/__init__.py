"""The events of `__group_audit`: what happened to a group, why, and how long it took.

One record per event. Key: the group id (UTF-8). Value: one JSON object; `kind` names the struct that it is. Headers:
CloudEvents 1.0 binary mode (`ce_id` = "group/seq", `ce_type` = the kind, `ce_source`, `ce_time`, `ce_specversion`,
`content-type`).

`seq` numbers the events of a group. A group that is deleted and created again begins a new incarnation: `created_seq`
is the `seq` of its first event, which is larger than every `seq` of an earlier incarnation. Within an incarnation
`seq` is contiguous. So a reader can drop duplicates by `(group_id, seq)`. No event is missing if each `seq` is
either the previous one plus 1, or equal to `created_seq` after a `group.removed`.

The size of an event is bounded. Reason texts that clients sent are cut to `core.causes.REASON_CHARACTERS_MAX`. If a
subscription has more than `TOPICS_NAMED_MAX` topics, or an assignment exceeds `PARTITIONS_NAMED_MAX` partitions, the
event names none of them and gives their number in `unnamed_topics` or `unnamed_partitions`. Both are 0 if everything is
named.

The events about a coordinator itself (`CoordinatorEvent`) have no group: their key is null. They are in partition 0,
and in each other partition that has groups then, so that who reads the partition of a group learns of them in order.
`group.held_by_cluster` is one of them, as the coordinator has no such group whose events it could number: it names the
group, and is in the partition of its events alone.

Fields are added but never removed. A change of meaning increases `SCHEMA_VERSION`. A field that was added later has a
default, which is its value in older events.
"""

from inspect import cleandoc
from typing import Any, Final, get_args

import msgspec

from coordinator.audit.schema.coordinator import (
    AuthorizationDenied,
    CoordinatorPaused,
    CoordinatorStarted,
    CoordinatorStopped,
    CoordinatorUnavailable,
    GroupHeldByCluster,
    LeadershipTaken,
)
from coordinator.audit.schema.event import SCHEMA_VERSION, AuditEvent, CoordinatorEvent
from coordinator.audit.schema.generations import (
    GenerationStable,
    GenerationStarted,
    GroupEmptied,
    GroupLoaded,
    GroupRemoved,
    GroupSnapshot,
    MemberAssigned,
    MemberReconciled,
    PatternsResolved,
    RebalanceStarted,
    RebalanceSuperseded,
)
from coordinator.audit.schema.members import (
    DepartedMember,
    GroupConverted,
    GroupCreated,
    MemberJoined,
    MemberRejoined,
    MemberRemoved,
    StaticMemberReplaced,
)
from coordinator.audit.schema.observed import ObservedEvent
from coordinator.audit.schema.observed import decode_observed as _decode_observed
from coordinator.audit.schema.requests import (
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsExpired,
    OffsetsReset,
    RequestRejected,
)
from coordinator.audit.schema.shares import (
    ENDED_RECORDS_NAMED_MAX,
    SHARE_MEMBERS_NAMED_MAX,
    SHARE_PARTITIONS_NAMED_MAX,
    EndedRecords,
    FirstRecord,
    ShareMemberRecords,
    SharePartitionRecords,
    ShareRecordCounts,
    ShareRecords,
)
from coordinator.audit.schema.streams import (
    READY,
    STREAMS_TOPICS_NAMED_MAX,
    TASK_MOVES_NAMED_MAX,
    TASKS_NAMED_MAX,
    AwaitedTask,
    GainedTask,
    StreamsInternalTopics,
    StreamsMemberTopology,
    StreamsShutdown,
    StreamsTasks,
    StreamsTopology,
)
from coordinator.audit.schema.unseen import GroupUnseen
from coordinator.audit.schema.values import (
    CONNECTOR,
    LEFT_FOR_A_MOMENT,
    MEMBERS_NAMED_MAX,
    PARTITIONS_NAMED_MAX,
    PROTOCOLS_NAMED_MAX,
    REJECTION_APART_MS,
    RESET_APART_MS,
    TOPIC_IDS_NAMED_MAX,
    TOPICS_NAMED_MAX,
    TRIGGERS_NAMED_MAX,
    WORKER_TASKS_NAMED_MAX,
    AbsentMember,
    DeniedRequests,
    MemberProgress,
    MemberRef,
    MemberSnapshot,
    Record,
    Requester,
    StoredState,
    TopicPartitions,
    Trigger,
    WaitedFor,
    WorkerTasks,
)

__all__ = [
    "CONNECTOR",
    "ENDED_RECORDS_NAMED_MAX",
    "LEFT_FOR_A_MOMENT",
    "MEMBERS_NAMED_MAX",
    "NEVER_VOID",
    "PARTITIONS_NAMED_MAX",
    "PROTOCOLS_NAMED_MAX",
    "READY",
    "REJECTION_APART_MS",
    "RESET_APART_MS",
    "SCHEMA_VERSION",
    "SHARE_MEMBERS_NAMED_MAX",
    "SHARE_PARTITIONS_NAMED_MAX",
    "STREAMS_TOPICS_NAMED_MAX",
    "TAGS",
    "TASKS_NAMED_MAX",
    "TASK_MOVES_NAMED_MAX",
    "TOPICS_NAMED_MAX",
    "TOPIC_IDS_NAMED_MAX",
    "TRIGGERS_NAMED_MAX",
    "WORKER_TASKS_NAMED_MAX",
    "AbsentMember",
    "AnyAuditEvent",
    "AnyCoordinatorEvent",
    "AuditEvent",
    "AuthorizationDenied",
    "AwaitedTask",
    "CoordinatorEvent",
    "CoordinatorPaused",
    "CoordinatorStarted",
    "CoordinatorStopped",
    "CoordinatorUnavailable",
    "DeniedRequests",
    "DepartedMember",
    "EndedRecords",
    "FirstRecord",
    "GainedTask",
    "GenerationStable",
    "GenerationStarted",
    "GroupConverted",
    "GroupCreated",
    "GroupEmptied",
    "GroupHeldByCluster",
    "GroupLoaded",
    "GroupRemoved",
    "GroupSnapshot",
    "GroupUnseen",
    "LeadershipTaken",
    "MemberAssigned",
    "MemberJoined",
    "MemberProgress",
    "MemberReconciled",
    "MemberRef",
    "MemberRejoined",
    "MemberRemoved",
    "MemberSnapshot",
    "ObservedEvent",
    "OffsetsCommitted",
    "OffsetsDeleted",
    "OffsetsExpired",
    "OffsetsReset",
    "PatternsResolved",
    "RebalanceStarted",
    "RebalanceSuperseded",
    "Record",
    "RequestRejected",
    "Requester",
    "ShareMemberRecords",
    "SharePartitionRecords",
    "ShareRecordCounts",
    "ShareRecords",
    "StaticMemberReplaced",
    "StoredState",
    "StreamsInternalTopics",
    "StreamsMemberTopology",
    "StreamsShutdown",
    "StreamsTasks",
    "StreamsTopology",
    "TopicPartitions",
    "Trigger",
    "WaitedFor",
    "WorkerTasks",
    "decode_coordinator_event",
    "decode_event",
    "decode_observed",
    "encode_event",
    "json_schema",
]

AnyAuditEvent = (
    GroupCreated
    | GroupConverted
    | MemberJoined
    | MemberRejoined
    | MemberRemoved
    | StaticMemberReplaced
    | RebalanceStarted
    | GenerationStarted
    | MemberAssigned
    | MemberReconciled
    | PatternsResolved
    | GenerationStable
    | RebalanceSuperseded
    | GroupEmptied
    | GroupRemoved
    | GroupLoaded
    | GroupSnapshot
    | OffsetsCommitted
    | OffsetsExpired
    | OffsetsDeleted
    | OffsetsReset
    | RequestRejected
    | ShareRecords
    | StreamsTopology
    | StreamsInternalTopics
    | StreamsMemberTopology
    | StreamsShutdown
    | StreamsTasks
    | GroupUnseen
)

AnyCoordinatorEvent = (
    CoordinatorStarted
    | CoordinatorStopped
    | CoordinatorPaused
    | CoordinatorUnavailable
    | LeadershipTaken
    | AuthorizationDenied
    | GroupHeldByCluster
)

NEVER_VOID: Final[frozenset[type[AuditEvent]]] = frozenset(
    {
        GroupSnapshot,
        OffsetsCommitted,
        OffsetsExpired,
        OffsetsDeleted,
        OffsetsReset,
        PatternsResolved,
        RequestRejected,
        ShareRecords,
        StreamsTopology,
        StreamsInternalTopics,
        StreamsShutdown,
        GroupUnseen,
    }
)
"""Events that change neither members nor generation. `void_from_seq` of a `group.loaded` does not apply to them."""

TAGS: Final[dict[type[AuditEvent], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyAuditEvent)}
"""Class → kind."""

_BY_KIND: Final[dict[str, type[AuditEvent]]] = {kind: struct for struct, kind in TAGS.items()}

encode_event = msgspec.json.Encoder().encode

decode_event = msgspec.json.Decoder(AnyAuditEvent).decode

decode_coordinator_event = msgspec.json.Decoder(AnyCoordinatorEvent).decode
"""For the value of a record without a key."""


def decode_observed(value: bytes) -> ObservedEvent | None:
    """The event of a value that `coordinator watch` wrote; None: it is none, or one of a later version."""
    return _decode_observed(value, _BY_KIND)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record's value, for readers in other languages."""
    schema = msgspec.json.schema(AnyAuditEvent | AnyCoordinatorEvent)
    for definition in schema["$defs"].values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return schema
