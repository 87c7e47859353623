"""The audit's state of a live group between its events. Compiled: it compares each partition of each member."""

cimport cython
from libc.stdint cimport int64_t

from coordinator.audit import schema

cdef int64_t PARTITIONS_NAMED_MAX = schema.PARTITIONS_NAMED_MAX


def by_topic(partitions):
    cdef dict topics = {}
    for partition in sorted(partitions):
        put(topics, partition)
    return topics


cdef int put(dict topics, partition) except -1:
    topic, index = partition
    if topic in topics:
        (<list>topics[topic]).append(index)
    else:
        topics[topic] = [index]
    return 0


@cython.final
@cython.no_gc
cdef class KnownMember:
    cdef readonly object member
    cdef readonly tuple owned
    cdef readonly int64_t unnamed_partitions

    def __init__(self, member, tuple owned not None, int64_t unnamed_partitions):
        self.member = member
        self.owned = owned
        self.unnamed_partitions = unnamed_partitions


@cython.final
@cython.no_gc
cdef class GroupAuditState:
    def __init__(self, int64_t seq=0, int64_t created_seq=0):
        self.seq = seq
        self.created_seq = created_seq
        self.members = {}
        self.owners = {}
        self.nameable_partitions = PARTITIONS_NAMED_MAX
        self.stored_member_ids = ()

    cdef int start_event(self, bint is_never_void) except -1:
        """Number the next event."""
        self.seq += 1
        if not self.created_seq:
            self.created_seq = self.seq
        if is_never_void and self.stored_seq == self.seq - 1:
            self.stored_seq = self.seq
        return 0

    cdef int set_stored(self, group) except -1:
        """Record that the last event left the group as stored in `__consumer_offsets`."""
        self.stored_seq = self.seq
        self.stored_generation_id = group.generation_id
        self.stored_state = group.state
        self.stored_member_ids = tuple(group.members)
        return 0

    def mark_stored(self, group):
        self.set_stored(group)

    cdef int count_commit(self, offsets) except -1:
        self.commits += 1
        for of_topic in offsets.values():
            self.committed_partitions += len(of_topic)
        return 0

    def reset_commits(self):
        self.commits = self.committed_partitions = 0

    def remember_member(self, member, partitions, int64_t unnamed_partitions):
        cdef str member_id = member.member_id
        cdef tuple owned = tuple(sorted(partitions)) if partitions else ()
        self.members[member_id] = KnownMember(member, owned, unnamed_partitions)
        self.nameable_partitions -= len(owned)
        for partition in owned:
            self.owners[partition] = member_id

    def replace_member(self, str old_member_id not None, member):
        cdef KnownMember old = self.members.pop(old_member_id)
        cdef str member_id = member.member_id
        self.members[member_id] = KnownMember(member, old.owned, old.unnamed_partitions)
        for partition in old.owned:
            self.owners[partition] = member_id

    def start_generation(self, int64_t at_ms):
        self.generation_started_ms = at_ms
        self.partitions = self.moved = self.unowned = 0
        self.nameable_partitions = PARTITIONS_NAMED_MAX

    def assign(
        self, str member_id not None, set partitions not None, int64_t unnamed_partitions, Py_ssize_t claimed
    ):
        cdef KnownMember known = self.members[member_id]
        cdef dict gained = {}, lost = {}, kept = {}
        known.unnamed_partitions = unnamed_partitions
        self.partitions += len(partitions) + unnamed_partitions
        self.unowned += len(partitions) - claimed
        self.nameable_partitions -= len(partitions)
        if unnamed_partitions:
            known.owned = ()
            return gained, lost, kept
        cdef set before = set(known.owned)
        cdef list owned = sorted(partitions)
        for partition in owned:
            if partition in before:
                put(kept, partition)
            else:
                put(gained, partition)
                if self.owners.get(partition, member_id) != member_id:
                    self.moved += 1
            self.owners[partition] = member_id
        if before:
            for partition in sorted(before - partitions):
                put(lost, partition)
        if gained or lost:
            known.owned = tuple(owned)
        return gained, lost, kept

    def forget_old_owners(self):
        cdef KnownMember known
        cdef set owned = set(), unassigned
        if len(self.owners) <= PARTITIONS_NAMED_MAX - self.nameable_partitions:
            self.unassigned = None      # every owner is one of this generation
            return
        for known in self.members.values():
            owned.update(known.owned)
        unassigned = self.owners.keys() - owned
        if self.unassigned is not None:
            for partition in unassigned & self.unassigned:
                del self.owners[partition]
            unassigned -= self.unassigned
        self.unassigned = unassigned
