"""What the audit remembers of a group between its events. Compiled: it looks at each partition of each member."""

cimport cython
from libc.stdint cimport int64_t


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

    def __init__(self, member, tuple owned=()):
        self.member = member
        self.owned = owned


@cython.final
@cython.no_gc
cdef class GroupTrail:
    def __init__(self, int64_t seq=0, int64_t created_seq=0):
        self.seq = seq
        self.created_seq = created_seq
        self.members = {}
        self.owners = {}

    cdef int number(self, bint is_creation) except -1:
        """The next event's number, and where its group's life began."""
        self.seq += 1
        if is_creation or not self.created_seq:
            self.created_seq = self.seq
        return 0

    def know(self, member, tuple owned not None):
        cdef str member_id = member.member_id
        self.members[member_id] = KnownMember(member, owned)
        for partition in owned:
            self.owners[partition] = member_id

    def begin_generation(self, int64_t at_ms):
        self.generation_started_ms = at_ms
        self.partitions = self.moved = self.unowned = 0

    def hand_over(self, str member_id, set owned not None, Py_ssize_t claimed):
        cdef KnownMember known = self.members[member_id]
        cdef dict gained = {}, lost = {}, kept = {}
        cdef set before = set(known.owned)
        for partition in sorted(owned):
            if partition in before:
                put(kept, partition)
            else:
                put(gained, partition)
                if self.owners.get(partition, member_id) != member_id:
                    self.moved += 1
            self.owners[partition] = member_id
        if before:
            for partition in sorted(before - owned):
                put(lost, partition)
        if gained or lost:
            known.owned = tuple(owned)
        self.partitions += len(owned)
        self.unowned += len(owned) - claimed
        return gained, lost, kept
