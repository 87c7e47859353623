"""The events of `__group_audit`: what happened to a group, why, and how long it took.

One record per event. Key: the group id (UTF-8). Value: one JSON object of the structs below; `kind` names the struct.
Headers: CloudEvents 1.0 binary mode (`ce_id` = "group/seq", `ce_type` = the kind, `ce_source`, `ce_time`,
`ce_specversion`, `content-type`).

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

from typing import Any, Final, get_args

import msgspec

from coordinator.core.causes import Cause

SCHEMA_VERSION: Final = 1

Record = tuple[bytes | None, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the topic. Only the record of a `CoordinatorEvent` has no key."""

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

TRIGGERS_NAMED_MAX: Final = 100
"""The largest number of triggers that an event names."""

MEMBERS_NAMED_MAX: Final = 100
"""The largest number of members that `pending_members`, `never_synced` and `group.held_by_cluster` name."""

REJECTION_APART_MS: Final = 600_000
"""While requests go on being rejected in the same way, there is an event of it at least this often, in ms."""

PROTOCOLS_NAMED_MAX: Final = 10
"""How many assignors of a rejected JoinGroup, and of its group, are named."""

RESET_APART_MS: Final = 60_000
"""Commits of the same client that is no member, closer together than this, are one reset."""


class MemberRef(msgspec.Struct, frozen=True):
    """The identity of a member.

    `client_software_name` and `client_software_version` are those that the client sent with ApiVersions (KIP-511). They
    are empty if it sent none, or if the group was loaded since: `__consumer_offsets` does not have them. Nor does it
    have `principal`, the one that the client joined as (`User:alice`), which is empty, too, if the client's listener
    authenticates nobody.
    """

    member_id: str
    client_id: str = ""
    client_host: str = ""
    group_instance_id: str | None = None
    client_software_name: str = ""
    client_software_version: str = ""
    principal: str = ""


class Requester(msgspec.Struct, frozen=True):
    """The client that sent a request about a group without being the member that the request is about.

    `principal` is empty if the client's listener authenticates nobody.
    """

    client_id: str
    client_host: str
    principal: str = ""


class Trigger(msgspec.Struct, frozen=True):
    """One thing that made a rebalance necessary, or that changed in its join phase who is in it.

    `member` is null if no member is behind it. `reason` is the text that the client sent (KIP-800).
    """

    cause: Cause
    member: MemberRef | None
    reason: str = ""
    at_ms: int = 0


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


class MemberProgress(msgspec.Struct, frozen=True):
    """How far a member of a consumer group (KIP-848) is on the way to its target assignment.

    `member_epoch` is 0 for a member that was assigned nothing yet, and -2 for a static member that left for a moment.
    `member_state` is Kafka's: `STABLE`, `UNREVOKED_PARTITIONS`, `UNRELEASED_PARTITIONS`. `partition_count` counts the
    partitions that it may use, `revoking_count` those that it was asked to give up and has not given up; `revoking`
    names the latter, unless they are more than `PARTITIONS_NAMED_MAX`.
    """

    member_epoch: int
    member_state: str
    partition_count: int
    revoking: TopicPartitions = {}
    revoking_count: int = 0


class WaitedFor(msgspec.Struct, frozen=True):
    """Partitions of a target assignment that another member has not given up."""

    member: MemberRef
    partitions: TopicPartitions


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
    coordinator that wrote the event, and `coordinator_epoch` grows each time that it starts.
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
    """The group was created by its first JoinGroup, ConsumerGroupHeartbeat or OffsetCommit.

    `group_type` is that of ListGroups: `classic`, or `consumer` for a group of KIP-848. In a consumer group a
    generation is a group epoch.
    """

    group_type: str = "classic"


class GroupConverted(AuditEvent, frozen=True, kw_only=True, tag="group.converted"):
    """The group goes on as one of another type, with its committed offsets (KIP-848).

    An empty group becomes one of the type that its first member speaks. A group with members changes its type with
    them: to `consumer` when a first member comes with the new protocol, back to `classic` when the last one is gone.
    `members` and `progress` are as in `group.snapshot`. `departed` are the members that are gone with a change back to
    `classic`, and why: at most `MEMBERS_NAMED_MAX`. They are among the triggers of the rebalance that follows, too.
    """

    group_type: str
    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    progress: dict[str, MemberProgress] = {}
    departed: list[Trigger] = []


