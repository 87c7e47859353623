"""What a node runs on: its clocks, its files, and whether threads may use them."""

from collections.abc import Callable

import msgspec

from coordinator.inherited_sockets import InheritedSockets
from coordinator.log.disk_threads import Run, run_in_threads, run_in_turn
from coordinator.log.files import DiskFileSystem, FileSystem
from coordinator.server.descriptors import DescriptorReserve, files_of_the_logs
from coordinator.timers.clock import Clock
from coordinator.timers.system_clock import SystemClock, wall_clock_ms

FILES_OF_A_RECOVERY = 64
"""How many files each thread has open that recovers logs; no other logs are open at that time."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a node, or what takes its place."""

    clock: Clock
    """The time of deadlines. It never goes back."""
    wall_ms: Callable[[], int] | None
    """What the system's clock shows, in milliseconds since the epoch; None: `clock` is that, too."""
    files: FileSystem
    descriptors: DescriptorReserve
    recovery_files: Callable[[], FileSystem] | None
    """Makes the files of a thread that recovers logs at the start; None: threads may not use files, as in memory."""
    inherited: InheritedSockets = msgspec.field(default_factory=InheritedSockets)
    """Listening sockets that are open already."""

    @property
    def has_threads(self) -> bool:
        """Whether threads work on the files, beside the event loop."""
        return self.recovery_files is not None

    @property
    def run(self) -> Run:
        """How work on many files is run at a stop."""
        return run_in_threads if self.has_threads else run_in_turn


def this_host(inherited: InheritedSockets | None = None, *, counts_suspension: bool = False) -> Host:
    """The clocks and the disks of this machine, and what its service manager has opened.

    `counts_suspension`: deadlines come though the machine is suspended, as where other machines wait for them.
    """
    disk = DiskFileSystem(files_of_the_logs())
    return Host(
        clock=SystemClock(counts_suspension),
        wall_ms=wall_clock_ms,
        files=disk,
        descriptors=DescriptorReserve(disk.open_count),
        recovery_files=lambda: DiskFileSystem(FILES_OF_A_RECOVERY),
        inherited=inherited or InheritedSockets(),
    )


def host_in_memory(clock: Clock, files: FileSystem) -> Host:
    """A host with one clock, whose files are for the event loop alone."""
    return Host(clock=clock, wall_ms=None, files=files, descriptors=DescriptorReserve(), recovery_files=None)
