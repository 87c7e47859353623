"""A timer that is due when the lease is over, or before.

Connections answer heartbeats of members from memory, and look only whether any timer is due. With this one they never
do so after the lease.
"""

from collections.abc import Iterable

import msgspec

from coordinator.cluster.nodes.lease import Lease
from coordinator.timers.timers import Timers


class LeaseKey(msgspec.Struct, frozen=True):
    """The key of the timer; a node has one."""


class LeaseTimer:
    """Runs while this node leads partitions, and is set again when the lease was renewed meanwhile."""

    def __init__(self, lease: Lease, timers: Timers) -> None:
        self._lease = lease
        self._timers = timers
        self._is_running = False

    def gained(self, partitions: Iterable[int]) -> None:
        """This node leads partitions from now on."""
        self._start()

    timer_keys = (LeaseKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, LeaseKey):
            self._is_running = False
            self._start()

    def _start(self) -> None:
        if not self._is_running and self._lease.is_held:
            self._is_running = True
            self._timers.start(LeaseKey(), self._lease.until_ms)
