"""Every way in which a line is shown gives the same statements, at the same times."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from coordinator.observe.logs import statements as said
from coordinator.observe.logs.reader import read_broker_logs
from tests.observe.logs.wraps import BASES, WRAPS, wrapped
from tests.observe.recordings import Recording, json_layout, recordings

CASES: Final = (
    "static_restart/4.3.1-classic",
    "kill9/2.8.2-classic",
    "group_in_odd_names/3.9.1-classic",
    "k_kill9/4.3.1-consumer",
)
BY_NAME: Final = {recording.name: recording for recording in recordings()}
WITH_TIMES: Final = [
    wrap
    for wrap in WRAPS
    if wrap not in ("plain", "crlf", "kubectl-prefix", "compose", "compose-colours", "journal-short")
]


def said_in(data: bytes, folder: Path, recording: Recording, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    path = folder / "log"
    path.write_bytes(data)
    found = read_broker_logs([str(path)], groups=frozenset(recording.groups), **{"zone": UTC, **options})
    return [bare(statement) for statement in found.statements], found.notes


def bare(statement: said.Statement) -> dict[str, Any]:
    """What a statement says and when, without where it stands."""
    fields = msgspec.structs.asdict(statement)
    place = fields.pop("place")
    del fields["is_zone_assumed"]
    return {"kind": type(statement).__name__, "time_ms": place.time_ms, "broker_id": place.broker_id, **fields}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", CASES)
def test_the_same_statements(name: str, base: str, wrap: str, tmp_path: Path) -> None:
    recording = BY_NAME[name]
    plain, _ = said_in(recording.log, tmp_path, recording)
    if base in ("template_layout", "old_json_layout", "logstash"):
        # A structure says where a message ends: text in it that looks like a logger is of a client, and does no harm.
        plain = [{**each, "is_doubtful": False} for each in plain]
    found, notes = said_in(wrapped(recording.log.decode(), base, wrap), tmp_path, recording)
    assert found == plain
    assert len(found) > 5
    assert notes == []


@pytest.mark.parametrize("wrap", WITH_TIMES)
def test_what_is_around_a_line_tells_its_zone(wrap: str, tmp_path: Path) -> None:
    recording = BY_NAME["kill9/2.8.2-classic"]
    right, _ = said_in(recording.log, tmp_path, recording)
    path = tmp_path / "log"
    path.write_bytes(wrapped(recording.log.decode(), "kafka", wrap))
    found = read_broker_logs(
        [str(path)], zone=timezone(timedelta(hours=5, minutes=45)), groups=frozenset(recording.groups)
    )
    assert not found.zone_is_assumed
    assert [statement.place.time_ms for statement in found.statements] == [each["time_ms"] for each in right]


def test_without_a_zone_anywhere_it_is_assumed(tmp_path: Path) -> None:
    recording = BY_NAME["kill9/2.8.2-classic"]
    right, _ = said_in(recording.log, tmp_path, recording)
    path = tmp_path / "log"
    path.write_bytes(recording.log)
    found = read_broker_logs([str(path)], zone=timezone(timedelta(hours=2)), groups=frozenset(recording.groups))
    assert found.zone_is_assumed
    assert all(statement.is_zone_assumed for statement in found.statements)
    assert [statement.place.time_ms for statement in found.statements] == [
        each["time_ms"] - 7_200_000 for each in right
    ]


def test_the_zone_of_this_machine_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(BY_NAME["kill9/2.8.2-classic"].log)
    assert ["zone were read in that of this machine" in note for note in read_broker_logs([str(path)]).notes] == [True]
    assert read_broker_logs([str(path)], zone=UTC).notes == []


def test_a_recorded_json_layout(tmp_path: Path) -> None:
    path = tmp_path / "server.json"
    path.write_bytes(json_layout())
    found = read_broker_logs([str(path)])
    kinds = [type(statement).__name__ for statement in found.statements]
    assert kinds.count("ConsumerJoined") == 11 and "SessionExpired" in kinds
    assert not found.zone_is_assumed
    assert all(("\n" in getattr(statement, "member_id", "")) == statement.is_doubtful for statement in found.statements)
    assert found.statements[0].place.time_ms == 1795853799895


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda data: gzip.compress(data[:9000]) + gzip.compress(data[9000:])], ids=["one", "two"]
)
def test_gzip(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    recording = BY_NAME["kill9/4.3.1-classic"]
    assert said_in(pack(recording.log), tmp_path, recording) == said_in(recording.log, tmp_path, recording)


def test_a_named_format_takes_off_nothing_else(tmp_path: Path) -> None:
    recording = BY_NAME["kill9/2.8.2-classic"]
    data = wrapped(recording.log.decode(), "kafka", "compose")
    whole, _ = said_in(data, tmp_path, recording)
    named, _ = said_in(data, tmp_path, recording, log_format="compose")
    assert named == whole and whole
    with pytest.raises(ValueError, match="'xml' is none of the formats"):
        said_in(data, tmp_path, recording, log_format="xml")


def test_objects_over_several_lines(tmp_path: Path) -> None:
    """The old JSONLayout writes them so, unless it is told not to."""
    recording = BY_NAME["kill9/2.8.2-classic"]
    right, _ = said_in(recording.log, tmp_path, recording)
    data = wrapped(recording.log.decode(), "old_json_layout", "plain")
    pretty = "".join(json.dumps(json.loads(line), indent=2) + "\n" for line in data.splitlines())
    path = tmp_path / "log"
    path.write_text(pretty)
    found = read_broker_logs([str(path)], groups=frozenset(recording.groups))
    assert [bare(statement) for statement in found.statements] == right
    lines = pretty.splitlines()
    assert all(lines[statement.place.position - 1] == "{" for statement in found.statements if statement.place.position)


def test_a_document_that_is_cut(tmp_path: Path) -> None:
    recording = BY_NAME["kill9/2.8.2-classic"]
    data = wrapped(recording.log.decode(), "kafka", "cloudwatch-events")
    found, notes = said_in(data[: len(data) * 2 // 3], tmp_path, recording)
    assert len(found) > 5
    assert ["the document cannot be read from line" in note for note in notes] == [True]


def test_a_pattern_that_is_not_known_is_read_with_a_note(tmp_path: Path) -> None:
    recording = BY_NAME["kill9/2.8.2-classic"]
    right, _ = said_in(recording.log, tmp_path, recording)
    lines = [line for line in recording.lines if line.startswith("[2")]
    log = "".join(f"{line[1:24]} #INFO# main | {line[31:].rpartition(' (')[0]}\n" for line in lines)
    found, notes = said_in(log.encode(), tmp_path, recording)
    assert found == right
    assert ["pattern that is not known" in note for note in notes] == [True]
