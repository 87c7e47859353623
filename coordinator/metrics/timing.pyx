"""What is measured for each batch of the coordinator: compiled, as it runs for nearly each request."""

cimport cython
from libc.stdint cimport int64_t

from coordinator.metrics.request_meter cimport monotonic_ns

from coordinator.core.offsets.events import OffsetsCommitted

cdef object OFFSETS_COMMITTED = OffsetsCommitted


@cython.final
cdef class TimeHistogram:

    def __init__(self, bounds_ms):
        if len(bounds_ms) > BOUNDS_MAX:
            raise ValueError(f"more than {BOUNDS_MAX} bounds")
        self.bounds_ms = tuple(bounds_ms)
        self.bound_count = len(self.bounds_ms)
        for position, bound_ms in enumerate(self.bounds_ms):
            self.bounds_ns[position] = <int64_t>(bound_ms * 1e6)

    cdef void observe_ns(self, int64_t time_ns) noexcept:
        cdef int bound = 0
        while bound < self.bound_count and time_ns > self.bounds_ns[bound]:
            bound += 1
        self.counts[bound] += 1
        self.sum_ns += time_ns

    def observe(self, double time_ms):
        self.observe_ns(<int64_t>(time_ms * 1e6))

    @property
    def range_counts(self):
        return [self.counts[bound] for bound in range(self.bound_count + 1)]

    @property
    def sum_ms(self):
        return self.sum_ns / 1e6


@cython.final
cdef class AppendMeter:

    def __init__(self, TimeHistogram times not None):
        self.times = times

    def begin(self):
        self.began_ns = monotonic_ns()

    def end(self, int64_t audit_events, bint failed):
        self.times.observe_ns(monotonic_ns() - self.began_ns)
        if failed:
            self.failures += 1
        else:
            self.audit_events += audit_events


@cython.final
cdef class DrainMeter:

    def __init__(self, request_iteration, TimeHistogram queue_times not None, TimeHistogram processing_times not None):
        self.request = request_iteration
        self.queue_times = queue_times
        self.processing_times = processing_times

    def request_iteration(self):
        if self.requested_ns == 0:
            self.requested_ns = monotonic_ns()
        self.request()

    def timed(self, drain):
        self.drain = drain
        return self.measure

    def measure(self, now_ms):
        cdef int64_t requested_ns = self.requested_ns, began_ns
        if requested_ns == 0:
            self.drain(now_ms)
            return
        self.requested_ns = 0
        began_ns = monotonic_ns()
        self.drain(now_ms)
        self.queue_times.observe_ns(began_ns - requested_ns)
        self.processing_times.observe_ns(monotonic_ns() - began_ns)


cdef class EventMeter:

    def __init__(self, dict counted not None):
        self.counted = counted

    def applied(self, events, state):
        for event in events:
            event_type = type(event)
            if event_type is OFFSETS_COMMITTED:
                for offsets in (<dict>event.offsets).values():
                    self.offset_commits += len(offsets)
            else:
                count = self.counted.get(event_type)
                if count is not None:
                    count(self, event, state)
