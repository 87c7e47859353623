"""Mutants of what happens when a log directory fails while the server runs."""

from typing import Final

from tests.mutations.mutant import Mutant

FAILURES: Final = "coordinator/broker/directory_failures.py"
DISK: Final = "coordinator/log/disk_failure.py"
DIRECTORIES: Final = "coordinator/log/directories.py"
FLUSHER: Final = "coordinator/broker/log_flusher.py"
DATA: Final = "coordinator/server/handlers/data.py"
MARKERS: Final = "coordinator/transactions/markers.py"
COORDINATORS: Final = "coordinator/server/coordinators.py"

MUTANTS: Final = (
    Mutant(
        "a full disk takes its directory offline",
        DISK,
        'Final = ("EIO",',
        'Final = ("ENOSPC", "EIO",',
    ),
    Mutant(
        "a bad sector takes its directory offline",
        DISK,
        " and not (is_read and error.errno == OF_ONE_SECTOR)",
        "",
    ),
    Mutant(
        "a file that is missing takes its directory offline",
        FAILURES,
        "error.errno in NOT_FOUND and self._directories.is_gone(root)",
        "error.errno in NOT_FOUND",
    ),
    Mutant(
        "the server goes on without the directory of its metadata log",
        FAILURES,
        "return root != self._directories.metadata.root and bool(others)",
        "return bool(others)",
    ),
    Mutant(
        "the server goes on without any directory",
        FAILURES,
        "return root != self._directories.metadata.root and bool(others)",
        "return root != self._directories.metadata.root",
    ),
    Mutant(
        "an append is acknowledged although its fsync failed",
        DATA,
        "if self._node.partitions.some_are_offline:",
        "if False:",
    ),
    Mutant(
        "a failed fsync in one directory fails the appends in all",
        FLUSHER,
        "            if not self.directory_failed(failure, path):\n",
        "            if self.directory_failed(failure, path) or True:\n",
    ),
    Mutant(
        "a marker that may be lost ends its transaction",
        MARKERS,
        "if not self._leads(tp.topic, tp.partition)}",
        "if False}",
    ),
    Mutant(
        "groups of a failed directory are served",
        COORDINATORS,
        "if group_shard.state is not ShardState.INACTIVE and not is_led:",
        "if False:",
    ),
    Mutant(
        "the checkpoints of a failed directory are written",
        DIRECTORIES,
        "each: {} for each in self._files if each in self._directories.online",
        "each: {} for each in self._files",
    ),
)
