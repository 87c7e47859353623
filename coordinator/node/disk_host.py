"""What a node with logs of its own runs on: a host with files, and whether threads may use them."""

from collections.abc import Callable

from coordinator.front.descriptors import DescriptorReserve, files_of_the_logs
from coordinator.front.host import Host
from coordinator.inherited_sockets import InheritedSockets
from coordinator.log.disk_threads import Run, run_in_threads, run_in_turn
from coordinator.log.files import DiskFileSystem, FileSystem
from coordinator.timers.clock import Clock
from coordinator.timers.system_clock import SystemClock, wall_clock_ms

FILES_OF_A_RECOVERY = 64
"""How many files each thread has open that recovers logs; no other logs are open at that time."""


class DiskHost(Host, frozen=True, kw_only=True):
    """The machine of a node with its files, or what takes its place."""

    files: FileSystem
    recovery_files: Callable[[], FileSystem] | None
    """Makes the files of a thread that recovers logs at the start; None: threads may not use files, as in memory."""

    @property
    def has_threads(self) -> bool:
        """Whether threads work on the files, beside the event loop."""
        return self.recovery_files is not None

    @property
    def run(self) -> Run:
        """How work on many files is run at a stop."""
        return run_in_threads if self.has_threads else run_in_turn


def this_disk_host(inherited: InheritedSockets | None = None) -> DiskHost:
    """The clocks and the disks of this machine, and what its service manager has opened."""
    disk = DiskFileSystem(files_of_the_logs())
    return DiskHost(
        clock=SystemClock(),
        wall_ms=wall_clock_ms,
        files=disk,
        descriptors=DescriptorReserve(disk.open_count),
        recovery_files=lambda: DiskFileSystem(FILES_OF_A_RECOVERY),
        inherited=inherited or InheritedSockets(),
    )


def host_in_memory(clock: Clock, files: FileSystem) -> DiskHost:
    """A host with one clock, whose files are for the event loop alone."""
    return DiskHost(clock=clock, wall_ms=None, files=files, descriptors=DescriptorReserve(), recovery_files=None)
