# cython: language_level=3
"""The timing wheel called as compiled code calls it, so that the caller is not what is measured."""

from cpython.list cimport PyList_GET_ITEM
from libc.stdint cimport int64_t, uint32_t, uint64_t

from coordinator.timers.wheel cimport TimerWheel


def fill(TimerWheel wheel not None, uint64_t[::1] timers, list keys not None, int64_t[::1] delays_ms):
    """Start a timer for each key; its number goes to the same place of `timers`."""
    cdef Py_ssize_t place
    for place in range(timers.shape[0]):
        timers[place] = wheel.start(<object>PyList_GET_ITEM(keys, place), wheel.now_ms + delays_ms[place])


def cancel_and_start(
    TimerWheel wheel not None, uint64_t[::1] timers, list keys not None, uint32_t[::1] order, int64_t[::1] delays_ms,
    Py_ssize_t starts_per_ms,
):
    """Cancel the timers in `order` and start each anew; time goes on by 1 ms after every `starts_per_ms`."""
    cdef Py_ssize_t turn
    cdef uint32_t place
    for turn in range(order.shape[0]):
        place = order[turn]
        wheel.cancel(timers[place])
        timers[place] = wheel.start(<object>PyList_GET_ITEM(keys, place), wheel.now_ms + delays_ms[turn])
        if turn % starts_per_ms == 0:
            wheel.advance(wheel.now_ms + 1)


def restart(
    TimerWheel wheel not None, uint64_t[::1] timers, uint32_t[::1] order, int64_t[::1] delays_ms,
    Py_ssize_t starts_per_ms,
):
    """Move the timers in `order`; time goes on by 1 ms after every `starts_per_ms`."""
    cdef Py_ssize_t turn
    for turn in range(order.shape[0]):
        wheel.restart(timers[order[turn]], wheel.now_ms + delays_ms[turn])
        if turn % starts_per_ms == 0:
            wheel.advance(wheel.now_ms + 1)


def expire(TimerWheel wheel not None, int64_t last_ms, int64_t step_ms):
    """Advance to `last_ms` in steps; how many timers came due."""
    cdef Py_ssize_t due = 0
    cdef int64_t now_ms = wheel.now_ms
    while now_ms < last_ms:
        now_ms += step_ms
        due += len(wheel.advance(now_ms))
    return due
