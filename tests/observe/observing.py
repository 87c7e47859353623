"""Histories of recorded groups, by records alone, by logs alone, or by both."""

import struct
from collections.abc import Sequence
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from coordinator.observe.alignment import aligned, credible
from coordinator.observe.group import observed_events
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs.reader import read_broker_logs
from coordinator.observe.logs.statements import Statement
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import GroupRecord, group_record
from coordinator.observe.sources import note_statements
from tests.observe.recordings import Recording

RECORDS, LOGS, BOTH = SOURCES = ("records", "logs", "both")


def records_of(recording: Recording, group: str) -> list[tuple[Place, GroupRecord]]:
    found = []
    for offset in recording.offsets:
        (record_type,) = struct.unpack(">h", offset.key[:2])
        if offset.fields["group"] != group or record_type in (0, 1):
            continue
        try:
            record = group_record(record_type, offset.key, offset.value)
        except KeyError:
            continue  # of a share group
        if record is not None:
            place = Place(Source.RECORD, f"__consumer_offsets-{offset.partition}", offset.timestamp_ms, offset.offset)
            found.append((place, record))
    return found


def statements_of(recording: Recording, group: str, zone: tzinfo = UTC) -> Sequence[Statement]:
    """What the logs of all brokers of the recording state about a group."""
    both = [recording] if recording.other_broker is None else [recording, recording.other_broker]
    return _statements(tuple((each.version, each.log) for each in both), group, zone)


@cache
def _statements(logs: tuple[tuple[str, bytes], ...], group: str, zone: tzinfo) -> Sequence[Statement]:
    with TemporaryDirectory() as folder:
        paths = []
        for version, log in logs:
            path = Path(folder) / f"{version}.log"
            path.write_bytes(log)
            paths.append(str(path))
        return read_broker_logs(paths, groups=frozenset({group}), zone=zone).statements


def observed(recording: Recording, group: str, source: str) -> ObservedHistory:
    records = [] if source == LOGS else records_of(recording, group)
    statements = [] if source == RECORDS else statements_of(recording, group)
    found = list(credible(records, aligned(records, statements).statements))
    found.sort(key=lambda each: each.place.time_ms)
    events = observed_events(group, records, found, is_whole=len(found) == len(statements))
    history = ObservedHistory.of_observed(group, events)
    note_statements(history, found)
    return history
