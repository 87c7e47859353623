"""Logs of brokers → what they state, in order of time."""

from collections.abc import Callable, Sequence
from datetime import tzinfo

import msgspec

from coordinator.observe.logs.collector import Collector
from coordinator.observe.logs.files import LogFile, log_files
from coordinator.observe.logs.lines import Line, decoded
from coordinator.observe.logs.scanner import Scanner
from coordinator.observe.logs.statements import Statement
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.wanted import wanted
from coordinator.observe.logs.windows import windows

Progress = Callable[[int, int], None]
"""Called with the bytes that are read, and all bytes (0: not known)."""


class LogStatements(msgspec.Struct, frozen=True):
    """What the lines state, and one note for each thing that could not be read or had to be assumed."""

    statements: list[Statement]
    notes: list[str]
    zone_is_assumed: bool
    """Lines without a zone were read in the zone of the caller or of this machine."""


def read_broker_logs(
    paths: Sequence[str],
    *,
    groups: frozenset[str] | None = None,
    log_format: str = "auto",
    zone: tzinfo | None = None,
    progress: Progress | None = None,
) -> LogStatements:
    """Read the lines of coordinators. `groups`: only what concerns them. `zone`: of times without one.

    What cannot be read is noted, and nothing raised for it.
    """
    notes: list[str] = []
    files = log_files(paths, notes)
    collector = Collector(groups)
    all_bytes, done_bytes = sum(each.size for each in files), 0
    for file in files:

        def report(position: int, before: int = done_bytes) -> None:
            if progress is not None:
                progress(before + position, all_bytes)

        _read(file, collector, groups, zone, notes, report)
        done_bytes += file.size
    statements = collector.statements()
    notes += collector.notes()
    return LogStatements(statements, notes, any(each.is_zone_assumed for each in statements))


def _read(
    file: LogFile,
    collector: Collector,
    groups: frozenset[str] | None,
    zone: tzinfo | None,
    notes: list[str],
    report: Callable[[int], None],
) -> None:
    scanner = Scanner(lambda data: Line(decoded(data)), LocalTimes(zone), wanted(groups))
    collector.begin(file.name)
    try:
        opened, position = file.open()
        with opened:
            for window in windows(opened):
                for entry in scanner.entries(window):
                    collector.add(entry)
                report(position())
    except (OSError, EOFError) as error:
        notes.append(f"{file.name}: {error}; what comes before was read")
    collector.end()
    notes += scanner.counts.notes(file.name)
