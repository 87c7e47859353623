from libc.stdint cimport int32_t, int64_t


# As `build_batch`, of keys and values, with neither producer nor compression.
cdef bytes build_plain_batch(list pairs, int64_t base_offset, int64_t timestamp_ms, int32_t partition_leader_epoch)

# The same of written records (`written_records.pxd`). `size_bytes` is that of the batch.
cdef bytes build_written_batch(
    list pieces, int32_t count, Py_ssize_t size_bytes, int64_t base_offset, int64_t timestamp_ms,
    int32_t partition_leader_epoch
)
