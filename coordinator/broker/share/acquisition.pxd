from libc.stdint cimport int64_t

from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.in_flight cimport InFlightWindow


cdef class AcquisitionLimits:
    cdef int max_records, batch_size, delivery_count_limit, record_locks_max
    cdef bint is_record_limit


cdef AcquisitionLimits limits_of(
    int max_records, int batch_size, bint is_record_limit, int delivery_count_limit, int record_locks_max
)

# As `acquire`, but for records of aborted transactions; what was acquired is added to `acquired`.
cdef int64_t acquire_read(
    InFlightWindow window, member, AcquisitionLimits limits, int64_t fetch_offset, FetchedBatches read,
    int64_t deadline_ms, list acquired,
) except -1
