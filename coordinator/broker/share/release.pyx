"""Ends what members have acquired: they acknowledge it or are gone, or their locks end.

Counterparts in Kafka: `acknowledge`, `releaseAcquiredRecords`, `releaseAcquisitionLockOnTimeout` (`SharePartition`).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int8_t, int64_t

from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.pieces cimport (
    ACKNOWLEDGED_STATE, ACQUIRED_STATE, ARCHIVED_STATE, AVAILABLE_STATE, FINAL, Lock, Piece, Record, WRITING, holds,
    is_terminal, new_lock, released_state,
)
from coordinator.broker.share.record_counts cimport (
    DISCONNECTED_BY, LOCK_ENDED_BY, REJECTED_BY, RELEASED_BY, RecordCounts,
)

cdef enum:
    GAP_TYPE = 0
    ACCEPT_TYPE = 1
    RELEASE_TYPE = 2
    REJECT_TYPE = 3
    RENEW_TYPE = 4

NOT_ACQUIRED = NOT_ACQUIRED_CODE
BEYOND_THE_WINDOW = BEYOND_THE_WINDOW_CODE
UNKNOWN_TYPE = UNKNOWN_TYPE_CODE


def acknowledge(
    InFlightWindow window not None, member, list batches not None, list changes not None, int delivery_count_limit,
    renewed_until_ms, RecordCounts counts=None,
):
    cdef Lock renewed = None if renewed_until_ms is None else new_lock(member, renewed_until_ms)
    cdef bytes types
    cdef int error
    for batch in batches:
        types = types_of(<list>batch.acknowledge_types)
        error = acknowledge_batch(
            window, member, batch.first_offset, batch.last_offset, <const int8_t *>PyBytes_AS_STRING(types),
            PyBytes_GET_SIZE(types), changes, delivery_count_limit, renewed, counts,
        )
        if error:
            return error
    return 0


cdef bytes types_of(list types):
    cdef bytes packed = PyBytes_FromStringAndSize(NULL, len(types))
    cdef int8_t *out = <int8_t *>PyBytes_AS_STRING(packed)
    cdef Py_ssize_t number
    for number in range(len(types)):
        out[number] = types[number]
    return packed


cdef int acknowledge_batch(
    InFlightWindow window, member, int64_t first, int64_t last, const int8_t *types, Py_ssize_t type_count,
    list changes, int delivery_count_limit, Lock renewed, RecordCounts counts,
) except -1:
    cdef Py_ssize_t index, last_index
    cdef Piece piece
    cdef int error
    if type_count == 0 or type_count > 1 and type_count != last - first + 1:
        return UNKNOWN_TYPE_CODE
    if last < window.start_offset:
        return 0
    index = window.index_after(first) - 1
    if index < 0:
        if not (first < window.start_offset <= last):
            return NOT_ACQUIRED_CODE
        index = window.index_after(window.start_offset) - 1
        if index < 0:
            return NOT_ACQUIRED_CODE
    last_index = window.index_after(last) - 1
    if last_index < index or last > (<Piece>window.pieces[last_index]).last:
        return BEYOND_THE_WINDOW_CODE
    if (<Piece>window.pieces[last_index]).last < first:
        return BEYOND_THE_WINDOW_CODE
    while index <= last_index:
        piece = <Piece>window.pieces[index]
        index += 1
        if piece.last < window.start_offset:
            continue
        error = acknowledge_piece(
            window, member, piece, first, last, types, type_count, changes, delivery_count_limit, renewed, counts
        )
        if error:
            return error
    return 0


cdef int acknowledge_piece(
    InFlightWindow window, member, Piece piece, int64_t first, int64_t last, const int8_t *types,
    Py_ssize_t type_count, list changes, int delivery_count_limit, Lock renewed, RecordCounts counts,
) except -1:
    cdef bint is_per_offset = type_count > 1
    cdef int64_t offset, from_offset
    cdef int kind = types[0], error
    cdef Record *record
    if piece.records == NULL:
        if piece.whole.state != ACQUIRED_STATE or piece.whole.flags & WRITING or not holds(piece.lock, member):
            return NOT_ACQUIRED_CODE
        if piece.first >= first and piece.last <= last and not is_per_offset and piece.first >= window.start_offset:
            error = end_or_renew(window, &piece.whole, kind, delivery_count_limit, renewed)
            if error:
                return error
            if kind == RENEW_TYPE:
                piece.lock = renewed
                if counts is not None:
                    counts.renewed += piece.last - piece.first + 1
            else:
                note_change(changes, piece.first, piece.last, piece.whole.state, piece.whole.count)
                if counts is not None:
                    count_end(counts, kind, &piece.whole, piece.first, piece.last)
                if is_terminal(piece.whole.state):
                    window.complete_count += piece.last - piece.first + 1
            return 0
        piece.split()
    from_offset = max(max(first, piece.first), window.start_offset)
    for offset in range(from_offset, min(last, piece.last) + 1):
        record = &piece.records[offset - piece.first]
        if record.state != ACQUIRED_STATE or record.flags & WRITING:
            return NOT_ACQUIRED_CODE
        if not holds(<Lock>piece.locks[offset - piece.first], member):
            return NOT_ACQUIRED_CODE
        if is_per_offset:
            kind = types[offset - first]
        error = end_or_renew(window, record, kind, delivery_count_limit, renewed)
        if error:
            return error
        if kind == RENEW_TYPE:
            piece.locks[offset - piece.first] = renewed
            if counts is not None:
                counts.renewed += 1
        else:
            note_change(changes, offset, offset, record.state, record.count)
            if counts is not None:
                count_end(counts, kind, record, offset, offset)
            if is_terminal(record.state):
                window.complete_count += 1
    return 0


cdef int end_or_renew(
    InFlightWindow window, Record *record, int kind, int delivery_count_limit, Lock renewed,
) except -1:
    if kind == RENEW_TYPE:
        if renewed is None:
            return NOT_ACQUIRED_CODE
        window.keep_until(renewed.deadline_ms)
        return 0
    if kind == ACCEPT_TYPE:
        record.state = ACKNOWLEDGED_STATE
    elif kind == GAP_TYPE or kind == REJECT_TYPE:
        record.state = ARCHIVED_STATE
    elif kind == RELEASE_TYPE:
        record.state = released_state(record, delivery_count_limit)
    else:
        return UNKNOWN_TYPE_CODE
    record.flags |= WRITING
    return 0


cdef int count_end(RecordCounts counts, int kind, Record *record, int64_t first, int64_t last) except -1:
    if kind == ACCEPT_TYPE:
        counts.accepted += last - first + 1
    elif kind == REJECT_TYPE:
        counts.ended(first, last, record.count, False, REJECTED_BY)
    elif kind == RELEASE_TYPE:
        counts.ended(first, last, record.count, record.state == ARCHIVED_STATE, RELEASED_BY)
    return 0                            # a gap is no record


def release(
    InFlightWindow window not None, member, int delivery_count_limit, RecordCounts counts=None,
    int ended_by=DISCONNECTED_BY,
):
    cdef Piece piece
    cdef int64_t offset
    cdef Record *record
    cdef list changes = []
    for piece in window.pieces:
        if piece.records == NULL:
            if piece.whole.state != ACQUIRED_STATE or not holds(piece.lock, member):
                continue
            if piece.first >= window.start_offset or piece.last < window.start_offset:
                end_lock(
                    window, &piece.whole, piece.first, piece.last, delivery_count_limit, changes, counts, ended_by
                )
                piece.whole.flags |= WRITING
                continue
            piece.split()
        for offset in range(piece.first, piece.last + 1):
            record = &piece.records[offset - piece.first]
            if record.state != ACQUIRED_STATE or not holds(<Lock>piece.locks[offset - piece.first], member):
                continue
            end_lock(window, record, offset, offset, delivery_count_limit, changes, counts, ended_by)
            record.flags |= WRITING
    return changes


def expire(
    InFlightWindow window not None, int64_t now_ms, int delivery_count_limit, int64_t most=INT64_MAX, counts_of=None,
):
    cdef Piece piece
    cdef int64_t offset, next_ms = INT64_MAX
    cdef Record *record
    cdef Lock lock
    cdef RecordCounts counts
    cdef list changes = []
    for piece in window.pieces:
        if piece.records == NULL:
            if piece.whole.state != ACQUIRED_STATE:
                continue
            if piece.lock.deadline_ms > now_ms:
                next_ms = min(next_ms, piece.lock.deadline_ms)
                continue
            if piece.first >= window.start_offset or piece.last < window.start_offset:
                counts = None if counts_of is None else counts_of(piece.lock.member)
                end_lock(
                    window, &piece.whole, piece.first, piece.last, delivery_count_limit, changes, counts, LOCK_ENDED_BY
                )
                piece.lock = None
                most -= 1
                if most == 0:
                    return changes
                continue
            piece.split()
        for offset in range(piece.first, piece.last + 1):
            record = &piece.records[offset - piece.first]
            if record.state != ACQUIRED_STATE:
                continue
            lock = <Lock>piece.locks[offset - piece.first]
            if lock.deadline_ms > now_ms:
                next_ms = min(next_ms, lock.deadline_ms)
                continue
            counts = None if counts_of is None else counts_of(lock.member)
            end_lock(window, record, offset, offset, delivery_count_limit, changes, counts, LOCK_ENDED_BY)
            piece.locks[offset - piece.first] = None
            most -= 1
            if most == 0:
                return changes
    window.deadline_ms = next_ms
    return changes


cdef int end_lock(
    InFlightWindow window, Record *record, int64_t first, int64_t last, int delivery_count_limit, list changes,
    RecordCounts counts, int ended_by,
) except -1:
    record.state = ARCHIVED_STATE if last < window.start_offset else released_state(record, delivery_count_limit)
    if is_terminal(record.state):
        window.complete_count += window.counted(first, last)
    else:
        window.may_have_available = True
    note_change(changes, first, last, record.state, record.count)
    if counts is not None and last >= window.start_offset:
        counts.ended(first, last, record.count, record.state == ARCHIVED_STATE, ended_by)
    return 0


cpdef int complete(
    InFlightWindow window, list changes, bint is_stored, int64_t now_ms, int delivery_count_limit
) except -1:
    cdef int64_t first, last, offset
    cdef int state
    cdef Py_ssize_t index
    cdef Piece piece
    for first, last, state, _ in changes:
        index = max(window.index_after(first) - 1, 0)
        while index < len(window.pieces):
            piece = <Piece>window.pieces[index]
            index += 1
            if piece.first > last:
                break
            if piece.records == NULL:
                if piece.whole.flags & WRITING and piece.last >= first:
                    if end_writing(window, &piece.whole, piece.lock, is_stored, now_ms, delivery_count_limit):
                        piece.lock = None
                    uncount(window, state, piece.whole.state, piece.first, piece.last)
                continue
            for offset in range(max(first, piece.first), min(last, piece.last) + 1):
                if not piece.records[offset - piece.first].flags & WRITING:
                    continue
                lock = <Lock>piece.locks[offset - piece.first]
                if end_writing(
                    window, &piece.records[offset - piece.first], lock, is_stored, now_ms, delivery_count_limit
                ):
                    piece.locks[offset - piece.first] = None
                uncount(window, state, piece.records[offset - piece.first].state, offset, offset)
    return 0


cdef bint end_writing(
    InFlightWindow window, Record *record, Lock lock, bint is_stored, int64_t now_ms, int delivery_count_limit
):
    # Returns whether the lock has ended.
    record.flags &= ~WRITING
    if is_stored or record.flags & FINAL:
        if record.state == AVAILABLE_STATE:
            window.may_have_available = True
        return True
    if lock is None or lock.deadline_ms <= now_ms:
        record.state = released_state(record, delivery_count_limit)
        if record.state == AVAILABLE_STATE:
            window.may_have_available = True
        return True
    record.state = ACQUIRED_STATE
    window.keep_until(lock.deadline_ms)
    return False


cdef int uncount(InFlightWindow window, int stored_state, int state, int64_t first, int64_t last) noexcept:
    if is_terminal(stored_state) and not is_terminal(state):
        window.complete_count -= window.counted(first, last)
    return 0


cdef inline int note_change(list changes, int64_t first, int64_t last, int state, int count) except -1:
    # Neighbours in the same state are stored as one batch.
    cdef tuple before
    if changes:
        before = <tuple>changes[len(changes) - 1]
        if before[1] == first - 1 and before[2] == state and before[3] == count:
            changes[len(changes) - 1] = (before[0], last, state, count)
            return 0
    changes.append((first, last, state, count))
    return 0
