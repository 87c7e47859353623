"""What a node runs on: its clocks, and the descriptors and sockets that it may use."""

from collections.abc import Callable

import msgspec

from coordinator.front.descriptors import DescriptorReserve
from coordinator.inherited_sockets import InheritedSockets
from coordinator.timers.clock import Clock
from coordinator.timers.system_clock import SystemClock, wall_clock_ms


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a node, or what takes its place."""

    clock: Clock
    """The time of deadlines. It never goes back."""
    wall_ms: Callable[[], int] | None
    """What the system's clock shows, in milliseconds since the epoch; None: `clock` is that, too."""
    descriptors: DescriptorReserve
    inherited: InheritedSockets = msgspec.field(default_factory=InheritedSockets)
    """Listening sockets that are open already."""


def this_host(*, counts_suspension: bool = False) -> Host:
    """The clocks of this machine.

    `counts_suspension`: deadlines come though the machine is suspended, as where other machines wait for them.
    """
    return Host(clock=SystemClock(counts_suspension), wall_ms=wall_clock_ms, descriptors=DescriptorReserve())