class MemberJoined(AuditEvent, frozen=True, kw_only=True, tag="member.joined"):
    """A new member joined the group.

    In a consumer group, `protocols` has the assignor that it asks for, if any (all that it offers, if it is a member of
    the classic protocol), `subscribed_pattern` is its regular
    expression, and `rack_id` its rack.

    If the subscription has more than `TOPICS_NAMED_MAX` topics, `subscribed_topics` is empty and `unnamed_topics` is
    their number. `join_ms` is the time since the rebalance started in whose join phase the member came; null if there
    was none.
    """

    member: MemberRef
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[str]
    subscribed_topics: list[str]
    unnamed_topics: int = 0
    reason: str = ""
    join_ms: int | None = None
    protocol_type: str = ""
    subscribed_pattern: str = ""
    rack_id: str = ""


class MemberRejoined(AuditEvent, frozen=True, kw_only=True, tag="member.rejoined"):
    """A member sent JoinGroup again; in a consumer group, a heartbeat that said something else about the member.

    `metadata_changed` is true if its protocols or what it subscribes to changed. What it says that it owns (KIP-429,
    KIP-792) is no change. The other fields are as in `member.joined`, and hold from now on: the timeouts and
    `protocols` are null in older events. A member of the consumer protocol has no session timeout of its own, but that
    of its group: `session_timeout_ms` is null.
    """

    member: MemberRef
    metadata_changed: bool
    subscribed_topics: list[str]
    reason: str
    unnamed_topics: int = 0
    join_ms: int | None = None
    subscribed_pattern: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    protocols: list[str] | None = None
    rack_id: str = ""


class MemberRemoved(AuditEvent, frozen=True, kw_only=True, tag="member.removed"):
    """A member was removed from the group. `reason` is the text that the client sent (KIP-800).

    `session_timeout_ms` is the member's. Wall-clock times: `last_heard_ms` is that of its last request or heartbeat,
    said of a member that did not go by itself; `last_joined_ms` that of its last JoinGroup, `last_committed_ms` that of
    its last accepted OffsetCommit or TxnOffsetCommit. They are null if the coordinator does not know them, as after a
    load.
    `requested_by` is the client that removed it, if that was another one: an administrator.

    `connection_open` is about the connection by which its last JoinGroup or SyncGroup came, and said of a member that
    did not go by itself. False: its client's side closed it, which the coordinator saw at `connection_closed_ms`, and
    the member was not heard over another one since. True: it was open when the member was removed. Null: nothing is
    known of it, as after a load, or if the coordinator itself closed it.

    `coordinator_paused_ms` is for how long, since `last_heard_ms`, the coordinator itself stood still and heard nobody.
    `connection_closed_in_pause_ms` is how long such a pause was, if the coordinator found the connection closed within
    a second after it: the client may have closed it because nobody answered. What it had sent before was read after the
    pause too, and counts for `last_heard_ms`.
    """

    member: MemberRef
    cause: Cause
    reason: str
    session_timeout_ms: int = 0
    last_heard_ms: int | None = None
    last_joined_ms: int | None = None
    last_committed_ms: int | None = None
    requested_by: Requester | None = None
    connection_open: bool | None = None
    connection_closed_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection_closed_in_pause_ms: int | None = None


class StaticMemberReplaced(AuditEvent, frozen=True, kw_only=True, tag="static_member.replaced"):
    """A static member rejoined with a new member id (KIP-345).

    `member` names the client that came, with its own client id and host. DescribeGroups goes on to show those of the
    client before, as on Kafka: `described_client_id` and `described_client_host`. `old_client_id` and `old_client_host`
    are those of the client whose place it took. `unnamed_topics` is as in `member.joined`, and counts the topics of
    both subscriptions. `cause` is `static_replaced`, or `fault` if a fault that a test injected took the place.
    """

    member: MemberRef
    old_member_id: str
    reason: str = ""
    old_client_id: str = ""
    old_client_host: str = ""
    described_client_id: str = ""
    described_client_host: str = ""
    subscribed_topics: list[str] = []
    old_subscribed_topics: list[str] = []
    unnamed_topics: int = 0
    cause: Cause = Cause.STATIC_REPLACED


