"""The threads that work beside the event loop of a node with logs of its own."""

from coordinator.broker.data.recompression_threads import RUNNING_MAX
from coordinator.front.node_loop import NodeLoop
from coordinator.log.disk_threads import DiskThreads, InLine


class NodeThreads:
    """Each is started when it is first needed."""

    def __init__(self, loop: NodeLoop, *, may_use_files: bool) -> None:
        self.disk = DiskThreads(loop.deliver)
        """For flushes, which any file system bears."""
        self.may_use_files = may_use_files
        """Whether threads read and write beside the loop."""
        self.files: DiskThreads | InLine = self.disk if may_use_files else InLine()
        self.compression = DiskThreads(loop.deliver, RUNNING_MAX, name="compression")

    def stop(self) -> None:
        """Take no more work, and return when what was begun has ended."""
        self.disk.stop()
        self.compression.stop()

    def abandon(self) -> None:
        """Take no more work, and wait for none."""
        self.disk.stop(wait=False)
        self.compression.stop(wait=False)
