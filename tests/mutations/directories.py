"""Mutants of what happens when a log directory fails while the server runs, and of moves between directories."""

from typing import Final

from tests.mutations.mutant import Mutant

FAILURES: Final = "coordinator/broker/directory_failures.py"
DISK: Final = "coordinator/log/data_dirs/disk_failure.py"
SPLIT_CHECKPOINT: Final = "coordinator/log/data_dirs/split_checkpoint.py"
FLUSHER: Final = "coordinator/broker/log_flusher.py"
DATA: Final = "coordinator/server/handlers/data.py"
MARKERS: Final = "coordinator/transactions/markers.py"
COORDINATORS: Final = "coordinator/server/coordinators.py"
LOG_HOMES: Final = "coordinator/log/data_dirs/log_homes.py"
FUTURE_LOG: Final = "coordinator/log/future_log.py"
MOVES: Final = "coordinator/broker/replica_moves.py"

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
        "            if not self._disk_errors.flush_failed(failure, path):\n",
        "            if self._disk_errors.flush_failed(failure, path) or True:\n",
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
        SPLIT_CHECKPOINT,
        "each: {} for each in self._files if each in self._directories.online",
        "each: {} for each in self._files",
    ),
    Mutant(
        "a copy counts although the directory of the log is offline",
        LOG_HOMES,
        "if source not in self._ids and self._assigned.is_known(source):",
        "if False:",
    ),
    Mutant(
        "a copy without its log is removed",
        LOG_HOMES,
        "            directory.promote(*key, folder)\n",
        "            self._fs.remove_tree(directory.discard(folder))\n            return\n",
    ),
    Mutant(
        "of two logs that nobody has moved one is removed",
        LOG_HOMES,
        "        if len(moves) != 1:\n",
        "        moves = moves or [(one, other)]\n        if len(moves) != 1:\n",
    ),
    Mutant(
        "a copy of another topic of this name goes on",
        LOG_HOMES,
        "or not self._is_of_topic(home, key, folder)",
        "",
    ),
    Mutant(
        "a move ends before its copy is on stable storage",
        MOVES,
        "            make_safe()\n            write_checkpoints()\n",
        "            write_checkpoints()\n",
    ),
    Mutant(
        "a moved log has its deleted records again after a crash",
        MOVES,
        "            make_safe()\n            write_checkpoints()\n",
        "            make_safe()\n",
    ),
    Mutant(
        "what is appended at the end of a move is lost",
        FUTURE_LOG,
        "                portion.run(flush=False)\n",
        "                pass\n",
    ),
    Mutant(
        "a copy keeps the segments that retention has deleted",
        FUTURE_LOG,
        "                remove_segment_files(self._fs, self._folder, base_offset)\n",
        "                pass\n",
    ),
    Mutant(
        "a deleted topic leaves the copy of a move",
        "coordinator/broker/partitions.py",
        "        for listener in self._deletion_listeners:\n            listener(topic)\n",
        "",
    ),
)