class RebalanceStarted(AuditEvent, frozen=True, kw_only=True, tag="rebalance.started"):
    """The members have to join generation `generation_id + 1`. `members` counts the members at that time.

    In a consumer group the group epoch has risen to `generation_id`: a target assignment has to be computed for it. Its
    `triggers` are those of this epoch, and `cause` is what raised it.

    `triggers` are all things that came together before it started, in order; `cause`, `member` and `reason` are those
    of the first. `topic_changes` says which subscribed topics changed since the last generation: topic → [partitions
    then, partitions now], where 0 means that there is no such topic. `recreated_topics` are those of them that were
    deleted and created again. `lag` is the log end offset minus the committed offset, summed over the committed
    partitions of the group whose log is on this node; null if there is none.
    """

    cause: Cause
    member: MemberRef | None
    reason: str
    members: int
    triggers: list[Trigger] = []
    topic_changes: dict[str, list[int]] = {}
    lag: int | None = None
    recreated_topics: list[str] = []


class GenerationStarted(AuditEvent, frozen=True, kw_only=True, tag="generation.started"):
    """The join phase ended. `join_ms` is the time since the rebalance started.

    In a consumer group the target assignment of the group epoch was computed by the assignor `protocol_name`; the
    members get there one by one (`member.reconciled`). `leader` is empty; `triggers` are those of all epochs since the
    target before it. `target_epoch` is that group epoch: the target of a large group is computed beside the requests,
    and if it comes after the epoch has risen again, `target_epoch` is less than `generation_id`. Then `join_ms` and
    `triggers` are those of `target_epoch`, and the group goes on waiting for the target of `generation_id`. In a
    classic group, and in older events, `target_epoch` is null.

    `triggers` are those of `rebalance.started` and all that happened in the join phase, in order: members joined, left,
    expired or came too late. At most `TRIGGERS_NAMED_MAX` are named; `unnamed_triggers` counts the others.
    `pending_members` are member ids that were handed out (KIP-394), that the join phase waited for, and that never
    joined. `slowest_member` is the one that joined last, `slowest_join_ms` after the rebalance started; null if all
    joined at once.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: int
    join_ms: int
    triggers: list[Trigger] = []
    unnamed_triggers: int = 0
    pending_members: list[str] = []
    slowest_member: MemberRef | None = None
    slowest_join_ms: int = 0
    target_epoch: int | None = None


class MemberAssigned(AuditEvent, frozen=True, kw_only=True, tag="member.assigned"):
    """The assignment of one member. `gained`, `lost` and `kept` compare it with the member's previous assignment.

    All of them are empty if the protocol type is not "consumer", or if the bytes are not a valid assignment (`readable`
    is false). They are also empty if the events of this generation would otherwise name more than
    `PARTITIONS_NAMED_MAX` partitions. In that case `unnamed_partitions` is the number of assigned partitions, and the
    member's next assignment is compared with an empty one.

    `join_ms` is the time from the start of the rebalance to the member's JoinGroup, `sync_ms` that from the start of
    the generation to its SyncGroup. `join_ms` is null for a member that was not asked to join, `sync_ms` for one that
    had sent no SyncGroup when the leader's came.
    """

    member: MemberRef
    readable: bool
    partitions: TopicPartitions
    gained: TopicPartitions
    lost: TopicPartitions
    kept: TopicPartitions
    unnamed_partitions: int = 0
    join_ms: int | None = None
    sync_ms: int | None = None


class MemberReconciled(AuditEvent, frozen=True, kw_only=True, tag="member.reconciled"):
    """A member of a consumer group made a step towards its target assignment, or away from partitions that it lost.

    `partitions` are those that it may use by now; `gained`, `lost` and `kept` compare them with those before, and the
    limits are as in `member.assigned`. The fields from `member_epoch` to `revoking_count` are as in `MemberProgress`:
    a member that gives up partitions keeps its epoch until it has shown in a heartbeat that it did, or until its
    rebalance timeout. `waits_for` says which partitions of its target other members have not given up; at most
    `MEMBERS_NAMED_MAX` of them are named. `reconcile_ms` is the time since the target assignment was computed.
    """

    member: MemberRef
    partitions: TopicPartitions
    gained: TopicPartitions
    lost: TopicPartitions
    kept: TopicPartitions
    unnamed_partitions: int
    member_epoch: int
    member_state: str
    partition_count: int
    revoking: TopicPartitions
    revoking_count: int
    waits_for: list[WaitedFor]
    reconcile_ms: int


class PatternsResolved(AuditEvent, frozen=True, kw_only=True, tag="patterns.resolved"):
    """The regular expressions of a consumer group were matched with the names of all topics: pattern → topics.

    If they match more than `TOPICS_NAMED_MAX` topics together, `patterns` names none, and `unnamed_topics` is their
    number.
    """

    patterns: dict[str, list[str]]
    unnamed_topics: int = 0


class GenerationStable(AuditEvent, frozen=True, kw_only=True, tag="generation.stable"):
    """The leader's assignment is stored, and the members consume. In a consumer group, the last member has reconciled.

    `partitions` counts the assigned partitions. `partitions_moved` counts those of them whose previous owner is another
    member: the owner in the previous generation or, if the partition had none there, in the one before. Partitions that
    `member.assigned` does not name are counted in `partitions` only. `rebalance_ms` = `join_ms` + `sync_ms`.
    `unowned_partition_ms` is the time since the rebalance started, summed over the assigned partitions, except those
    that their members kept during the rebalance (owned partitions, KIP-429).

    `partitions_moved_needed` is how many of those partitions the balanced assignment that moves the fewest would have
    moved too; null if members subscribe to different topics or if partitions are unnamed. `silent_partition_ms` is the
    time from when a removed member was last heard to the start of the rebalance, summed over its partitions: nobody
    knew yet that they had no owner. `commits_rejected` counts the OffsetCommits that were rejected since the last
    generation became stable. `lag` is as in `rebalance.started`. `slowest_member` is the one that sent SyncGroup last,
    `slowest_sync_ms` after the generation started: the leader, if the others waited for it; null if all came at once.
    """

    members: int
    partitions: int
    partitions_moved: int
    join_ms: int
    sync_ms: int
    rebalance_ms: int
    unowned_partition_ms: int
    partitions_moved_needed: int | None = None
    silent_partition_ms: int = 0
    commits_rejected: int = 0
    lag: int | None = None
    slowest_member: MemberRef | None = None
    slowest_sync_ms: int = 0


class RebalanceSuperseded(AuditEvent, frozen=True, kw_only=True, tag="rebalance.superseded"):
    """Generation `generation_id` did not become stable: the next rebalance started before its assignment was stored.

    `rebalance_ms` is the time since the superseded rebalance started. `never_synced` are members of the generation that
    sent no SyncGroup; `unnamed_members` counts those beyond `MEMBERS_NAMED_MAX`. `awaits_target`: in a consumer group,
    its target assignment was being computed then, and a `generation.started` tells if it comes after all.
    """

    rebalance_ms: int
    never_synced: list[MemberRef] = []
    unnamed_members: int = 0
    awaits_target: bool = False


class GroupEmptied(AuditEvent, frozen=True, kw_only=True, tag="group.emptied"):
    """The rebalance ended without members. It still increases the generation id.

    The retention time of the committed offsets starts. `rebalance_ms` is the time since the rebalance started.
    `triggers` and `unnamed_triggers` are as in `generation.started`.
    """

    rebalance_ms: int
    triggers: list[Trigger] = []
    unnamed_triggers: int = 0


class GroupRemoved(AuditEvent, frozen=True, kw_only=True, tag="group.removed"):
    """The group was removed, which ends this incarnation. If it is created again, `seq` continues with a larger number.

    Causes: `admin`, the group was deleted; `offsets_expired`, it was empty and its last offset expired; `no_offsets`,
    it was empty and had none. With `not_stored` and `store_failed` only the audit knows the group: its creation was not
    stored, because the server crashed or because the append failed. `requested_by` is the client that deleted it.
    """

    cause: Cause
    requested_by: Requester | None = None


class GroupLoaded(AuditEvent, frozen=True, kw_only=True, tag="group.loaded"):
    """The group was loaded from `__consumer_offsets`: in a state that differs from the last audited one, or by itself.

    The events with a `seq` from `void_from_seq` up to this one did not take effect; null means that all did. Excepted
    are `group.snapshot`, `offsets.*` and `request.rejected`, which do not change the state of the group. `lost` is
    true if none of the events that were read leads to the loaded state. More than the last batch is then missing from
    one of the two topics, which only a power loss can cause. `cause` is `store_failed` if the partition was loaded
    again because an append failed, and `invariant_violated` if the group alone was loaded again because of a defect of
    the coordinator, in whatever state it was. It is `fault` if a fault that a test injected made the partition
    unavailable: each of its groups is then told, in whatever state. It is null for any other load, such as at a start
    or a change of the leader.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    void_from_seq: int | None
    lost: bool
    cause: Cause | None = None
    group_type: str = "classic"
    progress: dict[str, MemberProgress] = {}


