"""Logs as they are found: rotated, cut, doubled, interleaved, with zeros and bytes that are no text."""

import gzip
import io
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from coordinator.observe.logs import scanner, windows
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.collector import Collector
from coordinator.observe.logs.lines import LINE_BYTES_MAX
from coordinator.observe.logs.reader import LogStatements, read_broker_logs, read_client_logs
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.unwrapping import Unwrapping
from tests.observe.logs.test_formats import bare
from tests.observe.logs.wraps import BASES, WRAPS, wrapped
from tests.observe.recordings import recordings, whole_runs

KILL9: Final = next(recording for recording in recordings() if recording.name == "kill9/4.3.1-classic")
OTHER: Final = "INFO [Broker id=1] Leader t-0 starts at leader epoch 0 (state.change.logger)"
GC: Final = "(kafka.coordinator.group.GroupCoordinator)"


def read(folder: Path, *logs: str | bytes, **options: Any) -> LogStatements:
    paths = []
    for number, log in enumerate(logs):
        path = folder / f"log-{number}"
        path.write_bytes(log if isinstance(log, bytes) else log.encode())
        paths.append(str(path))
    return read_broker_logs(paths, **{"zone": UTC, **options})


def at(seconds: float) -> str:
    moment = datetime(2026, 3, 1, 12) + timedelta(seconds=seconds)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}]"


def failed(member_id: str, group_id: str = "orders", broker: int = 1) -> str:
    prefix = f"INFO [GroupCoordinator {broker}]: "
    return f"{prefix}Member {member_id} in group {group_id} has failed, removing it from the group {GC}"


def members(found: LogStatements) -> list[tuple[str, bool]]:
    return [(getattr(statement, "member_id", ""), statement.is_doubtful) for statement in found.statements]


def test_rotated_files_of_a_folder_come_in_order_of_time(tmp_path: Path) -> None:
    lines = KILL9.log.splitlines(keepends=True)
    third = len(lines) // 3
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "server.log").write_bytes(b"".join(lines[2 * third :]))
    (folder / "server.log.2026-11-28-08").write_bytes(b"".join(lines[third : 2 * third]))
    (folder / "server.log.2026-11-28-07.gz").write_bytes(gzip.compress(b"".join(lines[:third])))
    (folder / "controller.log").write_bytes(b"")
    (folder / "server.log.zst").write_bytes(b"\x28\xb5\x2f\xfd\x00\x00\x00")
    whole = read(tmp_path, KILL9.log)
    for path in (str(folder), str(folder / "server*")):
        found = read_broker_logs([path], zone=UTC)
        assert list(map(bare, found.statements)) == list(map(bare, whole.statements))
        assert [statement.place.position for statement in found.statements] != [
            statement.place.position for statement in whole.statements
        ]
        assert ["compressed with zstd, left out" in note for note in found.notes] == [True]


def test_a_line_that_rotation_cut_in_two_is_doubtful_or_noted(tmp_path: Path) -> None:
    log = f"{at(0)} {OTHER}\n{at(1)} {failed('a')}\n{at(2)} {failed('b')}\n"
    cut = log.index("removing it from the group", log.index("Member b")) + len("removing it from the group")
    found = read(tmp_path, log[:cut], log[cut:] + f"{at(3)} {failed('c')}\n")
    assert members(found) == [("a", False), ("b", True), ("c", False)]
    found = read(tmp_path, log[: cut - 30], log[cut - 30 :] + f"{at(3)} {failed('c')}\n")
    assert members(found) == [("a", False), ("c", False)]
    assert any(
        "lines of coordinators that are cut, or hold what clients wrote: 1 (first: line 3)" in note
        for note in found.notes
    )


def test_standard_input_plain_and_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(tmp_path, KILL9.log)
    for data in (KILL9.log, gzip.compress(KILL9.log)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(data))))
        found = read_broker_logs(["-"], zone=UTC)
        assert list(map(bare, found.statements)) == list(map(bare, whole.statements))
        assert {statement.place.name for statement in found.statements} == {"standard input"}


def test_places_are_files_and_lines(tmp_path: Path) -> None:
    found = read(tmp_path, KILL9.log)
    lines = KILL9.log.decode().split("\n")
    for statement in found.statements:
        assert statement.place.position is not None
        line = lines[statement.place.position - 1]
        assert getattr(statement, "group_id", "offsets") in line
        assert statement.place.name == str(tmp_path / "log-0")
        assert datetime.fromtimestamp(statement.place.time_ms / 1000, UTC).strftime("[%Y-%m-%d %H:%M:%S") in line


@pytest.mark.parametrize("block_bytes", [500, 4096, 70_000])
def test_windows_change_nothing(block_bytes: int, tmp_path: Path) -> None:
    log = whole_runs()["4.3.1-consumer"]

    def scanned(block: int, around: int) -> list[tuple[str, int, int, bool]]:
        reading = scanner.Scanner(Unwrapping([()], has_loggers=True, has_heads=True), LocalTimes(UTC))
        return [
            (entry.text, entry.line, entry.time_ms, entry.is_doubtful)
            for window in windows.windows(io.BytesIO(log), block_bytes=block, around_bytes=around)
            for entry in reading.entries(window)
        ]

    assert scanned(block_bytes, 30_000) == scanned(len(log) + 1, 30_000)


