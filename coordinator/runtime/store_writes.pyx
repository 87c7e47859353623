"""Appends to the logs of a shard. Compiled, because each drain that stores anything makes one."""

from libc.stdint cimport int64_t

from coordinator.log.partition.log_end cimport LogEnd
from coordinator.wall_time cimport WallTime

from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.runtime.interfaces import StoreError


cdef class StoreWrites:
    cdef public object _state
    cdef public object _projection
    cdef public object _when_durable
    cdef public list held
    cdef object appended
    cdef object meter
    cdef object is_disk_failure
    cdef WallTime wall
    cdef LogEnd log
    cdef bint is_lingering
    cdef Py_ssize_t held_max

    def __init__(
        self, state, projection, *, appended, meter, when_durable, is_disk_failure, WallTime wall not None,
        Py_ssize_t held_max,
    ):
        self._state, self._projection, self.log = state, projection, state.log
        self.is_lingering = projection is not None and projection.is_lingering
        self.appended, self.meter, self._when_durable = appended, meter, when_durable
        self.is_disk_failure, self.wall, self.held_max = is_disk_failure, wall, held_max
        self.held = []

    @property
    def batch_bytes_max(self):
        config = self.log.config
        return min(config.max_message_bytes, config.segment_bytes)

    def append(self, projected, stored, int64_t now_ms, completed):
        if self.held or (self.is_lingering and not stored):
            self.held += projected
            if not stored and len(self.held) < self.held_max:
                completed(None)
                return
            projected, self.held = self.held, []
        problem = self._append(projected, stored, now_ms)
        if self._when_durable is None or problem is not None:
            completed(problem)
        else:
            self._when_durable(completed)

    @property
    def appends_at_once(self):
        return self._when_durable is None and not self.held

    def append_at_once(self, stored, int64_t now_ms):
        return self._append((), stored, now_ms)

    cpdef _append(self, projected, stored, int64_t now_ms):
        cdef int64_t at_ms = now_ms + self.wall.step_ms
        problem = None
        writing = self._state
        if self.meter is not None:
            self.meter.begin()
        try:
            if projected:
                writing = self._projection
                self.write(writing, projected, at_ms)
            if stored:
                writing = self._state
                self.write(writing, stored, at_ms)
        except (LogAppendError, RecordListTooLarge) as error:
            problem = StoreError(str(error), is_logged=self.is_disk_failure(writing.log, error))
            if self._projection is not None:
                self._projection.append_failed()
        if self.meter is not None:
            self.meter.end(len(projected), problem is not None)
        return problem

    cdef int write(self, stream, records, int64_t at_ms) except -1:
        cdef list batches = stream.build(records, at_ms)
        log = stream.log
        if len(batches) == 1:
            log.append_prebuilt(batches, at_ms)
        else:
            # In one piece as far as it fits into a segment: a disk that fails leaves all of a piece or nothing.
            for piece in pieces(batches, log.config.segment_bytes):
                log.append_prebuilt(piece, at_ms)
        self.appended(log)
        return 0


def pieces(list batches not None, int64_t bytes_max):
    """Split batches, in their order, into as few pieces as fit."""
    cdef list found = [], piece = []
    cdef int64_t piece_bytes = 0
    for batch in batches:
        if piece and piece_bytes + len(batch.data) > bytes_max:
            found.append(piece)
            piece, piece_bytes = [], 0
        piece.append(batch)
        piece_bytes += len(batch.data)
    found.append(piece)
    return found
