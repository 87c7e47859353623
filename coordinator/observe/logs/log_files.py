"""The files that a log that is followed is in: the one that is written, and those that it was rotated into.

A file is known by how it begins, so it is found again after it was renamed, copied or compressed.
"""

import gzip
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, Self

import msgspec

from coordinator.observe.logs.files import GZIP_MAGIC

BEGIN_BYTES: Final = 1024
LOOKS_MAX: Final = 20
DIGEST_BYTES: Final = 16
TIME: Final = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")
ROTATED: Final = re.compile(r"[-._@]")
"""How what rotation puts behind the name of a log begins."""
LAST: Final = b"~"
"""Instead of a time where there is none: after all others."""
BROKEN: Final = (OSError, EOFError, zlib.error)


class FileBegin(msgspec.Struct, frozen=True, array_like=True):
    """The first `size` bytes of a file, which end with a line if they are fewer than BEGIN_BYTES."""

    digest: bytes
    size: int

    @classmethod
    def of(cls, data: bytes) -> Self | None:
        """None: there is no whole line yet."""
        begin = data[:BEGIN_BYTES]
        size = begin.rfind(b"\n") + 1 or (BEGIN_BYTES if len(begin) == BEGIN_BYTES else 0)
        return cls(_digest(begin[:size]), size) if size else None

    def is_of(self, data: bytes) -> bool:
        return len(data) >= self.size and _digest(data[: self.size]) == self.digest


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()


class LogFile:
    """An open file, decompressed if it is compressed with gzip. It stays readable when it is renamed or removed."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self.path = path
        raw = path.open("rb")
        try:
            self._raw: BinaryIO = raw
            self.is_packed = os.pread(raw.fileno(), len(GZIP_MAGIC), 0) == GZIP_MAGIC
            self._file: BinaryIO = gzip.GzipFile(fileobj=raw) if self.is_packed else raw  # type: ignore[assignment]
        except BaseException:
            raw.close()
            raise

    def close(self) -> None:
        self._raw.close()

    @property
    def inode(self) -> int:
        return os.fstat(self._raw.fileno()).st_ino

    @property
    def mtime_ms(self) -> int:
        return os.fstat(self._raw.fileno()).st_mtime_ns // 1_000_000

    def read(self, offset: int, most: int) -> bytes:
        """Raises OSError, EOFError, zlib.error."""
        self._file.seek(offset)
        return self._file.read(most)

    @property
    def begin(self) -> bytes:
        return self.read(0, BEGIN_BYTES)

    @property
    def size(self) -> int | None:
        """None: not known without decompressing it."""
        return None if self.is_packed else os.fstat(self._raw.fileno()).st_size


def find(path: Path, begin: FileBegin) -> LogFile | None:
    """The file of a log that begins like this, whatever its name is by now. Of copies it is the one that is written."""

    def look() -> LogFile | None:
        for candidate in (path, *siblings(path)):
            found = opened(candidate)
            if found is not None:
                if begin.is_of(_begin_of(found)):
                    return found
                found.close()
        return None

    return _undisturbed(path, look, is_sure=lambda found: found is not None)


def following(path: Path, first_time: bytes, begins_before: Collection[FileBegin]) -> LogFile | None:
    """The file that was begun next, after one that begins with this time: none that begins as those that are known."""

    def look() -> LogFile | None:
        best: tuple[bytes, LogFile] | None = None
        for candidate in (*siblings(path), path):
            found = opened(candidate)
            if found is None:
                continue
            data = _begin_of(found)
            time = time_of(data) or LAST
            is_later = time >= first_time and (time != LAST or candidate == path)
            is_new = FileBegin.of(data) is not None and not any(begin.is_of(data) for begin in begins_before)
            if is_new and is_later and (best is None or time <= best[0]):
                if best is not None:
                    best[1].close()
                best = time, found
            else:
                found.close()
        return None if best is None else best[1]

    return _undisturbed(path, look, is_sure=lambda found: False)


def _undisturbed(
    path: Path, look: Callable[[], LogFile | None], is_sure: Callable[[LogFile | None], bool]
) -> LogFile | None:
    """What is found while nothing is renamed: a rotation renames one file after the other, and one may be passed over.

    A folder in which files come and go all the time is believed after LOOKS_MAX.
    """
    for _ in range(LOOKS_MAX):
        before = _names(path)
        found = look()
        if is_sure(found) or _names(path) == before:
            return found
        if found is not None:
            found.close()
    return look()


def _names(path: Path) -> list[tuple[str, int]]:
    """The files of a log, and which file each name is of."""
    found = []
    for file in (path, *siblings(path)):
        try:
            found.append((file.name, file.stat().st_ino))
        except OSError:
            continue  # it has just been renamed
    return found


def siblings(path: Path) -> Iterator[Path]:
    """The files beside a log into which it may have been rotated."""
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return
    for name in names:
        if is_rotated(name, path.name):
            yield path.parent / name


def is_rotated(name: str, log: str) -> bool:
    """Whether a file may be an older part of a log, by their names: server.log.1, server.log-20261129.gz."""
    if name.startswith(log):
        return ROTATED.match(name, len(log)) is not None
    stem, dot, ending = log.rpartition(".")
    return bool(dot) and name.startswith(stem) and ROTATED.match(name, len(stem)) is not None and f".{ending}" in name


def time_of(begin: bytes) -> bytes:
    """The first time in it, as it is written; empty if there is none."""
    match = TIME.search(begin)
    return b"" if match is None else match.group().replace(b"T", b" ").replace(b".", b",")


def opened(path: Path) -> LogFile | None:
    """None: there is no such file, or no right to read it."""
    try:
        return LogFile(path) if path.is_file() else None
    except OSError:
        return None


def _begin_of(file: LogFile) -> bytes:
    try:
        return file.begin
    except BROKEN:
        return b""
