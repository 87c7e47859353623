"""Events of rebalances and generations, from their beginning to the end of the group; and snapshots of it."""

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import (
    AbsentMember,
    MemberProgress,
    MemberRef,
    MemberSnapshot,
    Requester,
    StoredState,
    TopicPartitions,
    Trigger,
    WaitedFor,
    WorkerTasks,
)
from coordinator.core.causes import Cause


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
    classic group, and in older events, `target_epoch` is null. `gone_topics` are those that were deleted since the
    last generation, also while the group was empty: what is assigned of these names was created again. In older events
    of consumer groups there are none. `topic_ids` are those of the topics that there are now, of at most
    `TOPIC_IDS_NAMED_MAX`: a topic that was deleted and created again has another id, also if no event told of that.

    `absent` are static members of a classic group that did not join again in time, and are in this generation all the
    same (KIP-345): at most `MEMBERS_NAMED_MAX`.

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
    gone_topics: list[str] = []
    topic_ids: dict[str, str] = {}
    absent: list[AbsentMember] = []


class MemberAssigned(AuditEvent, frozen=True, kw_only=True, tag="member.assigned"):
    """The assignment of one member. `gained`, `lost` and `kept` compare it with the member's previous assignment.

    All of them are empty if the protocol type is not "consumer", or if the bytes are not a valid assignment (`readable`
    is false). They are also empty if the events of this generation would otherwise name more than
    `PARTITIONS_NAMED_MAX` partitions. In that case `unnamed_partitions` is the number of assigned partitions, and the
    member's next assignment is compared with an empty one.

    `join_ms` is the time from the start of the rebalance to the member's JoinGroup, `sync_ms` that from the start of
    the generation to its SyncGroup. `join_ms` is null for a member that was not asked to join, `sync_ms` for one that
    had sent no SyncGroup when the leader's came. `worker` is what a worker of Kafka Connect was given, if the protocol
    type is "connect" and the bytes can be read and are not very many; else it is null.

    `claimed` counts those of its partitions that the member said it still owned when it rejoined (KIP-429): it goes on
    consuming them. Members of eager assignors claim none. Null in older events.
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
    claimed: int | None = None
    worker: WorkerTasks | None = None


class MemberReconciled(AuditEvent, frozen=True, kw_only=True, tag="member.reconciled"):
    """A member of a consumer group made a step towards its target assignment, or away from partitions that it lost.

    `partitions` are those that it may use by now; `gained`, `lost` and `kept` compare them with those before, and the
    limits are as in `member.assigned`. The fields from `member_epoch` to `revoking_count` are as in `MemberProgress`:
    a member that gives up partitions keeps its epoch until it has shown in a heartbeat that it did, or until its
    rebalance timeout. `waits_for` says which partitions of its target other members have not given up; at most
    `MEMBERS_NAMED_MAX` of them are named. `reconcile_ms` is the time since the target assignment was computed.
    `last_heard_ms` is when the member was heard before the heartbeat of this step (wall clock): what it gave up since
    then it may have given up earlier. Null if it is new, or that is not known, and in share and streams groups.
    `unclaimed` are those that it might use before this step and does not name among those that it owns: the answer that
    told it of them was lost, or it has lost them. Empty if it does not say what it owns.
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
    last_heard_ms: int | None = None
    unclaimed: TopicPartitions = {}


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

    `rebalance_ms` is the time since the superseded rebalance started; null if that is not known, because it was before
    the group was loaded. `never_synced` are members of the generation that sent no SyncGroup; `unnamed_members` counts
    those beyond `MEMBERS_NAMED_MAX`. `awaits_target`: in a consumer group, its target assignment was being computed
    then, and a `generation.started` tells if it comes after all.
    """

    rebalance_ms: int | None
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
    it was empty and had none; `released`, nodes gave it back to the cluster, which coordinates it. With `not_stored`
    and `store_failed` only the audit knows the group: its creation was not stored, because the server crashed or
    because the append failed. `requested_by` is the client that deleted it.
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
    `rebalance_started_ms` is when the epoch of a consumer group rose that its members have not got to; null if they all
    have, in classic groups, and in older events.
    """

    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    stored: StoredState | None = None
    checkpoint_offset: int | None = None
    group_type: str = "classic"
    progress: dict[str, MemberProgress] = {}
    rebalance_started_ms: int | None = None
