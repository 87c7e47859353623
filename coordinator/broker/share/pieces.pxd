from libc.stdint cimport INT16_MAX, int16_t, int64_t, uint8_t

import cython

cdef enum:
    AVAILABLE_STATE = 0                 # the numbers with which states are stored
    ACQUIRED_STATE = 1
    ACKNOWLEDGED_STATE = 2
    ARCHIVED_STATE = 4

    WRITING = 1                         # the new state is being stored: until then it is only in this window
    FINAL = 2                           # archived meanwhile: it stays so, whatever becomes of the write


cdef struct Record:
    int16_t count
    uint8_t state
    uint8_t flags


@cython.final
cdef class Lock:
    cdef object member
    cdef int64_t deadline_ms


@cython.final
cdef class Piece:
    cdef int64_t first, last
    cdef Record whole
    cdef Lock lock                      # of `whole`; kept while its end is being stored
    cdef Record *records                # NULL: all are as `whole` says
    cdef list locks

    cdef int split(self) except -1


cdef inline Lock new_lock(object member, int64_t deadline_ms):
    cdef Lock lock = Lock.__new__(Lock)
    lock.member = member
    lock.deadline_ms = deadline_ms
    return lock


cdef inline bint holds(Lock lock, object member):
    return lock is not None and (lock.member is member or lock.member == member)


cdef inline Piece new_piece(int64_t first, int64_t last, int state, int count, Lock lock):
    cdef Piece piece = Piece.__new__(Piece)
    piece.first = first
    piece.last = last
    piece.whole.state = <uint8_t>state
    piece.whole.count = <int16_t>count
    piece.whole.flags = 0
    piece.lock = lock
    return piece


cdef inline bint is_terminal(int state) noexcept:
    return state == ACKNOWLEDGED_STATE or state == ARCHIVED_STATE


cdef inline bint is_free(Record *record) noexcept:
    return record.state == AVAILABLE_STATE and not record.flags & WRITING


cdef inline int deliver(Record *record) noexcept:
    record.state = ACQUIRED_STATE
    if record.count < INT16_MAX:
        record.count += 1
    return 0


cdef inline int archive(Record *record) noexcept:
    record.state = ARCHIVED_STATE
    record.flags |= FINAL
    return 0


cdef inline uint8_t released_state(Record *record, int delivery_count_limit) noexcept:
    return ARCHIVED_STATE if record.count >= delivery_count_limit else AVAILABLE_STATE
