cimport cython
from libc.stdint cimport int64_t

from coordinator.audit.group_state cimport GroupAuditState


@cython.final
cdef class RecordWriter:
    cdef tuple texts                    # before each of the VARYING fields of the envelope
    cdef tuple source

    cdef tuple write(
        self, event_class, group_id, GroupAuditState audit_state, int64_t time_ms, state_before,
        int64_t generation_id_before, state, int64_t generation_id, dict fields,
    )
