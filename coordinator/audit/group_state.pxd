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


@cython.final
@cython.no_gc  # a state is a tree
cdef class GroupAuditState:
    cdef bytes key                      # of its records
    cdef readonly int64_t seq
    cdef readonly int64_t created_seq
    cdef readonly dict members
    cdef readonly dict owners           # (topic, index) → the member that owned it last
    cdef set unassigned                 # partitions without an owner in the last generation; None if there are none
    cdef public int64_t rebalance_started_ms
    cdef public bint is_rebalancing     # a rebalance of which each step is stored is under way
    cdef readonly int64_t generation_started_ms
    cdef readonly int64_t partitions
    cdef readonly int64_t moved
    cdef readonly int64_t unowned
    cdef dict released                  # where members give up one by one: (topic, index) → since when it has no owner
    cdef readonly int64_t unowned_partition_ms
    cdef readonly int64_t nameable_partitions
    cdef readonly int64_t stored_seq
    cdef readonly int64_t stored_generation_id
    cdef readonly object stored_state
    cdef readonly tuple stored_member_ids
    cdef readonly list triggers         # of the rebalance that is under way or comes next
    cdef readonly list epoch_triggers   # of the epoch that comes next, where each has its own
    cdef readonly int64_t unnamed_triggers
    cdef public object of_kind          # what the audit of the kind keeps beside (`KindAudit`); None: nothing
    cdef readonly dict waited_for       # pending member ids that the join phase waited for → None
    cdef readonly list never_synced     # members of the generation that were removed before they synced
    cdef list silent                    # (last heard, partitions) of removed members, before the rebalance starts
    cdef readonly int64_t silent_partition_ms
    cdef readonly int64_t commits_rejected
    cdef public dict topics             # subscribed topic → world.Topic at the last generation
    cdef bytes last_metadata            # of the last member that joined,
    cdef list last_topics               # what it subscribes to,
    cdef int64_t last_unnamed_topics    # and as a number
    cdef dict had                       # previous owner → how many of the assigned partitions it had
    cdef public object reset_by         # the client that committed last without being a member,
    cdef public int64_t reset_ms        # and when
    cdef dict rejections                # what a rejection is counted by → how many there were
    cdef dict gone                      # ids of members that were removed for their silence, the newest → None
    cdef readonly int64_t commits
    cdef readonly int64_t committed_partitions

    cdef int start_event(self, bint is_never_void) except -1
    cdef int set_stored(self, group, bint has_other_states) except -1
    cdef int count_commit(self, offsets) except -1
    cdef int release(self, set partitions, int64_t at_ms) except -1
    cdef object join_ms(self, AuditedMember audited, int64_t generation_id)
    cdef object sync_ms(self, AuditedMember audited, int64_t generation_id)
    cdef dict reassigned(
        self, AuditedMember audited, str member_id, int64_t epoch, str state, tuple partitions, int64_t count,
        tuple revoking, int64_t revoking_count, int64_t at_ms,
    )
    cdef dict keep(self, str member_id, tuple owned)
    cdef list _set_aside(self, list own, int64_t at_ms)
    cdef tuple compare(self, AuditedMember audited, str member_id, tuple partitions)