def test_the_same_line_twice_is_one_statement(tmp_path: Path) -> None:
    whole = read(tmp_path, KILL9.log)
    found = read(tmp_path, KILL9.log, KILL9.log + KILL9.log)
    assert list(map(bare, found.statements)) == list(map(bare, whole.statements))
    assert any(note.startswith("lines that are there twice: ") for note in found.notes)
    two = f"{at(1)} {failed('a')}\n{at(1.001)} {failed('a')}\n{at(1.001)} {failed('a', broker=2)}\n"
    assert len(read(tmp_path, two).statements) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log.replace(b"\n", b"\r\n"),
        lambda log: b"\0" * 70_000 + log,
        lambda log: b"\xef\xbb\xbf" + log,
        lambda log: log.replace(b"[Broker", b"\xff\xfe\x80[Broker"),
        lambda log: log + b"\n\n\n",
        lambda log: b"Caused by: java.lang.Exception\n\tat a.b.C(D.java:1)\n" + log,
    ],
    ids=["crlf", "zeros", "mark", "no-text", "blank", "trace"],
)
def test_what_is_not_text_does_no_harm(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    found = read(tmp_path, spoil(KILL9.log))
    assert list(map(bare, found.statements)) == list(map(bare, read(tmp_path, KILL9.log).statements))


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_of_a_shell_of_windows(codec: str, tmp_path: Path) -> None:
    data = ("\ufeff" + KILL9.log.decode()).encode(codec)
    found = read(tmp_path, data)
    assert list(map(bare, found.statements)) == list(map(bare, read(tmp_path, KILL9.log).statements))


def test_an_id_that_is_no_utf8_is_readable(tmp_path: Path) -> None:
    found = read(tmp_path, f"{at(1)} {failed('a')}\n".encode().replace(b"Member a", b"Member a\xff"))
    assert members(found) == [("a\ufffd", False)]


def test_lines_of_ten_megabytes(tmp_path: Path) -> None:
    long = f"{at(0)} INFO Something of {'x' * 10_000_000} (kafka.server.KafkaConfig)\n"
    long_id = f"{at(2)} {failed('y' * 10_000_000)}\n"
    endless = "z" * 30_000_000
    found = read(tmp_path, long + f"{at(1)} {failed('a')}\n" + long_id + f"{at(3)} {failed('b')}\n" + endless)
    assert ("a", False) in members(found) and "b" in [each for each, _ in members(found)]
    assert any("lines of more than 1 MiB, cut: 1 (first: line 3)" in note for note in found.notes)
    assert all(len(each) <= LINE_BYTES_MAX for each, _ in members(found))


def test_a_stack_trace_or_a_list_of_settings_before_a_line(tmp_path: Path) -> None:
    trace = (
        f"{at(0)} ERROR [GroupCoordinator 1]: Something (kafka.server.KafkaApis)\njava.lang.E: x\n\tat a.B(C.java:3)\n"
    )
    settings = f"{at(1)} INFO KafkaConfig values: \n" + "\ta.b = c\n" * 350 + "\tz = y\n (kafka.server.KafkaConfig)\n"
    found = read(tmp_path, trace + f"{at(1)} {failed('a')}\n" + settings + f"{at(2)} {failed('b')}\n")
    assert members(found) == [("a", False), ("b", False)]


def test_brokers_interleaved_in_one_file(tmp_path: Path) -> None:
    """Two streams, one 40 s ahead, each with entries of several lines."""
    log = "".join(
        f"kafka_1  | {at(n)} {OTHER}\nkafka_2  | {at(n + 40)} INFO Values: \n"
        f"kafka_1  | {at(n)} {failed(f'a{n}', broker=1)}\n"
        f"kafka_2  | \tx = 1 (kafka.server.KafkaConfig)\nkafka_2  | {at(n + 40)} {failed(f'b{n}', broker=2)}\n"
        for n in range(60)
    )
    found = read(tmp_path, log)
    assert len(found.statements) == 120
    assert not any(statement.is_doubtful for statement in found.statements)
    assert found.notes == []


def test_brokers_interleaved_without_their_names(tmp_path: Path) -> None:
    log = "".join(
        f"{at(n)} {failed(f'a{n}', broker=1)}\n{at(n + 40)} {failed(f'b{n}', broker=2)}\n" for n in range(0, 300, 5)
    )
    found = read(tmp_path, log)
    assert len(found.statements) == 120
    assert not any(statement.is_doubtful for statement in found.statements)
    assert ["not in order of time" in note for note in found.notes] == [True]


def test_a_time_out_of_order_is_doubtful(tmp_path: Path) -> None:
    log = "".join(
        [
            f"{at(0)} {failed('a')}\n{at(1)} {OTHER}\n",
            f"{at(-5000)} {failed('early')}\n{at(2)} {OTHER}\n{at(3)} {failed('b')}\n",
            f"{at(90_000)} {failed('late')}\n{at(4)} {OTHER}\n{at(500)} {failed('c')}\n{at(501)} {OTHER}\n",
        ]
    )
    assert sorted(members(read(tmp_path, log))) == [
        ("a", False),
        ("b", False),
        ("c", False),
        ("early", True),
        ("late", True),
    ]


def test_clocks_that_go_back_keep_the_order_of_the_lines(tmp_path: Path) -> None:
    """Without a zone, and read in one that has no summer time: an hour comes twice."""
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    moments = [begin + timedelta(minutes=10 * n) for n in range(15)]
    local = [moment.astimezone(zone) for moment in moments]
    log = "".join(f"[{each:%Y-%m-%d %H:%M:%S},000] {failed(f'm{n:02}')}\n" for n, each in enumerate(local))
    right = [round(moment.timestamp() * 1000) for moment in moments]
    in_zone = read(tmp_path, log, zone=zone)
    assert [statement.place.time_ms for statement in in_zone.statements] == right
    in_other = read(tmp_path, log, zone=UTC)
    assert [name for name, _ in members(in_other)] == [f"m{n:02}" for n in range(15)]
    assert not any(doubtful for _, doubtful in members(in_other))


def test_a_file_of_another_kind_gives_no_statements(tmp_path: Path) -> None:
    noise = random.Random(7).randbytes(300_000)
    found = read(
        tmp_path, noise, b"", "{}", '{"a": 1}\n{"b": 2}\n', "[]", "Just text with [GroupCoordinator 1]: in it\n"
    )
    assert found.statements == []
    assert sum("no line of a known format" in note for note in found.notes) == 4  # two of the files are empty
    assert sum("without a time: 1" in note for note in found.notes) == 1
    missing = read_broker_logs([str(tmp_path / "no-such-*")])
    assert missing.notes == [f"{tmp_path / 'no-such-*'}: no such file"]


def test_a_gzip_that_ends_early(tmp_path: Path) -> None:
    packed = gzip.compress(KILL9.log)
    found = read(tmp_path, packed[: len(packed) * 4 // 5])
    assert found.statements != []
    assert any("the compressed file is cut; what comes before was read" in note for note in found.notes)


def test_a_mixed_file_is_read_and_its_other_lines_are_doubtful(tmp_path: Path) -> None:
    plain = "".join(f"{at(n)} {failed(f'a{n}')}\n" for n in range(30))
    found = read(tmp_path, plain + f"kafka_1  | {at(30)} {failed('b')}\n" + f"{at(31)} {failed('c')}\n")
    assert members(found)[30:] == [("b", True), ("c", False)]
    assert ["another format than the rest" in note for note in found.notes] == [True]


def test_more_statements_than_are_kept(tmp_path: Path) -> None:
    collector = Collector(None, statements_max=100)
    reading = scanner.Scanner(Unwrapping([()], has_loggers=True, has_heads=True), LocalTimes(UTC))
    log = "".join(f"{at(n)} {failed(f'm{n:03}')}\n" for n in range(250)).encode()
    collector.begin("x")
    for window in windows.windows(io.BytesIO(log)):
        for entry in reading.entries(window):
            collector.add(entry)
    kept = [statement.member_id for statement in collector.statements() if isinstance(statement, said.SessionExpired)]
    assert len(kept) <= 100 and kept[-1] == "m249" and kept == sorted(kept)
    assert [f"the oldest {250 - len(kept)} were left out" in note for note in collector.notes()] == [True]


def test_progress_ends_with_all_bytes(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    read(tmp_path, KILL9.log, gzip.compress(KILL9.log), progress=lambda done, total: seen.append((done, total)))
    total = sum((tmp_path / name).stat().st_size for name in ("log-0", "log-1"))
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("wrap", WRAPS)
def test_random_damage_raises_nothing(wrap: str, tmp_path: Path) -> None:
    rng = random.Random(wrap)
    for base in BASES:
        data = bytearray(wrapped(KILL9.log.decode(), base, wrap))
        for _ in range(rng.randrange(1, 40)):
            at_byte, length = rng.randrange(len(data)), rng.randrange(1, 60)
            match rng.randrange(4):
                case 0:
                    data[at_byte] = rng.randrange(256)
                case 1:
                    del data[at_byte : at_byte + length]
                case 2:
                    data[at_byte:at_byte] = data[max(0, at_byte - length) : at_byte]
                case _:
                    data[at_byte:at_byte] = bytes([rng.choice(b'\n\r\0{}[]"()\\')])
        path = tmp_path / "damaged"
        path.write_bytes(data)
        found = read_broker_logs([str(path)], zone=UTC, groups=frozenset(KILL9.groups))
        assert found.statements or found.notes
        read_client_logs([str(path)], zone=UTC)
