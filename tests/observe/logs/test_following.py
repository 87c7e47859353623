"""Logs that are followed while they are written, rotated, compressed and cut."""

import gzip
import os
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pytest

from coordinator.observe.group_stream import LoggedStatement
from coordinator.observe.logs.followed import LogPosition
from coordinator.observe.logs.following import BLOCK_BYTES, LogFollower
from coordinator.observe.logs.statements import RebalancePrepared

HEAD = "[2026-11-29 10:{:02}:{:02},{:03}] INFO "
LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
STEP_SECONDS = 0.5


def line(number: int, text: str = "") -> str:
    seconds, ms = divmod(number * 10, 1_000)
    head = HEAD.format(*divmod(seconds, 60), ms)
    what = (
        f"Preparing to rebalance group orders in state PreparingRebalance with old generation {number}"
        " (reason: explicit `LeaveGroup` request for (a-6b3e1c66-f4a4-4c0c-b2a3-4f1b2a8a9d10) members.)."
    )
    return f"{head}[GroupCoordinator id=1 topic=__consumer_offsets partition=3] {text or what}{LOGGER}"


def noise(number: int) -> str:
    seconds, ms = divmod(number * 10, 1_000)
    return HEAD.format(*divmod(seconds, 60), ms) + "Rolled new log segment at offset 7 (kafka.log.UnifiedLog)\n"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Followed:
    """A log, its follower, and what was told. `kill` makes another follower go on."""

    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, Clock()
        self.lines: list[LoggedStatement] = []
        self.notes: list[str] = []
        self.position: LogPosition | None = None
        self.follower = self._new()

    def _new(self) -> LogFollower:
        return LogFollower(self.path, self.position, zone=UTC, clock=self.clock)

    def write(self, text: str, path: Path | None = None) -> None:
        with (path or self.path).open("a") as file:
            file.write(text)

    def step(self) -> None:
        self.clock.now += STEP_SECONDS
        found = self.follower.follow()
        assert found.before is None or found.position is not None
        self.lines += found.lines
        self.notes += found.notes
        self.position = found.position

    def settle(self) -> None:
        """Follow until all is read: the clock tells when nothing more comes."""
        written_at = self.clock.now
        for _ in range(100):
            self.step()
            # Once more after it is current, as a rotation is followed then.
            if self.clock.now - written_at > 8 * STEP_SECONDS:
                return

    def kill(self) -> None:
        self.follower.close()
        self.follower = self._new()

    @property
    def generations(self) -> list[int]:
        found = [line.statement for line in self.lines if not line.statement.is_doubtful]
        return [each.generation_before for each in found if isinstance(each, RebalancePrepared)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Followed]:
    found = Followed(tmp_path / "server.log")
    yield found
    found.follower.close()


def test_lines_are_told_once_as_they_are_written(log):
    for number in range(5):
        log.write(line(number))
        log.settle()
        assert log.generations == list(range(number + 1))
    assert [line.statement.place.position for line in log.lines] == [1, 2, 3, 4, 5]


def test_a_line_is_told_when_it_is_whole(log):
    whole = line(1)
    log.write(line(0) + whole[:100])
    log.settle()
    assert log.generations == [0]
    log.write(whole[100:])
    log.settle()
    assert log.generations == [0, 1]


def test_a_log_that_is_not_there_yet_is_read_when_it_is(log):
    log.settle()
    assert log.notes == [f"{log.path}: there is no such file; it is read when there is one"]
    log.write(line(0))
    log.settle()
    assert log.generations == [0]


def renamed(log: Followed) -> None:
    log.path.rename(log.path.with_name("server.log.1"))


def renamed_by_date(log: Followed) -> None:
    log.path.rename(log.path.with_name("server.log.2026-11-29-10"))


def renamed_by_log4j2(log: Followed) -> None:
    log.path.rename(log.path.with_name("server-1.log"))


def copied_and_cut(log: Followed) -> None:
    shutil.copy2(log.path, log.path.with_name("server.log.1"))
    os.truncate(log.path, 0)


def compressed(log: Followed) -> None:
    with gzip.open(log.path.with_name("server.log.1.gz"), "wb") as file:
        file.write(log.path.read_bytes())
    log.path.unlink()


ROTATIONS = [renamed, renamed_by_date, renamed_by_log4j2, copied_and_cut, compressed]


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("is_read", [False, True])
def test_a_rotated_log_is_read_to_its_end_and_then_the_new_one(
    log: Followed, rotate: Callable[[Followed], None], killed: bool, is_read: bool
):
    log.write(line(0) + noise(1))
    log.settle()
    log.write(line(2))
    if is_read:
        log.settle()
    if killed:
        log.kill()
    rotate(log)
    log.write(line(3) + noise(4))
    log.settle()
    assert log.generations == [0, 2, 3]
    assert [line.mark for line in log.lines] == [(0, 1), (0, 3), (1, 1)]
    assert not log.notes


@pytest.mark.parametrize("rotate", ROTATIONS)
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("cut_at", [5, 24, 60, 200, -1])
def test_a_line_that_is_cut_by_a_rotation_is_whole(
    log: Followed, rotate: Callable[[Followed], None], killed: bool, cut_at: int
):
    whole = line(2)
    log.write(line(0) + noise(1))
    log.settle()
    log.write(whole[:cut_at])
    log.settle()
    assert log.generations == [0]
    if killed:
        log.kill()
    rotate(log)
    log.write(whole[cut_at:] + line(3))
    log.settle()
    log.kill()
    log.write(line(4))
    log.settle()
    assert log.generations == [0, 2, 3, 4]
    assert [line.mark for line in log.lines] == [(0, 1), (0, 3), (1, 2), (1, 3)]


