from libc.stdint cimport int8_t, int64_t

from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.pieces cimport Lock
from coordinator.broker.share.record_counts cimport RecordCounts

cdef enum:
    NOT_ACQUIRED_CODE = 1
    BEYOND_THE_WINDOW_CODE = 2
    UNKNOWN_TYPE_CODE = 3


# As `acknowledge`, of one batch.
cdef int acknowledge_batch(
    InFlightWindow window, member, int64_t first, int64_t last, const int8_t *types, Py_ssize_t type_count,
    list changes, int delivery_count_limit, Lock renewed, RecordCounts counts,
) except -1
cpdef int complete(
    InFlightWindow window, list changes, bint is_stored, int64_t now_ms, int delivery_count_limit
) except -1
