"""What each request does with a share partition: whether there is something to fetch, its writes, and its timer.

A write that says an earlier start may be tried again, and come after one that says a later one: then what lies between
the starts would be lost. So such writes wait for each other.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t

from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.reading cimport LogReading

from _wire.errors import NONE, MalformedMessage
from coordinator.broker.data.producers import ProducerStates
from coordinator.broker.share.share_partition_parts import LockTimeoutKey, Phase
from coordinator.log.errors import OffsetOutOfRange

cdef enum:
    NO_TIMER = 0

cdef object LOADING = Phase.LOADING
cdef object ACTIVE = Phase.ACTIVE
cdef tuple CANNOT_READ = (OffsetOutOfRange, OSError, MalformedMessage)


cdef class SharePartitionCore:
    def __init__(self, key, log, parts, waiting):
        self.key, self.log, self._parts, self.waiting = key, log, parts, waiting
        self.phase, self.load_error = LOADING, NONE
        self.window, self.reading = InFlightWindow(0), LogReading(log)
        self.write_state = parts.states.writer(*key)
        self._leader_epoch = parts.partitions.leader_epoch
        self.to_write = []

    # ----------------------------------------------------------------------------------------------------------- fetch

    def can_be_fetched(self, settings):
        return self.can_fetch(settings.record_locks_max)

    cdef bint can_fetch(self, int record_locks_max) except -1:
        return self.phase is ACTIVE and not self.is_fetching and self.window.can_acquire(record_locks_max)

    def available_bytes(self, settings):
        return self.bytes_available(settings.is_committed)

    cdef int64_t bytes_available(self, bint is_committed) except -2:
        cdef int64_t offset = self.window.next_fetch_offset(), served_bytes
        if self.reading.begins_before_log(offset):
            return -1
        served_bytes = self.log.appended_bytes
        if self.log._flush_trigger.durable_only:
            served_bytes = self.log.served_bytes
        if is_committed:
            producers = self.log.open_transactions
            if isinstance(producers, ProducerStates):
                served_bytes = min(served_bytes, <int64_t>producers.stable_bytes(self.log.appended_bytes))
        try:
            return self.reading.available_bytes(offset, served_bytes)
        except CANNOT_READ:
            return -1

    @property
    def tally(self):
        return self.current_tally()

    cdef object current_tally(self):
        tally = self._tally
        if tally is None or tally.is_over:
            tally = self._tally = self._parts.tallies.of(self)
        return tally

    # ---------------------------------------------------------------------------------------------------------- writes

    def write(self, list changes not None, stored):
        self.write_or_wait(changes, stored)

    cdef int write_or_wait(self, list changes, stored) except -1:
        if self.writes and self.window.start_offset != self.writes_start:
            self.to_write.append((changes, stored))
            return 0
        return self.send(changes, stored)

    cdef int send(self, list changes, stored) except -1:
        cdef Written written = Written.__new__(Written)
        written.share_partition, written.stored = self, stored
        self.writes += 1
        self.writes_start = self.window.start_offset
        self.write_state(
            self._state_epoch, self._leader_epoch, self.window.start_offset, self.window.complete_count, changes,
            written,
        )
        return 0

    cdef int written(self, stored, answer) except -1:
        cdef list waiting, changes
        self.writes -= 1
        stored(answer)
        if self.writes or not self.to_write:
            return 0
        waiting, self.to_write = self.to_write, []
        changes = [change for more, _ in waiting for change in <list>more]

        def answer_all(answer):
            for _, stored in waiting:
                stored(answer)

        return self.send(changes, answer_all)

    # ----------------------------------------------------------------------------------------------------------- timer

    def arm_timer(self):
        self.arm()

    cdef int arm(self) except -1:
        cdef int64_t deadline_ms = self.window.deadline_ms
        if deadline_ms == INT64_MAX or (self.timer_ms and self.timer_ms <= deadline_ms):
            return 0
        self.stop_timer()
        self.timer = self._parts.timers.start(LockTimeoutKey(self), deadline_ms)
        self.timer_ms = deadline_ms
        return 0

    def stop_timer(self):
        if self.timer_ms:
            self._parts.timers.cancel(self.timer)
            self.timer_ms = NO_TIMER

    def timer_fired(self):
        self.timer_ms = NO_TIMER


@cython.final
@cython.freelist(8)
cdef class Written:
    """What a write under way calls when it is stored, or is not."""

    cdef SharePartitionCore share_partition
    cdef object stored

    def __call__(self, answer):
        self.share_partition.written(self.stored, answer)
