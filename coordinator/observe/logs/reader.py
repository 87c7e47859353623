"""Logs of brokers → what they state, in order of time."""

import zlib
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Final

import msgspec

from coordinator.observe.logs.collector import Collector
from coordinator.observe.logs.documents import Document, is_document
from coordinator.observe.logs.files import BinaryReader, LogFile, Peeked, as_text, begin_of, log_files
from coordinator.observe.logs.scanner import Counts, Scanner
from coordinator.observe.logs.statements import Statement
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.unwrapping import FORMATS, Unwrapping, unwrapping
from coordinator.observe.logs.wanted import wanted
from coordinator.observe.logs.windows import windows

SAMPLE_BYTES: Final = 512 << 10
NO_FORMAT: Final = Unwrapping([()], has_loggers=False, has_heads=False)
"""Of a file in which no line begins in a known way."""

Progress = Callable[[int, int], None]
"""Called with the bytes that are read, and all bytes (0: not known)."""


class LogStatements(msgspec.Struct, frozen=True):
    """What the lines state, and one note for each thing that could not be read or had to be assumed."""

    statements: list[Statement]
    notes: list[str]
    zone_is_assumed: bool
    """Lines without a zone were read in the zone of the caller or of this machine."""


class _HowToRead(msgspec.Struct, frozen=True):
    groups: frozenset[str] | None
    log_format: str
    zone: tzinfo | None


def read_broker_logs(
    paths: Sequence[str],
    *,
    groups: frozenset[str] | None = None,
    log_format: str = "auto",
    zone: tzinfo | None = None,
    progress: Progress | None = None,
) -> LogStatements:
    """Read the lines of coordinators. `groups`: only what concerns them. `zone`: of times without one.

    `log_format` is one of `FORMATS`. What cannot be read is noted; ValueError only if there is no such format.
    """
    notes: list[str] = []
    files = log_files(paths, notes)
    if log_format not in FORMATS:
        raise ValueError(f"{log_format!r} is none of the formats {', '.join(FORMATS)}")
    collector = Collector(groups)
    all_bytes, done_bytes = sum(each.size for each in files), 0
    for file in files:

        def report(position: int, before: int = done_bytes) -> None:
            if progress is not None:
                progress(before + position, all_bytes)

        _read(file, collector, _HowToRead(groups, log_format, zone), notes, report)
        done_bytes += file.size
    statements = collector.statements()
    notes += collector.notes()
    return LogStatements(statements, notes, any(each.is_zone_assumed for each in statements))


def _read(
    file: LogFile,
    collector: Collector,
    read: _HowToRead,
    notes: list[str],
    report: Callable[[int], None],
) -> None:
    collector.begin(file.name)
    document: Document | None = None
    counts = Counts()
    try:
        opened, position = file.open()
        with opened:
            text = as_text(opened)
            sample = begin_of(text, SAMPLE_BYTES)
            lines: BinaryReader = Peeked(sample, text)
            if is_document(sample):
                lines = document = Document(lines)
                sample = begin_of(document, SAMPLE_BYTES)
                lines = Peeked(sample, document)
            unwrap = unwrapping(sample.splitlines(), read.log_format) or NO_FORMAT
            is_wanted = None if unwrap.has_numbers else wanted(read.groups)
            scanner = Scanner(unwrap, LocalTimes(read.zone), is_wanted)
            counts = scanner.counts
            for window in windows(lines):
                for entry in scanner.entries(window):
                    place = entry if document is None else entry._replace(line=document.numbers[entry.line - 1])
                    collector.add(place)
                report(position())
    except (OSError, EOFError, zlib.error) as error:
        notes.append(f"{file.name}: {error}; what comes before was read")
    collector.end()
    if document is not None and document.error:
        notes.append(f"{file.name}: {document.error}")
    notes += counts.notes(file.name)
