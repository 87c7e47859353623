"""Which log directory has which log, at a start: after a crash, a log may be in two, or only a copy of it be there.

A move makes its copy in a folder `<topic>-<partition>.<id>-future`, whose file `source.metadata` names the directory of
the log. When the copy is complete and on stable storage, the folder of the log is renamed (`-delete`), then that of the
copy. So of one partition a start finds:

- a log and a copy: the log counts, and the move is to be begun again;
- a copy alone, and the directory of its log is there: the copy is complete, and counts;
- a copy alone, and the directory of its log is offline: nobody knows; the partition stays in that directory;
- two logs, of which one names the directory of the other: the power failed before the first renaming was on stable
  storage; the one that names the other counts.

See docs/decisions/024-moves-between-log-directories.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from coordinator.log.data_dirs.checkpoints import TopicPartition
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.partition_metadata import PartitionMetadataDamaged, read_topic_id
from coordinator.log.data_dirs.source_metadata import read_source, remove_source
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.logger import logger

SetAside = Callable[[LogDirectory, str, int], bool]
"""Sets a log aside, if it belongs to no topic; returns whether it did."""


class AssignedDirectories(msgspec.Struct, frozen=True):
    """What the metadata says of the log directories."""

    id_of: Callable[[str, int], str]
    """(topic, partition) → the id of its directory; empty if none is stored."""
    exists: Callable[[str], bool]
    """Whether there is, or was, a directory with an id, which nobody has given up."""


NONE_ASSIGNED: Final = AssignedDirectories(lambda topic, partition: "", lambda directory_id: False)


class LogHomes(msgspec.Struct, frozen=True):
    """What was found."""

    homes: dict[TopicPartition, LogDirectory]
    """The directory of each log that is on disk."""
    away: dict[TopicPartition, str]
    """Logs of which only a copy was found, with the id of the directory, now offline, that has the log."""
    interrupted_moves: dict[TopicPartition, tuple[LogDirectory, Path]]
    """Logs that are to be moved, with the directory to which they go and the folder of an incomplete copy."""


def find_log_homes(
    fs: FileSystem, online: Sequence[LogDirectory], set_aside: SetAside, assigned: AssignedDirectories
) -> LogHomes:
    """Find out where each log is, and complete what a move has left to do. To be called before a log is opened.

    Raises:
        DataDirectoryError: two directories have a log of the same partition.
        OSError: a directory cannot be read or changed.
    """
    return _Search(fs, online, set_aside, assigned).run()


class _Search:
    def __init__(
        self, fs: FileSystem, online: Sequence[LogDirectory], set_aside: SetAside, assigned: AssignedDirectories
    ) -> None:
        self._fs = fs
        self._online = online
        self._ids = {directory.directory_id for directory in online}
        self._set_aside = set_aside
        self._assigned = assigned
        self._found = LogHomes({}, {}, {})

    def run(self) -> LogHomes:
        homes = self._found.homes
        for directory in self._online:
            for key in directory.stored_partitions():
                if key[0] == METADATA_LOG or self._set_aside(directory, *key):
                    continue
                other = homes.setdefault(key, directory)
                if other is not directory:
                    homes[key] = self._moved_to(key, other, directory)
        for directory in self._online:
            for key, folder in directory.future_folders():
                self._classify_copy(directory, key, folder)
        for key, home in homes.items() if len(self._online) > 1 else ():
            self._end_move(home.root / folder_name(*key))
        return self._found

    def _moved_to(self, key: TopicPartition, one: LogDirectory, other: LogDirectory) -> LogDirectory:
        """The one of two directories to which a log was moved; it is removed from the other.

        Raises:
            DataDirectoryError: it was not moved.
        """
        name = folder_name(*key)
        moves = [
            (target, source)
            for target, source in ((one, other), (other, one))
            if read_source(self._fs, target.root / name) == source.directory_id
        ]
        if len(moves) != 1:
            raise DataDirectoryError(
                f"partition {name} is in two log directories, {one.root / name} and {other.root / name}:"
                " move one of them away"
            )
        ((target, source),) = moves
        self._fs.remove_tree(source.discard(source.root / name))
        source.release(*key)
        return target

    def _classify_copy(self, directory: LogDirectory, key: TopicPartition, folder: Path) -> None:
        home = self._found.homes.get(key)
        if home is None:
            source = read_source(self._fs, folder) or self._assigned.id_of(*key)
            if source not in self._ids and self._assigned.exists(source):
                self._found.away[key] = source
                return
            directory.promote(*key, folder)
            if not self._set_aside(directory, *key):
                self._found.homes[key] = directory
                logger.info("completed the move of a log", log=folder_name(*key), directory=str(directory.root))
        elif home is directory or key in self._found.interrupted_moves or not self._is_of_topic(home, key, folder):
            self._fs.remove_tree(directory.discard(folder))
        else:
            self._found.interrupted_moves[key] = directory, folder

    def _is_of_topic(self, home: LogDirectory, key: TopicPartition, folder: Path) -> bool:
        """Whether a copy belongs to the topic of the log."""
        try:
            found = read_topic_id(self._fs, folder)
            return found is None or found == read_topic_id(self._fs, home.root / folder_name(*key))
        except PartitionMetadataDamaged:
            return False

    def _end_move(self, folder: Path) -> None:
        """Nothing is left of a move, unless the directory that had the log is offline: it may have it still."""
        source = read_source(self._fs, folder)
        if source is None or source in self._ids or not self._assigned.exists(source):
            remove_source(self._fs, folder)
