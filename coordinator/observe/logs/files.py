"""Paths → files to read: folders, patterns, rotated and compressed ones, standard input."""

import glob
import gzip
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

GZIP_MAGIC: Final = b"\x1f\x8b"
COMPRESSED: Final = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
TIME: Final = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
PEEKED_BYTES: Final = 64 << 10


class BinaryReader(Protocol):
    def read(self, most: int, /) -> bytes: ...


class Peeked:
    """A file whose first bytes were read already."""

    def __init__(self, begin: bytes, rest: BinaryReader) -> None:
        self._begin, self._rest = begin, rest

    def read(self, most: int, /) -> bytes:
        found, self._begin = self._begin[:most], self._begin[most:]
        return found or self._rest.read(most)


class LogFile(NamedTuple):
    """One file. `open` gives its bytes, decompressed, and how many bytes of the file are read so far."""

    name: str
    size: int
    open: Callable[[], tuple[BinaryIO, Callable[[], int]]]


def log_files(paths: Sequence[str], notes: list[str]) -> list[LogFile]:
    """The files, in order of their first times. What cannot be read is noted."""
    found: dict[str, LogFile] = {}
    for path in paths:
        if path == "-":
            found["-"] = LogFile("standard input", 0, _standard_input)
            continue
        files = list(_expanded(path))
        if not files:
            notes.append(f"{path}: no such file")
        for each in files:
            try:
                if _is_readable(each, notes):
                    found.setdefault(str(each.resolve()), _log_file(each))
            except OSError as error:
                notes.append(f"{each}: {error.strerror}")
    return sorted(found.values(), key=_first_time)


def _expanded(path: str) -> Iterator[Path]:
    plain = Path(path)
    if plain.is_dir():
        yield from sorted(each for each in plain.rglob("*") if each.is_file())
    elif plain.exists():
        yield plain
    else:
        for each in sorted(glob.glob(path, recursive=True)):
            yield from _expanded(each)


def _is_readable(path: Path, notes: list[str]) -> bool:
    with path.open("rb") as file:
        begin = file.read(8)
    for magic, name in COMPRESSED.items():
        if begin.startswith(magic):
            notes.append(f"{path}: compressed with {name}, left out; decompress it first")
            return False
    return True


def _log_file(path: Path) -> LogFile:
    def opened() -> tuple[BinaryIO, Callable[[], int]]:
        raw = path.open("rb")
        is_gzip = raw.peek(2)[:2] == GZIP_MAGIC
        return (gzip.GzipFile(fileobj=raw) if is_gzip else raw), raw.tell  # type: ignore[return-value]

    return LogFile(str(path), path.stat().st_size, opened)


def _standard_input() -> tuple[BinaryIO, Callable[[], int]]:
    read = sys.stdin.buffer
    begin = read.peek(2)[:2] if isinstance(read, io.BufferedReader) else b""
    return (gzip.GzipFile(fileobj=read) if begin == GZIP_MAGIC else read), lambda: 0  # type: ignore[return-value]


def _first_time(file: LogFile) -> tuple[bytes, str]:
    """The first time in the file as it is written, so that rotated files come in order; those without one come last."""
    if file.open is _standard_input:
        return b"~", file.name
    try:
        opened, _ = file.open()
        with opened:
            match = TIME.search(opened.read(PEEKED_BYTES))
    except (OSError, EOFError):
        match = None
    return (b"~" if match is None else match.group().replace(b"T", b" ")), file.name
