"""The clocks, and the timing wheel that returns the timers that are due."""

from coordinator.timers.clock import Clock, VirtualClock
from coordinator.timers.system_clock import SystemClock
from coordinator.timers.wheel import TimerWheel

__all__ = ["Clock", "SystemClock", "TimerWheel", "VirtualClock"]
