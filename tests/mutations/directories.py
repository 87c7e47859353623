"""Mutants of what happens when a log directory fails while the server runs, and of moves between directories."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a full disk takes its directory offline",
        "_NAMES",
        'Final = ("EIO",',
        'Final = ("ENOSPC", "EIO",',
    ),
    Mutant(
        "a bad sector takes its directory offline",
        "is_disk_failure",
        "and not (is_read and error.errno == OF_ONE_SECTOR)",
        "",
    ),
    Mutant(
        "a file that is missing takes its directory offline",
        "DirectoryFailures._is_gone",
        "error.errno in NOT_FOUND and self._directories.is_gone(root)",
        "error.errno in NOT_FOUND",
    ),
    Mutant(
        "the server goes on without the directory of its metadata log",
        "DirectoryFailures._can_go_on_without",
        "return root != self._directories.metadata.root and bool(others)",
        "return bool(others)",
    ),
    Mutant(
        "the server goes on without any directory",
        "DirectoryFailures._can_go_on_without",
        "return root != self._directories.metadata.root and bool(others)",
        "return root != self._directories.metadata.root",
    ),
    Mutant(
        "an append is acknowledged although its fsync failed",
        "DataHandlers._produced",
        "if self._node.partitions.some_are_offline:",
        "if False:",
    ),
    Mutant(
        "a failed fsync in one directory fails the appends in all",
        "LogFlusher._committed",
        "if not self._disk_errors.flush_failed(failure, path):",
        "if self._disk_errors.flush_failed(failure, path) or True:",
    ),
    Mutant(
        "a marker that may be lost ends its transaction",
        "MarkerSender._send",
        "if not self._leads(tp.topic, tp.partition)}",
        "if False}",
    ),
    Mutant(
        "groups of a failed directory are served",
        "unload_offline_groups",
        "if shard.state is not ShardState.INACTIVE and not is_led:",
        "if False:",
    ),
    Mutant(
        "the checkpoints of a failed directory are written",
        "SplitCheckpoint.write",
        "file: {} for file in self._files if file in self._directories.online",
        "file: {} for file in self._files",
    ),
    Mutant(
        "a copy counts although the directory of the log is offline",
        "_Search._classify_copy",
        "if source not in self._ids and self._assigned.exists(source):",
        "if False:",
    ),
    Mutant(
        "a copy without its log is removed",
        "_Search._classify_copy",
        "directory.promote(*key, folder)",
        "self._fs.remove_tree(directory.discard(folder))\nreturn",
    ),
    Mutant(
        "of two logs that nobody has moved one is removed",
        "_Search._moved_to",
        "if len(moves) != 1:",
        "moves = moves or [(one, other)]\nif len(moves) != 1:",
    ),
    Mutant(
        "a copy of another topic of this name goes on",
        "_Search._classify_copy",
        "or not self._is_of_topic(home, key, folder)",
        "",
    ),
    Mutant(
        "a move ends before its copy is on stable storage",
        "ReplicaMoves._flush",
        "make_safe()\nwrite_checkpoints()",
        "write_checkpoints()",
    ),
    Mutant(
        "a moved log has its deleted records again after a crash",
        "ReplicaMoves._flush",
        "make_safe()\nwrite_checkpoints()",
        "make_safe()",
    ),
    Mutant(
        "what is appended at the end of a move is lost",
        "FutureLog.copy_rest",
        "portion.run(flush=False)",
        "pass",
    ),
    Mutant(
        "a copy keeps the segments that retention has deleted",
        "Portion.run",
        "remove_segment_files(self._fs, self._folder, base_offset)",
        "pass",
    ),
    Mutant(
        "a deleted topic leaves the copy of a move",
        "Partitions.delete_logs",
        "for listener in self._deletion_listeners: listener(topic)",
        "",
    ),
)
