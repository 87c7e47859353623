"""Acquires records for members.

Counterpart in Kafka: `SharePartition.acquire`.
"""

from libc.stdint cimport int64_t

from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.pieces cimport (
    ACQUIRED_STATE, AVAILABLE_STATE, Lock, Piece, Record, deliver, is_free, new_lock, new_piece,
)

cdef enum:
    THROTTLED_FROM_LEAST = 2


cdef class AcquisitionLimits:
    def __init__(
        self, int max_records, int batch_size, bint is_record_limit, int delivery_count_limit, int record_locks_max
    ):
        self.max_records = max_records
        self.batch_size = max(batch_size, 0)
        self.is_record_limit = is_record_limit
        self.delivery_count_limit = delivery_count_limit
        self.record_locks_max = record_locks_max


def acquire(
    InFlightWindow window not None, member, AcquisitionLimits limits not None, int64_t fetch_offset,
    FetchedBatches read not None, int64_t deadline_ms, aborted=(),
):
    cdef list acquired = []
    count = acquire_read(window, member, limits, fetch_offset, read, deadline_ms, acquired)
    if aborted and acquired:
        acquired = archive_aborted(window, acquired, aborted)
        count = sum([last - first + 1 for first, last, _ in acquired])
    return acquired, count


cdef AcquisitionLimits limits_of(
    int max_records, int batch_size, bint is_record_limit, int delivery_count_limit, int record_locks_max
):
    cdef AcquisitionLimits limits = AcquisitionLimits.__new__(AcquisitionLimits)
    limits.max_records, limits.batch_size, limits.is_record_limit = max_records, max(batch_size, 0), is_record_limit
    limits.delivery_count_limit, limits.record_locks_max = delivery_count_limit, record_locks_max
    return limits


cdef int64_t acquire_read(
    InFlightWindow window, member, AcquisitionLimits limits, int64_t fetch_offset, FetchedBatches read,
    int64_t deadline_ms, list acquired,
) except -1:
    cdef int64_t last = read.bounds[read.count - 1].last_offset if read.count else -1
    cdef int64_t bound, room
    if limits.max_records <= 0 or read.count == 0 or last < window.start_offset:
        return 0
    room = limits.record_locks_max - window.in_flight()
    bound = min(<int64_t>limits.max_records, room)
    if bound <= 0:
        if fetch_offset > window.end_offset:
            return 0
        bound = min(<int64_t>limits.max_records, window.end_offset - fetch_offset + 1)
        last = min(last, window.end_offset)
    lock = new_lock(member, deadline_ms)
    return acquire_up_to(window, limits, bound, fetch_offset, last, read, lock, acquired)


cdef int64_t acquire_up_to(
    InFlightWindow window, AcquisitionLimits limits, int64_t bound, int64_t fetch_offset, int64_t last,
    FetchedBatches read, Lock lock, list acquired,
) except -1:
    cdef int64_t requested_first = read.bounds[0].base_offset, base = requested_first, gap, count = 0, more, pieces_end
    cdef Py_ssize_t index, end
    cdef Piece piece
    cdef bint comes_alone
    window.archive_holes(fetch_offset, base)
    index = window.index_after(base)
    if index == 0:
        base = max(base, window.start_offset)
    elif (<Piece>window.pieces[index - 1]).last >= base:
        base = (<Piece>window.pieces[index - 1]).first
    index = window.index_after(min(requested_first, base) - 1)
    end = window.index_after(last)
    if index >= end:
        return acquire_new(window, limits, bound, base, last, read, lock, acquired)
    gap = base
    pieces_end = (<Piece>window.pieces[end - 1]).last
    for piece in window.pieces[index:end]:
        if count >= bound:
            break
        if window.has_gap():
            if gap < piece.first:
                count += acquire_new(window, limits, bound - count, gap, piece.first - 1, read, lock, acquired)
            gap = piece.last + 1
            if count >= bound:
                break
        comes_alone = is_throttled(piece, requested_first, last, limits.delivery_count_limit)
        if comes_alone and count > 0:
            bound = 0
            break
        if (
            piece.first < requested_first or piece.last > last or piece.records != NULL or comes_alone
            or (limits.is_record_limit and piece.last - piece.first + 1 > bound - count)
        ):
            if piece.records == NULL:
                if not is_free(&piece.whole):
                    continue
                piece.split()
            more = acquire_records(window, piece, limits, bound - count, requested_first, last, lock, acquired)
            count += more
            if comes_alone and more > 0:
                bound = 0
                break
            continue
        if not is_free(&piece.whole):
            continue
        deliver(&piece.whole)
        piece.lock = lock
        window.keep_until(lock.deadline_ms)
        acquired.append((piece.first, piece.last, piece.whole.count))
        count += piece.last - piece.first + 1
    if count < bound and pieces_end < last:
        count += acquire_new(window, limits, bound - count, pieces_end + 1, last, read, lock, acquired)
    if acquired:
        window.move_gap(acquired[len(acquired) - 1][1] + 1)
    return count


