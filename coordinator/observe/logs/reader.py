"""Logs of brokers and of clients → what they state, in order of time."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Final

import msgspec

from coordinator.garbage import no_collections
from coordinator.observe.logs.client_reader import BEGINS, ClientScanner, without_doubles
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.collector import Collector
from coordinator.observe.logs.counts import Counts
from coordinator.observe.logs.files import BinaryReader, LogFile, log_files
from coordinator.observe.logs.scanner import Scanner
from coordinator.observe.logs.statements import Statement
from coordinator.observe.logs.texts import LogText
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.unwrapping import FORMATS
from coordinator.observe.logs.wanted import line_filter

Progress = Callable[[int, int], None]
"""Called with the bytes that are read, and all bytes (0: not known)."""

NOTHING: Final = "no line of a known format, and nothing about groups"

CLIENT_STATEMENTS_MAX: Final = 200_000


class LogStatements(msgspec.Struct, frozen=True):
    """What the lines state, and one note for each thing that could not be read or had to be assumed."""

    statements: list[Statement]
    notes: list[str]
    zone_is_assumed: bool
    """Lines without a zone were read in the zone of the caller or of this machine: `is_zone_assumed` of each."""


class ClientLogStatements(msgspec.Struct, frozen=True):
    """As `LogStatements`."""

    statements: list[ClientStatement]
    notes: list[str]
    zone_is_assumed: bool


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
    collector = Collector(groups)
    for file, opened, report in _opened(paths, log_format, notes, progress):
        collector.begin(file.name)
        counts = Counts()
        with _noting_defects(file, notes):
            text = LogText(opened, log_format)
            is_requested = None if text.unwrap.has_numbers else line_filter(groups)
            scanner = Scanner(text.unwrap, LocalTimes(zone), is_requested)
            counts = scanner.counts
            for window in text.windows():
                with no_collections():  # a statement has no reference cycle
                    for entry in scanner.entries(window):
                        collector.add(entry if text.is_plain else entry._replace(line=text.line(entry.line)))
                report()
            if text.defect:
                notes.append(f"{file.name}: {text.defect}")
            if text.is_unknown and not collector.has_found:
                notes.append(f"{file.name}: {NOTHING}")
        collector.end()
        notes += counts.notes(file.name)
    statements = collector.statements()
    notes += collector.notes()
    is_assumed = any(statement.is_zone_assumed for statement in statements)
    return LogStatements(statements, [*notes, *_note_of_zone(zone, is_assumed)], is_assumed)


def read_client_logs(
    paths: Sequence[str],
    *,
    groups: frozenset[str] | None = None,
    log_format: str = "auto",
    zone: tzinfo | None = None,
    progress: Progress | None = None,
) -> ClientLogStatements:
    """Read the logs of Java's client, librdkafka, kafka-python and franz-go. As `read_broker_logs`.

    A statement whose group is not known is kept whatever `groups` are.
    """
    notes: list[str] = []
    found: list[ClientStatement] = []
    for file, opened, report in _opened(paths, log_format, notes, progress):
        counts, before = Counts(), len(found)
        with _noting_defects(file, notes):
            text = LogText(opened, log_format, BEGINS)
            scanner = ClientScanner(file.name, text, LocalTimes(zone), groups)
            counts = scanner.counts
            for window in text.windows():
                found += scanner.statements(window)
                if len(found) > CLIENT_STATEMENTS_MAX:
                    counts.add(f"more than {CLIENT_STATEMENTS_MAX} statements, the oldest were left out", 0)
                    found = without_doubles(found)[-CLIENT_STATEMENTS_MAX // 2 :]
                report()
            if text.is_unknown and len(found) == before:
                notes.append(f"{file.name}: {NOTHING}")
        notes += counts.notes(file.name)
    statements = without_doubles(found)
    is_assumed = any(statement.is_zone_assumed for statement in statements)
    return ClientLogStatements(statements, [*notes, *_note_of_zone(zone, is_assumed)], is_assumed)


def _note_of_zone(zone: tzinfo | None, is_assumed: bool) -> list[str]:
    if zone is not None or not is_assumed:
        return []
    return [f"times without a zone were read in that of this machine ({datetime.now().astimezone():%Z, UTC%z})"]


def _opened(
    paths: Sequence[str], log_format: str, notes: list[str], progress: Progress | None
) -> Iterator[tuple[LogFile, BinaryReader, Callable[[], None]]]:
    """Each file, and a function that reports how much of all is read."""
    if log_format not in FORMATS:
        raise ValueError(f"{log_format!r} is none of the formats {', '.join(FORMATS)}")
    files = log_files(paths, notes)
    all_bytes, done_bytes = sum(file.size for file in files), 0
    for file in files:
        try:
            opened, position = file.open()
        except OSError as error:
            notes.append(f"{file.name}: {error.strerror}")
            continue

        def report(position: Callable[[], int] = position, before: int = done_bytes) -> None:
            if progress is not None:
                progress(before + position(), all_bytes)

        yield file, opened, report
        if not file.is_standard_input:
            opened.close()
        done_bytes += file.size
    if progress is not None and all_bytes:
        progress(all_bytes, all_bytes)


@contextmanager
def _noting_defects(file: LogFile, notes: list[str]) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        notes.append(f"{file.name}: {error}; what comes before was read")
