"""Kafka's checkpoint files, version 0: one offset per partition (OffsetCheckpointFile.java).

0
<number of lines that follow>
<topic> <partition> <offset>
__checksum 0 <CRC-32C of all bytes before this line>

The last line is not Kafka's, to which it is the offset of a partition that does not exist. A file without it was
written by an older version.
"""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from _wire.checksums import checksum
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem, read_file, write_file_atomically

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
GROUP_AUDIT = "group-audit-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
UNRECOVERED = "unrecovered-checkpoint"
"""The logs that nobody has opened since a stop that was not clean: 1 after a kill, 0 if the power may have failed."""
VERSION = 0
CHECKSUM: Final = "__checksum"

TopicPartition = tuple[str, int]


class CheckpointFile:
    """A checkpoint file whose content is only a hint. It is never flushed, so a power loss may damage it."""

    def __init__(self, fs: FileSystem, path: Path) -> None:
        self._fs = fs
        self._path = path

    def read(self) -> dict[TopicPartition, int]:
        """Call `read_checkpoint`."""
        return read_checkpoint(self._fs, self._path)

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Call `write_checkpoint`, without a flush."""
        write_checkpoint(self._fs, self._path, offsets, flush=False)


def write_checkpoint(fs: FileSystem, path: Path, offsets: Mapping[TopicPartition, int], *, flush: bool = True) -> None:
    """Replace the file atomically; `flush` has the meaning of `write_file_atomically`.

    Raises:
        OSError: the file cannot be written.
    """
    lines = [str(VERSION), str(len(offsets) + 1)]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    content = ("\n".join(lines) + "\n").encode("ascii")
    write_file_atomically(fs, path, content + f"{CHECKSUM} 0 {checksum(content)}\n".encode("ascii"), flush=flush)


def read_checkpoint(fs: FileSystem, path: Path) -> dict[TopicPartition, int]:
    """Return the offsets; an empty dict if the file does not exist.

    Raises:
        DataDirectoryError: the file is not a checkpoint.
        OSError: the file cannot be read.
    """
    if not fs.exists(path):
        return {}
    try:
        content = read_file(fs, path)
        version, count, *lines = content.decode("ascii").splitlines()
        if int(version) != VERSION or int(count) != len(lines):
            raise ValueError(f"the header has version {version} and {count} lines, but there are {len(lines)} lines")
        offsets = dict(map(_parse_line, lines))
        expected = offsets.pop((CHECKSUM, 0), None)
        if expected not in (None, checksum(_before_checksum(content))):
            raise ValueError("its checksum is wrong")
        return offsets
    except ValueError as error:
        raise DataDirectoryError(f"{path} is not a checkpoint file of version {VERSION}: {error}") from None


def _before_checksum(content: bytes) -> bytes:
    return content[: content.rfind(CHECKSUM.encode("ascii"))]


def _parse_line(line: str) -> tuple[TopicPartition, int]:
    topic, partition, offset = line.split(" ")
    if int(offset) < 0 or int(partition) < 0:
        raise ValueError(f"negative number in {line!r}")
    return (topic, int(partition)), int(offset)


class CheckpointWriter:
    """Writes the checkpoint files of a directory, in any thread."""

    def __init__(self, fs: FileSystem, root: Path) -> None:
        self._fs = fs
        self._root = root
        self._writing = threading.Lock()
        self._prepared = 0
        """How many writes were prepared."""
        self._written: dict[str, int] = {}
        """Name of a checkpoint file → number of the last write."""
        self._contents: dict[str, Mapping[TopicPartition, int]] = {}
        """Name of a checkpoint file → what is in it, where that is known."""

    def found(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """A checkpoint file was read: it has this content."""
        self._contents[name] = dict(offsets)

    def prepare(self, name: str, offsets: Mapping[TopicPartition, int]) -> Callable[[], None]:
        """Return what writes a checkpoint file, unless it has this content, or has what was prepared later.

        So a disk that cannot be written fails only what needs it: all directories store their start offsets together.
        The returned function may be called in another thread, and raises OSError if the file cannot be written.
        """
        self._prepared += 1
        return partial(self._write, name, offsets, self._prepared)

    def _write(self, name: str, offsets: Mapping[TopicPartition, int], number: int) -> None:
        with self._writing:
            if number > self._written.get(name, 0):
                if self._contents.pop(name, None) != offsets:
                    write_checkpoint(self._fs, self._root / name, offsets)
                self._contents[name] = offsets
                self._written[name] = number
