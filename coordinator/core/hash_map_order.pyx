"""The orders in which Kafka goes through members and topics: those of Java's HashMap and HashSet.

Assignors depend on them. Of keys in one bucket, Java has the one first that was added first; here the order of the
arguments decides.
"""

from cpython cimport array
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport qsort

import array

from coordinator.core.partitioning cimport hash_of

cdef enum:
    BUCKETS_LEAST = 16                  # java.util.HashMap.DEFAULT_INITIAL_CAPACITY
    FEW = 32                            # so many are put in order one by one

cdef array.array NO_NUMBERS = array.array("q")


def texts_in_hash_map_order(texts, Py_ssize_t among=0):
    cdef list keys = list(texts)
    return in_order(keys, hash_of_text, buckets_of(max(len(keys), among)))


def ids_in_hash_set_order(ids):
    cdef list keys = list(ids)
    return in_order(keys, hash_of_id, buckets_of(len(keys)))


def assignment_in_hash_order(dict assignment not None):
    """Topic id → partitions, which are ascending, as Java goes through a HashMap of HashSets of them."""
    ids = list(assignment) if len(assignment) < 2 else ids_in_hash_set_order(assignment)
    return {topic_id: numbers_in_order(assignment[topic_id]) for topic_id in ids}


cdef object numbers_in_order(tuple numbers):
    """They are ascending, so most have a bucket each, in this order."""
    cdef Py_ssize_t count = len(numbers)
    cdef int last = numbers[count - 1] if count else 0
    cdef uint32_t buckets = buckets_of(count)
    if <uint32_t>last < buckets:
        return numbers
    return in_order(list(numbers), hash_of_number, buckets)


ctypedef uint32_t (*Hash)(object key) except? 0xFFFFFFFF


cdef uint32_t hash_of_text(object key) except? 0xFFFFFFFF:
    return hash_of(key)


cdef uint32_t hash_of_id(object key) except? 0xFFFFFFFF:
    """All four words of the id, each with exclusive or."""
    cdef const unsigned char *id_bytes = key
    cdef uint32_t value = 0
    cdef int place
    assert len(key) == 16
    for place in range(16):
        value ^= <uint32_t>id_bytes[place] << (24 - 8 * (place % 4))
    return value


cdef uint32_t hash_of_number(object key) except? 0xFFFFFFFF:
    cdef int number = key               # negative only in a damaged log
    return <uint32_t>number


cdef uint32_t buckets_of(Py_ssize_t count) noexcept:
    """A HashMap doubles its buckets when three of four are taken."""
    cdef uint32_t buckets = BUCKETS_LEAST
    while 4 * count > 3 * <Py_ssize_t>buckets:
        buckets *= 2
    return buckets


cdef int ascending(const void *one, const void *other) noexcept nogil:
    cdef int64_t left = (<const int64_t*>one)[0], right = (<const int64_t*>other)[0]
    return (left > right) - (left < right)


cdef list in_order(list keys, Hash hash_of_key, uint32_t buckets):
    cdef Py_ssize_t count = len(keys), place
    cdef uint32_t value
    cdef int64_t[FEW] few
    cdef int64_t *places = few
    cdef array.array many
    if count > FEW:
        many = array.clone(NO_NUMBERS, count, False)
        places = <int64_t *>many.data.as_longlongs
    for place in range(count):
        value = hash_of_key(keys[place])
        value = (value ^ value >> 16) & (buckets - 1)
        places[place] = <int64_t>value << 32 | place
        if count <= FEW:
            put_in_order(places, place)
    if count > FEW:
        qsort(places, count, sizeof(int64_t), ascending)
    return [keys[places[place] & 0xFFFFFFFF] for place in range(count)]


cdef inline void put_in_order(int64_t *places, Py_ssize_t last) noexcept:
    """Move the last one to where it belongs among those before it."""
    cdef int64_t moved = places[last]
    while last > 0 and places[last - 1] > moved:
        places[last] = places[last - 1]
        last -= 1
    places[last] = moved