cdef int64_t acquire_new(
    InFlightWindow window, AcquisitionLimits limits, int64_t bound, int64_t first, int64_t last, FetchedBatches read,
    Lock lock, list acquired,
) except -1:
    cdef int64_t limit = last
    if not window.pieces and window.end_offset > first:
        first = window.end_offset       # what lies before it has been acknowledged
    if bound < last - first + 1:
        last = read.end_of_batch_with(first + bound - 1)
        if window.has_gap() and last > limit:
            last = limit
    end = add_pieces(window, limits, bound, first, last, read, lock, acquired)
    if (<Piece>window.pieces[0]).first == first:
        window.start_offset = first
    window.end_offset = max(window.end_offset, last)
    window.move_gap(end + 1)
    return end - first + 1


cdef int64_t add_pieces(
    InFlightWindow window, AcquisitionLimits limits, int64_t bound, int64_t first, int64_t last, FetchedBatches read,
    Lock lock, list acquired,
) except? -1:
    # Returns the last offset that was acquired: in the mode record_limit it may lie before `last`.
    cdef int64_t base, offset = first
    cdef Py_ssize_t index
    cdef Piece piece
    window.keep_until(lock.deadline_ms)
    if not limits.is_record_limit:
        if last - first + 1 > limits.batch_size:
            for index in range(read.count):
                base = read.bounds[index].base_offset
                if base > last:
                    break
                if base - offset >= limits.batch_size:
                    window.put(new_piece(offset, base - 1, ACQUIRED_STATE, 1, lock))
                    acquired.append((offset, base - 1, 1))
                    offset = base
        window.put(new_piece(offset, last, ACQUIRED_STATE, 1, lock))
        acquired.append((offset, last, 1))
        return last
    piece = new_piece(first, last, ACQUIRED_STATE, 1, lock)
    if last - first + 1 > bound:
        piece.split()
        for index in range(<Py_ssize_t>bound, <Py_ssize_t>(last - first + 1)):
            piece.records[index].state = AVAILABLE_STATE
            piece.records[index].count = 0
            piece.locks[index] = None
        window.may_have_available = True
        last = first + bound - 1
    window.put(piece)
    acquired.append((first, last, 1))
    return last


cdef int64_t acquire_records(
    InFlightWindow window, Piece piece, AcquisitionLimits limits, int64_t bound, int64_t first, int64_t last, Lock lock,
    list acquired,
) except -1:
    cdef int limit = limits.delivery_count_limit, throttled_from = throttle_limit(limit)
    cdef int64_t size = piece.last - piece.first + 1, index, count = 0, throttled_most = -1
    cdef int64_t run_first = -1, run_last = -1
    cdef int run_count = 0
    cdef Record *record
    for index in range(max(first - piece.first, 0), min(last, piece.last) - piece.first + 1):
        record = &piece.records[index]
        if not is_free(record):
            continue
        if limit > 2 and record.count == limit - 1 and count > 0:
            break                       # its last delivery: it comes alone
        if record.count >= throttled_from and throttled_most < 0:
            throttled_most = max(1, size >> min(record.count - throttled_from + 1, 62))
        deliver(record)
        piece.locks[index] = lock
        count += 1
        if run_first >= 0 and piece.first + index == run_last + 1 and record.count == run_count:
            run_last += 1
        else:
            if run_first >= 0:
                acquired.append((run_first, run_last, run_count))
            run_first = run_last = piece.first + index
            run_count = record.count
        if limit > 2 and record.count == limit:
            break
        if (limits.is_record_limit and count == bound) or count == throttled_most:
            break
    if run_first >= 0:
        acquired.append((run_first, run_last, run_count))
        window.keep_until(lock.deadline_ms)
    return count


cdef bint is_throttled(Piece piece, int64_t first, int64_t last, int delivery_count_limit):
    cdef int throttled_from = throttle_limit(delivery_count_limit)
    cdef int64_t index
    if piece.records == NULL:
        return is_free(&piece.whole) and piece.whole.count >= throttled_from
    for index in range(max(first - piece.first, 0), min(last, piece.last) - piece.first + 1):
        if is_free(&piece.records[index]) and piece.records[index].count >= throttled_from:
            return True
    return False


cdef list archive_aborted(InFlightWindow window, list acquired, aborted):
    cdef int64_t first, last, aborted_first, aborted_last
    cdef Py_ssize_t index
    cdef list left
    for aborted_first, aborted_last in aborted:
        index = window.index_after(aborted_first)
        window.archive_range(aborted_first, aborted_last, max(index - 1, 0), ACQUIRED_STATE, True)
        left = []
        for first, last, count in acquired:
            if last < aborted_first or first > aborted_last:
                left.append((first, last, count))
                continue
            if first < aborted_first:
                left.append((first, aborted_first - 1, count))
            if last > aborted_last:
                left.append((aborted_last + 1, last, count))
        acquired = left
    return acquired


cdef inline int throttle_limit(int delivery_count_limit) noexcept:
    return max(THROTTLED_FROM_LEAST, (delivery_count_limit + 1) // 2)
