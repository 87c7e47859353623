"""Time for the rest of the program: the clocks, and the wheel that says which timers are due."""

from coordinator.timers.clock import Clock, VirtualClock
from coordinator.timers.system_clock import SystemClock
from coordinator.timers.wheel import TimerWheel

__all__ = ["Clock", "SystemClock", "TimerWheel", "VirtualClock"]
