"""The window of a share partition: the records from its start offset to its end offset, and the state of each.

Counterpart in Kafka: `SharePartition`. Everything takes a time that is bounded by the records in the window: as many as
may be in flight (`group.share.partition.max.record.locks`), and at most one batch more.
"""

from libc.stdint cimport INT64_MAX, int64_t

from coordinator.broker.share.pieces cimport (
    AVAILABLE_STATE, ACQUIRED_STATE, Lock, Piece, Record, WRITING, archive, is_free, is_terminal, new_piece,
)


cdef class InFlightWindow:
    def __init__(self, int64_t start_offset, stored=()):
        cdef int64_t first, last, previous = start_offset - 1
        cdef int state, count
        self.start_offset = self.end_offset = start_offset
        self.deadline_ms = INT64_MAX
        self.gap_start = self.gap_end = -1
        self.pieces = []
        for first, last, state, count in stored:
            if first <= previous and self.pieces or first < start_offset or last < first:
                raise ValueError(f"the offsets {first} to {last} cannot be in flight after {previous}")
            if self.gap_start < 0 and first > previous + 1:
                self.gap_start = previous + 1
            previous = last
            self.pieces.append(new_piece(first, last, state, count, None))
            if is_terminal(state):
                self.complete_count += last - first + 1
        if self.pieces:
            self.may_have_available = True
            self.end_offset = self.gap_end = previous
            self.advance()

    # --------------------------------------------------------------------------------------------------------- looking

    @property
    def record_count(self):
        return self.in_flight()

    @property
    def piece_count(self):
        return len(self.pieces)

    cdef int64_t in_flight(self):
        return self.end_offset - self.start_offset + 1 if self.pieces else 0

    cdef bint has_gap(self) noexcept:
        return self.gap_start >= 0 and self.gap_end == self.end_offset

    cdef bint has_no_records(self):
        return not self.pieces or self.start_offset > (<Piece>self.pieces[len(self.pieces) - 1]).last

    def records(self):
        cdef Piece piece
        cdef Lock lock
        cdef Record record
        cdef int64_t offset
        found = []
        for piece in self.pieces:
            for offset in range(piece.first, piece.last + 1):
                record = piece.whole if piece.records == NULL else piece.records[offset - piece.first]
                lock = piece.lock if piece.records == NULL else <Lock>piece.locks[offset - piece.first]
                is_held = record.state == ACQUIRED_STATE and lock is not None
                found.append((offset, record.state, record.count, lock.member if is_held else None))
        return found

    def first_record(self):
        cdef Py_ssize_t index = self.index_after(self.start_offset) - 1
        cdef Piece piece
        cdef Record record
        if index < 0 or (<Piece>self.pieces[index]).last < self.start_offset:
            return None
        piece = <Piece>self.pieces[index]
        index = <Py_ssize_t>(self.start_offset - piece.first)
        record = piece.whole if piece.records == NULL else piece.records[index]
        lock = piece.lock if piece.records == NULL else <Lock>piece.locks[index]
        is_held = record.state == ACQUIRED_STATE and lock is not None
        return record.state, record.count, (<Lock>lock).member if is_held else None

    cpdef int64_t next_fetch_offset(self) except? -1:
        cdef Piece piece
        cdef int64_t index, gap
        if self.has_no_records():
            self.may_have_available = False
            return self.end_offset
        if not self.may_have_available:
            return self.end_offset + 1
        gap = self.gap_start if self.has_gap() else -1
        for piece in self.pieces:
            if gap >= 0:
                if piece.first > gap:
                    return gap
                gap = max(gap, piece.last + 1)
            # Below the start, a write that failed may have made free again what the log has no more.
            if piece.last < self.start_offset:
                continue
            if piece.records == NULL:
                if is_free(&piece.whole):
                    return max(piece.first, self.start_offset)
            else:
                for index in range(max(self.start_offset - piece.first, 0), piece.last - piece.first + 1):
                    if is_free(&piece.records[index]):
                        return piece.first + index
        self.may_have_available = False
        return self.end_offset + 1

    cpdef bint can_acquire(self, int record_locks_max) except -1:
        return self.next_fetch_offset() != self.end_offset + 1 or self.in_flight() < record_locks_max

    cdef Py_ssize_t index_after(self, int64_t offset):
        # The index of the first piece that begins after the offset.
        cdef Py_ssize_t low = 0, high = len(self.pieces), middle
        if high and (<Piece>self.pieces[high - 1]).first <= offset:
            return high
        while low < high:
            middle = (low + high) // 2
            if (<Piece>self.pieces[middle]).first <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    cdef int put(self, Piece piece) except -1:
        cdef Py_ssize_t index = self.index_after(piece.first)
        if index and (<Piece>self.pieces[index - 1]).first == piece.first:
            self.pieces[index - 1] = piece
        else:
            self.pieces.insert(index, piece)
        return 0

    cdef int keep_until(self, int64_t deadline_ms) noexcept:
        if deadline_ms < self.deadline_ms:
            self.deadline_ms = deadline_ms
        return 0

    cdef int64_t counted(self, int64_t first, int64_t last) noexcept:
        # Of a range, the records that `complete_count` counts.
        return last - max(first, self.start_offset) + 1 if last >= self.start_offset else 0

    cdef int move_gap(self, int64_t offset) noexcept:
        if self.gap_start >= 0:
            if self.gap_end == self.end_offset and offset <= self.gap_end:
                self.gap_start = offset
            else:
                self.gap_start = -1
        return 0

    # ------------------------------------------------------------------------------------------------------- archiving

    cdef int archive_holes(self, int64_t fetch_offset, int64_t base) except -1:
        # What was read begins after the offset that was asked for: compaction has removed the records between.
        cdef Py_ssize_t index
        if not self.pieces or fetch_offset >= base:
            return 0
        index = self.index_after(fetch_offset)
        if index and (<Piece>self.pieces[index - 1]).last >= fetch_offset:
            index -= 1
        if self.archive_range(fetch_offset, base - 1, index, AVAILABLE_STATE, True):
            self.may_have_available = True
        return 0

    cdef bint archive_range(self, int64_t first, int64_t last, Py_ssize_t index, int state, bint is_counted) except -1:
        cdef Piece piece
        cdef int64_t offset
        cdef bint found = False
        while index < len(self.pieces):
            piece = <Piece>self.pieces[index]
            index += 1
            if piece.first > last:
                break
            if piece.records == NULL:
                if piece.whole.state != state:
                    continue
                if piece.first >= first and piece.last <= last:
                    archive(&piece.whole)
                    found = True
                    if is_counted:
                        self.complete_count += piece.last - piece.first + 1
                    continue
                piece.split()
            for offset in range(max(first, piece.first), min(last, piece.last) + 1):
                if piece.records[offset - piece.first].state == state:
                    archive(&piece.records[offset - piece.first])
                    found = True
                    if is_counted:
                        self.complete_count += 1
        return found

    def move_start(self, int64_t log_start_offset):
        cdef Piece piece
        cdef int64_t offset
        if log_start_offset <= self.start_offset:
            return
        if not self.pieces:
            self.start_offset = self.end_offset = log_start_offset
            self.complete_count = 0
            return
        for piece in self.pieces:
            if piece.first >= log_start_offset:
                break
            for offset in range(max(piece.first, self.start_offset), min(piece.last, log_start_offset - 1) + 1):
                if is_terminal((piece.whole if piece.records == NULL else piece.records[offset - piece.first]).state):
                    self.complete_count -= 1
        if self.archive_range(self.start_offset, log_start_offset - 1, 0, AVAILABLE_STATE, False):
            self.may_have_available = True
        self.start_offset = log_start_offset
        self.end_offset = max(self.end_offset, log_start_offset)

    # ----------------------------------------------------------------------------------------------- moving the start

    cpdef bint advance(self) except -1:
        cdef Py_ssize_t removed = 0
        cdef int64_t last_done = -1, done_count = 0, offset
        cdef Piece piece
        cdef Record record
        cdef bint is_done = True
        if not self.starts_with_done():
            return False
        for piece in self.pieces:
            if self.has_gap() and piece.last >= self.gap_start:
                break
            if piece.records == NULL:
                if piece.whole.flags & WRITING or not is_terminal(piece.whole.state):
                    break
                last_done = piece.last
                done_count += self.counted(piece.first, piece.last)
            else:
                for offset in range(piece.first, piece.last + 1):
                    record = piece.records[offset - piece.first]
                    if record.flags & WRITING or not is_terminal(record.state):
                        is_done = False
                        break
                    last_done = offset
                    done_count += self.counted(offset, offset)
                if not is_done:
                    break
            removed += 1
        if last_done == -1:
            return False
        if removed == len(self.pieces):
            self.start_offset = self.end_offset = last_done + 1
            self.pieces = []
            self.complete_count = 0
            return True
        piece = <Piece>self.pieces[removed]
        if removed and last_done == (<Piece>self.pieces[removed - 1]).last:
            self.start_offset = max(self.start_offset, piece.first)
            if self.has_gap():
                self.start_offset = min(self.gap_start, self.start_offset)
        else:
            self.start_offset = max(self.start_offset, last_done + 1)
        self.complete_count -= done_count
        del self.pieces[:removed]
        return True

    cdef bint starts_with_done(self):
        cdef Py_ssize_t index = self.index_after(self.start_offset) - 1
        cdef Piece piece
        cdef Record record
        if index < 0:
            return False
        piece = <Piece>self.pieces[index]
        if piece.records == NULL:
            record = piece.whole
        elif piece.last < self.start_offset:
            return False
        else:
            record = piece.records[self.start_offset - piece.first]
        return not record.flags & WRITING and is_terminal(record.state)
