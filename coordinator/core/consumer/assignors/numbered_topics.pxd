from cpython cimport array

cdef array.array ints(Py_ssize_t count, int value)

cdef class NumberedTopics:
    cdef list ids
    cdef dict numbers
    cdef dict numbers_of_subscriptions
    cdef array.array first              # of each topic: the number of its partition 0; at the end: of all partitions
    cdef readonly int topic_count
    cdef readonly int partition_count

    cdef array.array numbers_of(self, object topic_ids)
    cdef int number_of(self, object topic_id) except -2
    cdef int partition_of(self, int topic, object partition) except -2
    cdef int topic_of(self, int partition) noexcept