class GroupSnapshot(AuditEvent, frozen=True, kw_only=True, tag="group.snapshot"):
    """The complete state of a group, without a change.

    A checkpoint consists of the snapshots of all live groups of a partition. One is written after a number of records,
    so that a start reads only the end of the topic, and at least once per half of the topic's retention time, so that
    retention never removes the last event of a live group.

    `stored` is the state of the group in `__consumer_offsets`, to which a crash would reset it. It is null in Empty and
    Stable, where it is the state of this event, and in consumer groups. `progress` is that of the members of a consumer
    group, by member id. `checkpoint_offset` is set in the last snapshot of a checkpoint: the
    offset of the partition at which the checkpoint begins. A reader that starts there learns of all live groups.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    stored: StoredState | None = None
    checkpoint_offset: int | None = None
    group_type: str = "classic"
    progress: dict[str, MemberProgress] = {}


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
    """Committed offsets were deleted.

    Causes: `admin`, by OffsetDelete (KIP-496); `topic_deleted` and `group_removed`, together with their topic or group.
    `requested_by` is the client that deleted them or the group. `unnamed_partitions` is as in `offsets.expired`.
    `offsets`: topic → [partition, committed offset that was deleted (-1: none, a transaction had one pending)]; empty
    if `partitions` is.
    """

    partitions: TopicPartitions
    unnamed_partitions: int = 0
    requested_by: Requester | None = None
    cause: Cause = Cause.ADMIN
    offsets: dict[str, list[list[int]]] = {}


class OffsetsReset(AuditEvent, frozen=True, kw_only=True, tag="offsets.reset"):
    """Offsets were committed by a client that is no member to a group that has had members and is Empty.

    A client that assigns its partitions itself does so all the time. So a client that commits again within a minute is
    told of only if an offset goes back; its other commits are counted in `offsets.committed`.

    `partitions`: topic → [partition, committed offset before (-1: none), committed offset now]. If there are more than
    `PARTITIONS_NAMED_MAX`, it is empty and `unnamed_partitions` is their number.
    """

    requested_by: Requester
    partitions: dict[str, list[list[int]]]
    unnamed_partitions: int = 0


class RequestRejected(AuditEvent, frozen=True, kw_only=True, tag="request.rejected"):
    """A request was answered with an error that its client cannot put right by sending it again.

    JoinGroup and SyncGroup with any error but MEMBER_ID_REQUIRED and REBALANCE_IN_PROGRESS; ConsumerGroupHeartbeat
    with any error; Heartbeat with FENCED_INSTANCE_ID; OffsetCommit and TxnOffsetCommit with FENCED_INSTANCE_ID,
    UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION or STALE_MEMBER_EPOCH, and TxnOffsetCommit with INVALID_PRODUCER_EPOCH.
    `error` is Kafka's name of it. `member` is the client that asked, under the member id that it sent. `holder` is the
    member that has the instance id, with FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID. `count` is how often this
    happened with the same API, error, client id and instance id in this incarnation of the group, or since it was
    loaded: the event is written for the 1st, 10th, 100th, … time, and while it goes on at least every
    `REJECTION_APART_MS`.

    `request_generation_id` is the generation, or the member epoch, that the request named; null if its API names none.
    `transactional_id` is that of a TxnOffsetCommit. `protocol_type` and `protocols` are what a JoinGroup offered;
    `group_protocol_type` is that of the group, and `group_protocols` are the assignors that all its members have. At
    most `PROTOCOLS_NAMED_MAX` are named.

    `injected` is true if a fault that a test injected is the reason: with any error to any request that names the
    group, also to one that names no member (`member_id` is then empty). Each of these answers is written, and none is
    counted. An answer about a group that does not exist has no event.
    """

    api: str
    error: str
    member: MemberRef
    holder: MemberRef | None = None
    count: int = 1
    injected: bool = False
    request_generation_id: int | None = None
    transactional_id: str = ""
    protocol_type: str = ""
    protocols: list[str] = []
    group_protocol_type: str = ""
    group_protocols: list[str] = []


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
)


class CoordinatorEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The fields of every event about a coordinator itself; they mean what they mean in `AuditEvent`."""

    schema_version: int = SCHEMA_VERSION
    time_ms: int
    node_id: int
    coordinator_epoch: int


