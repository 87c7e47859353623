"""Paths → files to read: folders, patterns, rotated and compressed ones, standard input."""

import codecs
import glob
import re
import sys
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP_WBITS: Final = 31
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


def begin_of(file: BinaryReader, most: int) -> bytes:
    """The first bytes; fewer only if the file has no more, or breaks off."""
    found = b""
    try:
        while len(found) < most and (data := file.read(most - len(found))):
            found += data
    except (EOFError, zlib.error):
        if not found:
            raise
    return found


class Unpacked:
    """A file that is compressed with gzip, of one or more parts. What comes before a defect is read."""

    def __init__(self, packed: BinaryReader) -> None:
        self._packed = packed
        self._part = zlib.decompressobj(GZIP_WBITS)
        self._input = b""
        self._is_begun = False

    def read(self, most: int, /) -> bytes:
        """Raises EOFError or zlib.error where the file is cut or broken."""
        found = bytearray()
        while len(found) < most:
            data = self._part.unconsumed_tail or self._input or self._packed.read(PEEKED_BYTES)
            self._input = b""
            if not data:
                if self._is_begun and not self._part.eof and not found:
                    raise EOFError("the compressed file is cut")
                break
            if self._part.eof:
                if data[:1] == b"\0":
                    break  # filled up with zeros
                self._part = zlib.decompressobj(GZIP_WBITS)
            self._is_begun = True
            try:
                found += self._part.decompress(data, most - len(found))
            except zlib.error:
                if not found:
                    raise
                self._input = data
                break
            if self._part.eof:
                self._input, self._is_begun = self._part.unused_data, False
        return bytes(found)


class Recoded:
    """A file in UTF-16, as the shell of Windows makes of what a program writes."""

    def __init__(self, file: BinaryReader, codec: str) -> None:
        self._file, self._decoder = file, getincrementaldecoder(codec)(errors="replace")

    def read(self, most: int, /) -> bytes:
        data = self._file.read(most)
        return self._decoder.decode(data, not data).encode()


class LogFile(NamedTuple):
    """One file. `open` gives its bytes, and a function that tells how many of the file are read so far."""

    name: str
    size: int
    open: Callable[[], tuple[BinaryIO, Callable[[], int]]]
    is_standard_input: bool = False


def log_files(paths: Sequence[str], notes: list[str]) -> list[LogFile]:
    """The files, in order of their first times. What cannot be read is noted."""
    found: dict[str, LogFile] = {}
    for path in paths:
        if path == "-":
            found["-"] = LogFile("standard input", 0, _standard_input, True)
            continue
        files = list(_expanded(path))
        if not files:
            notes.append(f"{path}: no such file")
        for file in files:
            try:
                if _is_readable(file, notes):
                    found.setdefault(str(file.resolve()), _log_file(file))
            except OSError as error:
                notes.append(f"{file}: {error.strerror}")
    return sorted(found.values(), key=_first_time)


def _expanded(path: str) -> Iterator[Path]:
    plain = Path(path)
    if plain.is_dir():
        yield from sorted(file for file in plain.rglob("*") if file.is_file())
    elif plain.exists():
        yield plain
    else:
        for name in sorted(glob.glob(path, recursive=True)):
            yield from _expanded(name)


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
        return raw, raw.tell

    return LogFile(str(path), path.stat().st_size, opened)


def _standard_input() -> tuple[BinaryIO, Callable[[], int]]:
    return sys.stdin.buffer, lambda: 0


def as_text(file: BinaryReader) -> BinaryReader:
    """The file's text in UTF-8 (or what its program took for it), decompressed."""
    begin = begin_of(file, len(GZIP_MAGIC))
    whole: BinaryReader = Peeked(begin, file)
    if begin == GZIP_MAGIC:
        return as_text(Unpacked(whole))
    codec = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(begin)
    return whole if codec is None else Recoded(whole, codec)


def _first_time(file: LogFile) -> tuple[bytes, str]:
    """The first time in the file as it is written, so that rotated files come in order; those without one come last."""
    if file.is_standard_input:
        return b"~", file.name
    try:
        opened, _ = file.open()
        with opened:
            match = TIME.search(begin_of(as_text(opened), PEEKED_BYTES))
    except (OSError, EOFError, zlib.error):
        match = None
    return (b"~" if match is None else match.group().replace(b"T", b" ")), file.name
