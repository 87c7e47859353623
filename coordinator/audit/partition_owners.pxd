cimport cython
from libc.stdint cimport int64_t


@cython.final
@cython.no_gc
cdef class AuditedMember:
    cdef readonly object member
    cdef readonly tuple owned
    cdef object owned_of_topic            # whose names `owned` has, if they are of one topic; None: of several
    cdef readonly int64_t unnamed_partitions
    cdef readonly tuple revoking        # what it is to give up, and has not shown to have
    cdef readonly list topics
    cdef readonly int64_t unnamed_topics
    cdef int64_t came_for               # the generation that its first JoinGroup since the last one was for
    cdef int64_t came_ms                # when that came
    cdef int64_t synced_in              # the last generation that it sent a SyncGroup of
    cdef int64_t synced_at_ms
    cdef bytes text                     # its `schema.MemberRef` as JSON, as it was last written
    cdef object text_details            # the part of the member that may change


@cython.no_gc
cdef class PartitionOwners:
    cdef readonly dict members
    cdef readonly dict owners           # (topic, index) → the member that owned it last
    cdef set unassigned                 # partitions without an owner in the last generation; None if there are none
    cdef public int64_t rebalance_started_ms
    cdef readonly int64_t generation_started_ms
    cdef readonly int64_t partitions
    cdef readonly int64_t moved
    cdef readonly int64_t unowned
    cdef dict released                  # where members give up one by one: (topic, index) → since when it has no owner
    cdef readonly int64_t unowned_partition_ms
    cdef readonly int64_t nameable_partitions
    cdef dict had                       # previous owner → how many of the assigned partitions it had

    cdef int forget_previous_owners(self) except -1
    cdef int release(self, set partitions, int64_t at_ms) except -1
    cdef object join_ms(self, AuditedMember audited, int64_t generation_id)
    cdef object sync_ms(self, AuditedMember audited, int64_t generation_id)
    cdef dict reassigned(
        self, AuditedMember audited, str member_id, int64_t epoch, str state, tuple partitions, int64_t count,
        tuple revoking, int64_t revoking_count, int64_t at_ms,
    )
    cdef dict keep(self, str member_id, tuple owned)
    cdef tuple compare(self, AuditedMember audited, str member_id, tuple partitions)