class CoordinatorStarted(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.started"):
    """The coordinator started. `groups` is the number of groups that it knows; null if they are not loaded yet."""

    software_version: str
    groups: int | None = None


class CoordinatorStopped(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.stopped"):
    """The coordinator was stopped in order. After a crash there is none: the next event is `coordinator.started`."""

    clean: bool = True


class CoordinatorPaused(CoordinatorEvent, frozen=True, kw_only=True, tag="coordinator.paused"):
    """The coordinator stood still for a second or longer, from `from_ms` to `until_ms` (wall clock), and heard nobody.

    `pause_kind`: `suspended`, the process did not run (SIGSTOP, a machine that sleeps); `without_cpu`, it was ready to
    run and had no processor; `blocked`, it computed, or waited in a call.
    """

    from_ms: int
    until_ms: int
    pause_kind: str


class LeadershipTaken(CoordinatorEvent, frozen=True, kw_only=True, tag="leadership.taken"):
    """A node in front of a cluster leads a partition of the log from here on: no other node can append to it any more.

    `partition` is that of the log of the groups and of this topic, `producer_id` and `producer_epoch` are what the node
    writes it with. It is in that partition, and the first record of the epoch.
    """

    partition: int
    producer_id: int
    producer_epoch: int


class AuthorizationDenied(CoordinatorEvent, frozen=True, kw_only=True, tag="authorization.denied"):
    """The authorizer denied a client an operation. It is in partition 0 alone.

    `number` counts these events since the start of the coordinator. Of the same principal, operation and resource there
    is one at once, and while it goes on one more at the end of each minute; `suppressed` is the number of denials since
    the event before, beside the one that this event tells of. At most 1,000 combinations have events in a minute. The
    names of operations and types of resources are Kafka's; `rule` is what decided, as in the log of Kafka's authorizer.
    """

    number: int
    principal: str
    client_id: str
    client_host: str
    api: str
    operation: str
    resource_type: str
    resource_name: str
    rule: str
    suppressed: int = 0


class GroupHeldByCluster(CoordinatorEvent, frozen=True, kw_only=True, tag="group.held_by_cluster"):
    """The nodes in front of a cluster are to coordinate the group, and it has members at the cluster.

    While `is_owned` is false, a rule adopts the group, and it stays with the cluster until its members there have left.
    If it is true, the nodes own the group: somebody has removed its sentinel from the cluster, and clients have joined
    there, so that the group may have members at both places.

    `members` are those at the cluster, of which at most `MEMBERS_NAMED_MAX` are named; `unnamed_members` counts the
    others, and one that joins just now. The event is written when a node finds this, when the clients of the members or
    `is_owned` change, and without members when it is over; a node that takes the partition over writes it again.
    `since_ms` is when it was found first. `group_type` is that of the group at the cluster, as in `group.created`.
    """

    group_id: str
    members: list[MemberRef]
    unnamed_members: int = 0
    group_type: str = "classic"
    is_owned: bool = False
    since_ms: int

    @property
    def member_count(self) -> int:
        """Of those at the cluster."""
        return len(self.members) + self.unnamed_members


AnyCoordinatorEvent = (
    CoordinatorStarted
    | CoordinatorStopped
    | CoordinatorPaused
    | LeadershipTaken
    | AuthorizationDenied
    | GroupHeldByCluster
)

NEVER_VOID: Final[frozenset[type[AuditEvent]]] = frozenset(
    {GroupSnapshot, OffsetsCommitted, OffsetsExpired, OffsetsDeleted, OffsetsReset, PatternsResolved, RequestRejected}
)
"""Events that change neither members nor generation. `void_from_seq` of a `group.loaded` does not apply to them."""

TAGS: Final[dict[type[AuditEvent], str]] = {kind: str(kind.__struct_config__.tag) for kind in get_args(AnyAuditEvent)}
"""Class → kind."""

encode_event = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(AnyAuditEvent).decode
decode_coordinator_event = msgspec.json.Decoder(AnyCoordinatorEvent).decode
"""For the value of a record without a key."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a record's value, for readers in other languages."""
    return msgspec.json.schema(AnyAuditEvent | AnyCoordinatorEvent)
