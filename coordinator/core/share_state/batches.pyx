"""The states of records, merged. Counterpart in Kafka: `PersisterStateBatchCombiner`.

Batches are kept packed, 24 bytes each: a state may have thousands, and each write merges all of them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, qsort, realloc

from coordinator.core.share_states import BY_STRATEGY, StateBatch

cdef int64_t NO_OFFSET = BY_STRATEGY


cdef struct Made:
    # What the merging makes, and takes up again at its place: a heap.
    Batch *batches
    Py_ssize_t count
    Py_ssize_t room


cpdef bytes packed(batches):
    cdef list given = list(batches)
    cdef Py_ssize_t count = len(given)
    cdef bytes result = PyBytes_FromStringAndSize(NULL, count * sizeof(Batch))
    cdef Batch *at = <Batch *>PyBytes_AS_STRING(result)
    cdef Py_ssize_t number
    for number in range(count):
        at[number].first, at[number].last, at[number].delivery_state, at[number].delivery_count = given[number]
    return result


def unpacked(bytes batches not None):
    cdef const Batch *at = <const Batch *>PyBytes_AS_STRING(batches)
    cdef Py_ssize_t number
    return tuple([
        StateBatch(at[number].first, at[number].last, at[number].delivery_state, at[number].delivery_count)
        for number in range(count_of(batches))
    ])


cpdef Py_ssize_t count_of(bytes batches) except -1:
    return PyBytes_GET_SIZE(batches) // <Py_ssize_t>sizeof(Batch)


cpdef bytes merged(bytes existing, bytes new, int64_t start_offset):
    cdef Py_ssize_t existing_count = count_of(existing), new_count = count_of(new), count = 0
    cdef Batch *batches = <Batch *>malloc((existing_count + new_count + 1) * sizeof(Batch))
    cdef Batch *result = NULL
    cdef Made made = Made(NULL, 0, 0)
    if batches == NULL:
        raise MemoryError()
    try:
        count = copy_from(start_offset, batches, count, <const Batch *>PyBytes_AS_STRING(existing), existing_count)
        count = copy_from(start_offset, batches, count, <const Batch *>PyBytes_AS_STRING(new), new_count)
        if count < 2:
            return PyBytes_FromStringAndSize(<char *>batches, count * sizeof(Batch))
        if not is_sorted(batches, count):
            qsort(batches, count, sizeof(Batch), compare)
        # Of n batches 2 n - 1 pieces are the most that can be told apart.
        result = <Batch *>malloc(2 * count * sizeof(Batch))
        if result == NULL:
            raise MemoryError()
        count = merge(batches, count, &made, result)
        return PyBytes_FromStringAndSize(<char *>result, count * sizeof(Batch))
    finally:
        free(batches)
        free(result)
        free(made.batches)


cdef Py_ssize_t copy_from(
    int64_t start_offset, Batch *copied, Py_ssize_t count, const Batch *batches, Py_ssize_t number
) noexcept nogil:
    """Add those batches that lie above the start offset, the first of them perhaps in part."""
    cdef Py_ssize_t position
    for position in range(number):
        if start_offset != NO_OFFSET:
            if batches[position].last < start_offset:
                continue
        copied[count] = batches[position]
        if start_offset != NO_OFFSET and copied[count].first < start_offset:
            copied[count].first = start_offset
        count += 1
    return count


cdef Py_ssize_t merge(const Batch *batches, Py_ssize_t count, Made *made, Batch *result) except -1:
    """Go through the batches, which are in order, each with the one after it; returns how many are left.

    Kafka looks for the first pair of neighbours that overlap, or touch and are equal, combines them, and looks again
    from there. So two equal ones stay apart if a third one between them lost.
    """
    cdef Batch before = batches[0], after
    cdef Py_ssize_t position = 1, found = 0
    cdef bint is_equal
    while position < count or made.count:
        if made.count and (position == count or compare(made.batches, batches + position) <= 0):
            after = pop(made)
        else:
            after = batches[position]
            position += 1
        is_equal = before.delivery_count == after.delivery_count and before.delivery_state == after.delivery_state
        if after.first > before.last and not (is_equal and after.first == before.last + 1):
            result[found] = before
            found += 1
            before = after
        elif is_equal:
            before.last = max(before.last, after.last)
        elif is_less(after, before):
            if after.last > before.last:
                after.first = before.last + 1
                push(made, after)
        else:
            before = cut_in(before, after, made)
    result[found] = before
    return found + 1


cdef bint is_less(Batch one, Batch other) noexcept nogil:
    """Whether the other one counts where both are."""
    if one.delivery_count != other.delivery_count:
        return one.delivery_count < other.delivery_count
    return one.delivery_state < other.delivery_state


cdef Batch cut_in(Batch before, Batch after, Made *made) except *:
    """`after` counts where both are; it begins no earlier. Returns the first of the two or three pieces."""
    cdef Batch first = before, rest = before
    if before.last > after.last:
        rest.first = after.last + 1
        push(made, rest)
    if before.first == after.first:
        return after
    push(made, after)
    first.last = after.first - 1
    return first


cdef bint is_sorted(const Batch *batches, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(1, count):
        if compare(batches + number - 1, batches + number) > 0:
            return False
    return True


cdef int compare(const void *one, const void *other) noexcept nogil:
    """By first offset, last offset, count, state (`PersisterStateBatch.compareTo`)."""
    cdef const Batch *a = <const Batch *>one
    cdef const Batch *b = <const Batch *>other
    if a.first != b.first:
        return -1 if a.first < b.first else 1
    if a.last != b.last:
        return -1 if a.last < b.last else 1
    if a.delivery_count != b.delivery_count:
        return -1 if a.delivery_count < b.delivery_count else 1
    return (a.delivery_state > b.delivery_state) - (a.delivery_state < b.delivery_state)


cdef int push(Made *made, Batch batch) except -1:
    cdef Batch *more
    cdef Py_ssize_t at = made.count, parent
    if made.count == made.room:
        more = <Batch *>realloc(made.batches, (2 * made.room + 16) * sizeof(Batch))
        if more == NULL:
            raise MemoryError()
        made.batches, made.room = more, 2 * made.room + 16
    made.count += 1
    while at > 0:
        parent = (at - 1) // 2
        if compare(made.batches + parent, &batch) <= 0:
            break
        made.batches[at] = made.batches[parent]
        at = parent
    made.batches[at] = batch
    return 0


cdef Batch pop(Made *made) noexcept:
    cdef Batch top = made.batches[0], last
    cdef Py_ssize_t at = 0, child
    made.count -= 1
    last = made.batches[made.count]
    while True:
        child = 2 * at + 1
        if child >= made.count:
            break
        if child + 1 < made.count and compare(made.batches + child + 1, made.batches + child) < 0:
            child += 1
        if compare(&last, made.batches + child) <= 0:
            break
        made.batches[at] = made.batches[child]
        at = child
    made.batches[at] = last
    return top