def test_a_line_whose_rest_is_lost_makes_no_sure_statement_with_the_next_one(log):
    log.write(line(0) + line(1)[:150])
    log.settle()
    renamed(log)
    log.write(line(2) + line(3))
    log.settle()
    assert log.generations == [0, 3]
    doubtful = [line.statement for line in log.lines if line.statement.is_doubtful]
    assert {each.generation_before for each in doubtful if isinstance(each, RebalancePrepared)} <= {1, 2}


def test_what_is_written_to_a_file_after_it_was_renamed_is_read(log):
    log.write(line(0))
    log.settle()
    renamed(log)
    log.write(line(1), log.path.with_name("server.log.1"))
    log.write(line(2))
    log.settle()
    assert log.generations == [0, 1, 2]


@pytest.mark.parametrize("rotate", [renamed, copied_and_cut])
def test_a_log_is_not_current_while_another_file_has_been_begun(log: Followed, rotate: Callable[[Followed], None]):
    """What it has would be told too late: who waits for the log believes that there is nothing more."""
    log.write(line(0))
    log.settle()
    rotate(log)
    log.step()
    log.clock.now += STEP_SECONDS
    assert log.follower.follow().current_at is not None  # nothing is written to the new one yet
    log.write(line(1))
    written_at = log.clock.now
    for _ in range(20):
        log.clock.now += STEP_SECONDS
        found = log.follower.follow()
        log.lines += found.lines
        if log.generations == [0, 1]:
            break
        assert found.current_at is None or found.current_at <= written_at
    assert log.generations == [0, 1]
    log.settle()
    assert log.follower.follow().current_at is not None


def test_several_rotations_while_nobody_follows(log):
    log.write(line(0))
    log.settle()
    log.kill()
    log.write(line(1))
    for number in range(2, 6):
        for old in sorted(log.path.parent.glob("server.log.*"), reverse=True):
            old.rename(old.with_name(f"server.log.{int(old.name.rpartition('.')[2]) + 1}"))
        renamed(log)
        log.write(line(number))
    log.settle()
    log.settle()
    log.settle()
    assert log.generations == list(range(6))


def test_a_file_that_is_gone_is_told_once(log):
    log.write(line(0))
    log.settle()
    log.kill()
    log.path.unlink()
    log.write(line(1))
    log.settle()
    assert log.generations == [0, 1]
    assert log.notes == [f"{log.path}: the file that was read before is gone; what it had that was not read is missing"]


def test_a_log_that_was_cut_without_a_copy(log):
    log.write(line(0) + line(1))
    log.settle()
    os.truncate(log.path, 0)
    log.write("".join(map(line, range(2, 9))))
    log.settle()
    assert log.generations == list(range(9))
    assert log.notes == [f"{log.path}: was cut and there is no copy: lines may be missing"]


def test_other_files_of_the_folder_are_not_read(log):
    for name in ("controller.log", "server.logs", "server2.log", "kafka-server.log.1"):
        log.path.with_name(name).write_text(line(70))
    log.write(line(0))
    log.settle()
    renamed(log)
    log.write(line(1))
    log.settle()
    assert log.generations == [0, 1]


def test_a_large_log_is_caught_up_with_in_blocks(log):
    many = BLOCK_BYTES * 3 // len(noise(0))
    log.write("".join(line(each) if each % 1_000 == 0 else noise(each) for each in range(many)))
    steps = 0
    while len(log.generations) < (many - 1) // 1_000 + 1:
        log.step()
        steps += 1
        assert steps < 20
    assert log.generations == list(range(0, many, 1_000))
    assert [line.mark[1] for line in log.lines] == [each + 1 for each in range(0, many, 1_000)]


@pytest.mark.parametrize("seed", range(30))
def test_killed_at_any_time_each_line_is_told_once(log: Followed, seed: int):
    choice = random.Random(seed)
    text = "".join(line(each) if each % 3 else noise(each) for each in range(1, 120))
    log.write(noise(0))
    log.settle()
    while text:
        size = choice.choice([1, 10, 90, 400, 2_000])
        log.write(text[:size])
        text = text[size:]
        if choice.random() < 0.2 and log.path.read_bytes().count(b"\n") > 2:
            old = sorted(log.path.parent.glob("server.log.*"), reverse=True, key=lambda each: int(each.suffix[1:]))
            for each in old:
                each.rename(each.with_name(f"server.log.{int(each.suffix[1:]) + 1}"))
            choice.choice([renamed, copied_and_cut])(log)
        for _ in range(choice.randrange(4)):
            log.step()
        if choice.random() < 0.3:
            log.kill()
    for _ in range(20):
        log.settle()
    assert log.generations == [each for each in range(120) if each % 3]


def test_the_zone_is_told_by_when_the_file_was_written(tmp_path, monkeypatch):
    """The machine that follows is in another zone than the broker; its clock is 40 s behind that of the broker."""
    path = tmp_path / "server.log"
    path.write_text(noise(0) + line(1))
    written_at = 1_795_946_400 - 7_200 - 40  # 2026-11-29 08:00:00 UTC less 40 s; the line says 10:00:00,010
    os.utime(path, (written_at, written_at))
    clock = Clock()
    follower = LogFollower(path, clock=clock)
    found = []
    for _ in range(4):
        clock.now += STEP_SECONDS
        found += follower.follow().lines
    follower.close()
    assert [each.statement.place.time_ms for each in found] == [(1_795_946_400 - 7_200) * 1_000 + 10]
    assert found[0].order_ms == found[0].statement.place.time_ms
