"""The audit's state of a live group between its events: what began a rebalance, who waits, and what was rejected."""

cimport cython
from libc.stdint cimport int64_t

from coordinator.audit.partition_owners cimport AuditedMember, PartitionOwners

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.consumer_protocol import read_subscription

cdef Py_ssize_t TOPICS_NAMED_MAX = schema.TOPICS_NAMED_MAX
cdef Py_ssize_t TRIGGERS_NAMED_MAX = schema.TRIGGERS_NAMED_MAX
cdef Py_ssize_t MEMBERS_NAMED_MAX = schema.MEMBERS_NAMED_MAX
cdef int64_t REJECTION_APART_MS = schema.REJECTION_APART_MS
cdef object Trigger = schema.Trigger

# Most groups have nothing of a kind: they share these, and get one of their own before something is added.
cdef dict NO_ENTRIES = {}
cdef list NO_ITEMS = []
cdef object TOPICS_CHANGED = Cause.TOPICS_CHANGED
cdef frozenset WAITING_CAUSES = frozenset({Cause.NEW_MEMBER, Cause.METADATA_CHANGED})

cdef enum:
    GONE_MAX = 100                      # removed members that are remembered, to know them when they come again
    REJECTIONS_MAX = 1000               # kinds of rejections that are counted for a group; clients choose their names


