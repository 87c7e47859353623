"""A checkpoint of which each log directory has a file for the logs in it."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from coordinator.log.data_dirs.checkpoints import CheckpointFile, TopicPartition
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.works import all_of
from coordinator.log.errors import DataDirectoryError
from coordinator.logger import logger


class Homes(Protocol):
    """The log directories, and which of them has a log."""

    @property
    def online(self) -> list[LogDirectory]: ...
    def home(self, topic: str, partition: int) -> LogDirectory | None: ...


class SplitCheckpoint:
    """One CheckpointFile in each directory."""

    def __init__(self, directories: Homes, files: Mapping[LogDirectory, CheckpointFile]) -> None:
        self._directories = directories
        self._files = files
        self._written: dict[LogDirectory, dict[TopicPartition, int]] = {}

    def read(self) -> dict[TopicPartition, int]:
        """Return the offsets of all files; a file that cannot be read gets a line in the log."""
        offsets: dict[TopicPartition, int] = {}
        for directory, file in self._files.items():
            try:
                found = self._written[directory] = file.read()
            except (DataDirectoryError, OSError) as problem:
                logger.warning("a checkpoint cannot be read; it is made again", problem=str(problem))
            else:
                offsets |= found
        return offsets

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the files of which an offset has changed.

        Raises:
            OSError: a file cannot be written; the others are.
        """
        split: dict[LogDirectory, dict[TopicPartition, int]] = {
            file: {} for file in self._files if file in self._directories.online
        }
        for key, offset in offsets.items():
            home = self._directories.home(*key)
            if home is not None:
                split[home][key] = offset
        all_of([partial(self._write, directory, found) for directory, found in split.items()])()

    def _write(self, directory: LogDirectory, offsets: dict[TopicPartition, int]) -> None:
        if self._written.get(directory) != offsets:
            self._files[directory].write(offsets)
            self._written[directory] = offsets
