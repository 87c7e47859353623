"""From core events to records of the audit topic.

Compiled, because the interpreter is fast only at places that see one class, and here all classes of events pass.
"""

from libc.stdint cimport int64_t

from coordinator.audit.group_state cimport GroupAuditState
from coordinator.audit.records cimport RecordWriter

from coordinator.audit import schema
from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.projections import PROJECTIONS, snapshot
from coordinator.audit.resume import AuditReplay, resume, resume_group
from coordinator.audit.snapshots import (
    CHECKPOINT_RECORDS, CHECKPOINT_RECORDS_PER_GROUP, CHECKPOINT_RECORDS_PER_MEMBER, MEMBERS_AT_ONCE, SnapshotRound,
)
from coordinator.audit.world import NoCluster, World
from coordinator.core.kinds.table import KINDS
from coordinator.core.kinds.stored import EVENT_RECORDS
from coordinator.core.offsets import events as offset_events

cdef object SUPERSEDED = schema.RebalanceSuperseded     # describes the group before the rebalance that replaces its own
cdef object REMOVED = schema.GroupRemoved
cdef object OFFSETS_COMMITTED = offset_events.OffsetsCommitted
cdef object OFFSETS_HELD_BACK = offset_events.TransactionalOffsetsCommitted
cdef object NO_CLUSTER = NoCluster()
cdef frozenset ALWAYS_STORED = frozenset([name for name, kind in KINDS.items() if kind.is_always_stored])
cdef int64_t RECORDS_PER_GROUP = CHECKPOINT_RECORDS_PER_GROUP
cdef int64_t RECORDS_PER_MEMBER = CHECKPOINT_RECORDS_PER_MEMBER


