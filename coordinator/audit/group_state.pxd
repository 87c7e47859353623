cimport cython
from libc.stdint cimport int64_t

from coordinator.audit.partition_owners cimport PartitionOwners


@cython.final
@cython.no_gc  # a state is a tree
cdef class GroupAuditState(PartitionOwners):
    cdef bytes key                      # of its records
    cdef readonly int64_t seq
    cdef readonly int64_t created_seq
    cdef public bint is_rebalancing     # a rebalance of which each step is stored is under way
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
    cdef public object reset_by         # the client that committed last without being a member,
    cdef public int64_t reset_ms        # and when
    cdef dict rejections                # what a rejection is counted by → how many there were
    cdef dict gone                      # ids of members that were removed for their silence, the newest → None
    cdef readonly int64_t commits
    cdef readonly int64_t committed_partitions

    cdef int start_event(self, bint is_never_void) except -1
    cdef int set_stored(self, group, bint has_other_states) except -1
    cdef int count_commit(self, offsets) except -1
    cdef list _set_aside(self, list own, int64_t at_ms)
