"""Kafka's checkpoint files, version 0: one offset per partition (OffsetCheckpointFile.java).

0
<number of lines that follow>
<topic> <partition> <offset>
"""

from collections.abc import Mapping
from pathlib import Path

from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem, read_file, write_file_atomically

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
GROUP_AUDIT = "group-audit-checkpoint"
VERSION = 0

TopicPartition = tuple[str, int]


class CheckpointFile:
    """A checkpoint file of hints: it is never flushed, so a power loss may damage it."""

    def __init__(self, fs: FileSystem, path: Path) -> None:
        self._fs = fs
        self._path = path

    def read(self) -> dict[TopicPartition, int]:
        """As `read_checkpoint`."""
        return read_checkpoint(self._fs, self._path)

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """As `write_checkpoint`, without a flush."""
        write_checkpoint(self._fs, self._path, offsets, flush=False)


def write_checkpoint(fs: FileSystem, path: Path, offsets: Mapping[TopicPartition, int], *, flush: bool = True) -> None:
    """Replace the file in one step (`flush`: as in `write_file_atomically`). Raises OSError."""
    lines = [str(VERSION), str(len(offsets))]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    write_file_atomically(fs, path, ("\n".join(lines) + "\n").encode("ascii"), flush=flush)


def read_checkpoint(fs: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """The offsets, none when there is no such file.

    Raises:
        DataDirectoryError: the file is not a checkpoint.
        OSError: it cannot be read.
    """
    if not fs.exists(path):
        return {}
    try:
        version, count, *lines = read_file(fs, path).decode("ascii").splitlines()
        if int(version) != VERSION or int(count) != len(lines):
            raise ValueError(f"version {version} with {len(lines)} lines instead of {count}")
        return dict(map(_parse_line, lines))
    except ValueError as error:
        raise DataDirectoryError(f"{path} is not a checkpoint of Kafka's version {VERSION}: {error}") from None


def _parse_line(line: str) -> tuple[TopicPartition, int]:
    topic, partition, offset = line.split(" ")
    if int(offset) < 0 or int(partition) < 0:
        raise ValueError(f"negative number in {line!r}")
    return (topic, int(partition)), int(offset)