cdef class AuditProjector:
    cdef readonly dict groups
    cdef readonly int64_t next_offset
    cdef int64_t lead
    cdef readonly int64_t checkpoint_offset
    cdef readonly int64_t checkpoint_end_offset
    cdef readonly int64_t checkpoint_ms
    cdef readonly list committed_groups
    cdef readonly list records
    cdef RecordWriter writer
    cdef dict projections
    cdef int64_t checkpoint_records
    cdef int64_t snapshot_members       # in the last round of snapshots
    cdef object members_at_once
    cdef readonly object replay
    cdef object snapshot_round
    cdef readonly object world

    def __init__(
        self, node_id, coordinator_epoch=0, dict projections not None=PROJECTIONS,
        checkpoint_records=CHECKPOINT_RECORDS, members_at_once=MEMBERS_AT_ONCE, cluster=NO_CLUSTER,
    ):
        self.groups = {}
        self.committed_groups = []
        self.records = []
        self.writer = RecordWriter(node_id, coordinator_epoch)
        # Exact tuples are unpacked faster than named ones.
        self.projections = {
            event: tuple([(*one, stored_by(event)) for one in several]) for event, several in projections.items()
        }
        self.checkpoint_records = checkpoint_records
        self.members_at_once = members_at_once
        self.replay = AuditReplay(0)
        self.world = World(cluster)

    def project(self, event, group, state_before, int64_t generation_before):
        cdef object event_type = type(event)
        cdef tuple projections = self.projections.get(event_type)
        cdef GroupAuditState state
        if projections is None:
            if event_type is OFFSETS_COMMITTED or event_type is OFFSETS_HELD_BACK:
                self.count_commit(group.group_id, event.offsets)
            return
        membership = group.membership
        group_id = group.group_id
        state = self.state_of(group_id)
        self.world.committed_offsets = group.offsets.by_topic
        last_state, last_generation = state_before, generation_before   # as the last of the audit events leaves them
        for projection in projections:
            event_class, fields_of, is_stored = <tuple>projection
            fields = fields_of(event, membership, state, state_before, self.world)
            if fields is not None:
                before, before_generation = last_state, last_generation
                if event_class is not SUPERSEDED:
                    last_state, last_generation = membership.state, membership.generation_id
                self.records.append(self.write(
                    event_class, group_id, state, event.at_ms, before, before_generation, last_state, last_generation,
                    fields,
                ))
                if is_stored is not False and (is_stored is True or is_stored(event)):
                    state.set_stored(membership, group.kind.name not in ALWAYS_STORED)
                elif event_class is REMOVED:
                    del self.groups[group_id]

    def project_commit(self, group_id, member_id, offsets, at_ms):
        self.count_commit(group_id, offsets)

    def pop_records(self):
        records, self.records = self.records, []
        return records

    cdef GroupAuditState state_of(self, group_id):
        """The audit state of a group, created before its first event, whose `seq` is the offset of its record plus 1.

        Each event has its own offset, so every `seq` of an earlier incarnation is smaller.
        """
        cdef GroupAuditState state = self.groups.get(group_id)
        if state is None:
            state = self.groups[group_id] = GroupAuditState(self.next_offset + self.lead)
        return state

    @property
    def seq_max(self):
        return self.next_offset + self.lead

    def begin_above(self, int64_t seq):
        self.lead = max(self.lead, seq - self.next_offset)

    cdef tuple write(
        self, event_class, group_id, GroupAuditState state, int64_t at_ms, state_before, int64_t generation_before,
        state_after, int64_t generation_after, dict fields,
    ):
        record = self.writer.write(
            event_class, group_id, state, at_ms, state_before, generation_before, state_after, generation_after, fields
        )
        self.next_offset += 1       # a record that cannot be written takes no offset
        return record

    cdef tuple write_unchanged(self, event_class, group, GroupAuditState state, int64_t now_ms, dict fields):
        """An event that does not change the group."""
        membership = group.membership
        cdef int64_t generation_id = membership.generation_id
        return self.write(
            event_class, group.group_id, state, now_ms,
            membership.state, generation_id, membership.state, generation_id, fields,
        )

    def write_about_coordinator(self, event, now_ms):
        record = coordinator_record(event, now_ms)
        self.next_offset += 1
        return record

    # ---- replay

    def clear(self):
        self.groups.clear()
        self.committed_groups.clear()
        self.records = []
        self.snapshot_round = None
        self.snapshot_members = 0
        self.replay = AuditReplay(0)

    def start_replay(self, int64_t from_offset):
        self.clear()
        self.replay = AuditReplay(from_offset)

    def apply(self, records):
        return self.replay.apply(records)

    def knows(self, group_ids):
        return self.replay.knows(group_ids)

    def resume(self, groups, int64_t now_ms, int64_t end_offset, cause=None):
        replay, self.replay = self.replay, AuditReplay(0)
        self.next_offset = self.checkpoint_end_offset = end_offset
        self.lead = 0
        self.checkpoint_offset = replay.checkpoint_offset
        self.checkpoint_ms = now_ms if replay.checkpoint_ms is None else replay.checkpoint_ms
        return resume(self, replay.cursors, groups, now_ms, cause)

    def write_event(
        self, event_class, group_id, GroupAuditState state not None, int64_t at_ms, state_before,
        int64_t generation_before, state_after, int64_t generation_after, dict fields not None,
    ):
        return self.write(
            event_class, group_id, state, at_ms, state_before, generation_before, state_after, generation_after, fields
        )

    # ---- a group that is discarded and rebuilt while the others are served

    def discard(self, group_id, Py_ssize_t count):
        self.next_offset -= len(self.records) - count
        del self.records[count:]
        self.groups.pop(group_id, None)

    def start_rebuild(self, int64_t from_offset):
        return AuditReplay(from_offset)

    def resume_rebuilt(self, replay, group_id, group, int64_t now_ms, cause):
        replay.confirm_last_batch()
        return resume_group(self, replay.cursors.get(group_id), group_id, group, now_ms, cause, always=True)

    # ---- checkpoints

    @property
    def is_checkpoint_due(self):
        cdef int64_t records_max
        if self.snapshot_round is not None:
            return True
        if not self.groups:
            return False
        records_max = RECORDS_PER_GROUP * len(self.groups) + RECORDS_PER_MEMBER * self.snapshot_members
        records_max = max(self.checkpoint_records, records_max)
        return self.next_offset - self.checkpoint_offset > records_max

    def write_snapshots(self, groups, int64_t now_ms):
        cdef list records = []
        cdef GroupAuditState state
        if self.snapshot_round is None:
            self.snapshot_round = SnapshotRound(self.next_offset, self.groups, self.members_at_once)
        for group, checkpoint_offset in self.snapshot_round.next_slice(groups):
            state = self.state_of(group.group_id)
            fields = snapshot(group, state, checkpoint_offset)
            records.append(self.write_unchanged(schema.GroupSnapshot, group, state, now_ms, fields))
            if checkpoint_offset is not None:
                self.checkpoint_offset = checkpoint_offset
                self.checkpoint_end_offset = self.next_offset
        if self.snapshot_round.is_over:
            self.checkpoint_ms, self.snapshot_members = now_ms, self.snapshot_round.members
            self.snapshot_round = None
        return records

    # ---- offset commits

    cdef int count_commit(self, group_id, offsets) except -1:
        cdef GroupAuditState state = self.state_of(group_id)
        if state.commits == 0:
            self.committed_groups.append(group_id)
        return state.count_commit(offsets)

    def pop_committed_groups(self):
        group_ids, self.committed_groups = self.committed_groups, []
        return group_ids

    def write_commits(
        self, groups, group_ids, int64_t now_ms, int64_t interval_ms, int64_t first_log_offset, int64_t last_log_offset,
    ):
        cdef list records = []
        cdef GroupAuditState state
        for group_id in group_ids:
            group, state = groups.get(group_id), self.groups.get(group_id)
            if group is not None and state is not None and state.commits:
                fields = {
                    "interval_ms": interval_ms,
                    "commits": state.commits,
                    "partitions": state.committed_partitions,
                    "first_log_offset": first_log_offset,
                    "last_log_offset": last_log_offset,
                }
                records.append(self.write_unchanged(schema.OffsetsCommitted, group, state, now_ms, fields))
                state.reset_commits()
        return records


def stored_by(event_class):
    """Whether the group is stored with an event of this class; or what to ask the event."""
    records = EVENT_RECORDS.get(event_class)
    return False if records is None else records.stores_group