@cython.final
@cython.no_gc
cdef class GroupAuditState(PartitionOwners):
    def __init__(self, int64_t seq=0, int64_t created_seq=0):
        PartitionOwners.__init__(self)
        self.seq = seq
        self.created_seq = created_seq
        self.waited_for = self.topics = self.rejections = self.gone = NO_ENTRIES
        self.triggers = self.epoch_triggers = self.never_synced = self.silent = NO_ITEMS
        self.stored_member_ids = ()

    cdef int start_event(self, bint is_never_void) except -1:
        """Number the next event."""
        self.seq += 1
        if not self.created_seq:
            self.created_seq = self.seq
        if is_never_void and self.stored_seq == self.seq - 1:
            self.stored_seq = self.seq
        return 0

    cdef int set_stored(self, group, bint has_other_states) except -1:
        """Record that the last event left the group as stored in `__consumer_offsets`.

        The members are kept for a group that has other states too, which are not stored.
        """
        self.stored_seq = self.seq
        self.stored_generation_id = group.generation_id
        self.stored_state = group.state
        if has_other_states:
            self.stored_member_ids = tuple(group.members)
        return 0

    def mark_stored(self, group):
        self.set_stored(group, True)

    cdef int count_commit(self, offsets) except -1:
        self.commits += 1
        for of_topic in offsets.values():
            self.committed_partitions += len(of_topic)
        return 0

    def reset_commits(self):
        self.commits = self.committed_partitions = 0

    # ---- a rebalance, from its first trigger on

    def note_trigger(self, cause, member, reason, int64_t at_ms):
        if len(self.triggers) < TRIGGERS_NAMED_MAX:
            if self.triggers is NO_ITEMS:
                self.triggers = []
            self.triggers.append(Trigger(cause, member, reason, at_ms))
        else:
            self.unnamed_triggers += 1

    def note_epoch_trigger(self, cause, member, reason, int64_t at_ms):
        if len(self.epoch_triggers) < TRIGGERS_NAMED_MAX:
            if self.epoch_triggers is NO_ITEMS:
                self.epoch_triggers = []
            self.epoch_triggers.append(Trigger(cause, member, reason, at_ms))
        else:
            self.unnamed_triggers += 1

    def begin_epoch(self, cause, member, reason, int64_t at_ms):
        cdef list own = self.epoch_triggers
        self.epoch_triggers = NO_ITEMS
        if own and cause is not TOPICS_CHANGED and own[0].at_ms < at_ms:
            own = self._set_aside(own, at_ms)
        for trigger in own:
            if trigger.cause is cause:
                break
        else:
            own = [Trigger(cause, member, reason, at_ms), *own]
        cdef Py_ssize_t room = TRIGGERS_NAMED_MAX - len(self.triggers)
        self.unnamed_triggers += max(len(own) - room, 0)
        if room > 0:
            self.triggers = [*self.triggers, *own[:room]]
        return own

    cdef list _set_aside(self, list own, int64_t at_ms):
        # Who came before with a regular expression raises an epoch with the topics that it finds.
        cdef list now = []
        cdef list waiting = []
        for trigger in own:
            member = trigger.member
            if isinstance(member, AuditedMember):
                member = (<AuditedMember>member).member
            if trigger.at_ms >= at_ms or trigger.cause not in WAITING_CAUSES:
                now.append(trigger)
            elif member is not None and member.member_id in self.members:
                waiting.append(trigger)
        if waiting:
            self.epoch_triggers = waiting
        return now

    def forget_epoch_triggers(self):
        self.epoch_triggers = NO_ITEMS

    def note_first_trigger(self, trigger):
        self.triggers = [trigger, *self.triggers]

    def pop_triggers(self):
        triggers, self.triggers = self.triggers, NO_ITEMS
        unnamed, self.unnamed_triggers = self.unnamed_triggers, 0
        return triggers, unnamed

    def restore_triggers(self, list triggers not None, int64_t unnamed_triggers):
        self.triggers, self.unnamed_triggers = triggers, unnamed_triggers

    def subscribe(self, str member_id not None, str protocol_type, bytes metadata not None):
        cdef AuditedMember audited = self.members[member_id]
        if self.last_metadata is None or metadata != self.last_metadata:
            topics, self.last_unnamed_topics = read_subscription(protocol_type, metadata, TOPICS_NAMED_MAX)
            self.last_metadata = metadata
            if self.last_topics != topics:
                self.last_topics = topics
        audited.topics = self.last_topics     # one list for all members that subscribe alike
        audited.unnamed_topics = self.last_unnamed_topics
        return audited

    def note_join(self, AuditedMember audited not None, int64_t generation_id, int64_t at_ms):
        if audited.came_for != generation_id:
            audited.came_for, audited.came_ms = generation_id, at_ms

    def note_sync(self, str member_id not None, int64_t generation_id, int64_t at_ms):
        cdef AuditedMember audited = self.members[member_id]
        if audited.synced_in != generation_id:
            audited.synced_in, audited.synced_at_ms = generation_id, at_ms

    def note_removal(self, AuditedMember audited not None, last_heard_ms, rebalance_runs):
        cdef Py_ssize_t partitions = len(audited.owned) + audited.unnamed_partitions
        if last_heard_ms is not None:
            if self.gone is NO_ENTRIES:
                self.gone = {}
            elif len(self.gone) == GONE_MAX:
                del self.gone[next(iter(self.gone))]
            self.gone[audited.member.member_id] = None
        if last_heard_ms is not None and partitions:
            if rebalance_runs:
                self.silent_partition_ms += max(self.rebalance_started_ms - <int64_t>last_heard_ms, 0) * partitions
            else:
                if self.silent is NO_ITEMS:
                    self.silent = []
                self.silent.append((last_heard_ms, partitions))

    def note_never_synced(self, AuditedMember audited not None, int64_t generation_id):
        if audited.synced_in != generation_id:
            if self.never_synced is NO_ITEMS:
                self.never_synced = []
            self.never_synced.append(audited)

    def start_rebalance(self, pending_members, int64_t at_ms):
        self.rebalance_started_ms = at_ms
        for last_heard_ms, partitions in self.silent:
            self.silent_partition_ms += max(at_ms - <int64_t>last_heard_ms, 0) * <int64_t>partitions
        self.silent = self.never_synced = NO_ITEMS
        self.waited_for = NO_ENTRIES
        for member_id in pending_members:
            self.note_pending(member_id)

    def note_pending(self, member_id):
        if len(self.waited_for) < MEMBERS_NAMED_MAX:
            if self.waited_for is NO_ENTRIES:
                self.waited_for = {}
            self.waited_for[member_id] = None

    def pop_waited_for(self):
        waited_for, self.waited_for = self.waited_for, NO_ENTRIES
        return list(waited_for)

    def pop_never_synced(self, group, int64_t generation_id):
        """Members of the generation that ends, in it or removed from it, without a SyncGroup of theirs."""
        cdef AuditedMember audited
        never_synced, self.never_synced = list(self.never_synced), NO_ITEMS
        for member in group.members.values():
            audited = self.members[member.member_id]
            if audited.synced_in != generation_id and not member.is_new:
                never_synced.append(audited)
        return never_synced[:MEMBERS_NAMED_MAX], max(len(never_synced) - MEMBERS_NAMED_MAX, 0)

    def end_rebalance(self):
        self.silent_partition_ms = self.commits_rejected = 0
        self.forget_previous_owners()

    def slowest_to_join(self, int64_t generation_id):
        cdef AuditedMember audited
        cdef int64_t slowest_ms = 0
        slowest = None
        for audited in self.members.values():
            if audited.came_for == generation_id and audited.came_ms - self.rebalance_started_ms > slowest_ms:
                slowest, slowest_ms = audited, audited.came_ms - self.rebalance_started_ms
        return slowest, slowest_ms

    def slowest_to_sync(self, int64_t generation_id):
        cdef AuditedMember audited
        cdef int64_t slowest_ms = 0
        slowest = None
        for audited in self.members.values():
            if audited.synced_in == generation_id and audited.synced_at_ms - self.generation_started_ms > slowest_ms:
                slowest, slowest_ms = audited, audited.synced_at_ms - self.generation_started_ms
        return slowest, slowest_ms

    def subscribed_topics(self):
        cdef AuditedMember audited
        cdef list last = None
        cdef set topics = set()
        for audited in self.members.values():
            if audited.topics is not last:
                last = audited.topics
                topics.update(last)
        return topics

    # ---- rejected requests

    def count_rejected_commit(self):
        self.commits_rejected += 1

    def is_gone(self, str member_id not None):
        if member_id not in self.gone:
            return False
        del self.gone[member_id]
        return True

    def count_rejection(self, tuple rejection not None, int64_t at_ms):
        if self.rejections is NO_ENTRIES:
            self.rejections = {}
        audited = self.rejections.pop(rejection, None)
        cdef int64_t count = 1, reported_ms = at_ms, power = 1
        if audited is not None:
            count, reported_ms = audited[0] + 1, audited[1]
        while power < count:
            power *= 10
        cdef bint is_reported = count == power or at_ms - reported_ms >= REJECTION_APART_MS
        if len(self.rejections) == REJECTIONS_MAX:
            del self.rejections[next(iter(self.rejections))]
        self.rejections[rejection] = count, at_ms if is_reported else reported_ms
        return count if is_reported else 0
