"""A crash at each operation on the disks while a partition is moved: one whole log is left, and the move goes on."""

import gc
from collections.abc import Mapping
from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from coordinator.log.partition.partition_log import PartitionLog
from tests.broker.directories.test_directory_assignment import B, C
from tests.broker.moving_broker import ALWAYS, CrashingDisks, MovingBroker, values
from tests.model.memory_files import ProcessKilled

START_OFFSET = 2
BEFORE_MOVE = 14
STEPS_MAX = 60


class Play:
    """Moves t-0 from B to C while it is written to, until the disks die."""

    def __init__(self, fs: CrashingDisks, settings: Mapping[str, str]) -> None:
        self.fs = fs
        self.settings = settings
        self.written: list[str] = []
        self.kept = 0
        """How many of `written` were acknowledged."""
        self.is_started = False
        self.has_ended = False

    def run(self, dies_at: int) -> None:
        broker = MovingBroker(self.fs, self.settings, boot_id="boot")
        broker.create("other", 1)
        broker.create("t", 1)
        assert broker.home() == B
        for _ in range(BEFORE_MOVE):
            self._put(broker)
        broker.step()
        log = broker.log()
        log.save_producer_snapshot(9, b"snapshot")
        assert log.delete_records_before(START_OFFSET)
        broker.directories.write_log_start_offsets()
        for _ in range(3):
            broker.step()
        # Only what the move does is of interest here.
        self.is_started = True
        self.fs.operations, self.fs.dies_at = 0, dies_at
        assert broker.alter(C) is ErrorCode.NONE
        for number in range(STEPS_MAX):
            broker.step(between=lambda: self._put(broker))
            if number % 5 == 4:
                broker.directories.prepare_checkpoints()()
            if not broker.moves.is_moving and not broker.soon and not broker.threads.submitted:
                self.has_ended = True
                return
        raise AssertionError("the move does not end")

    def _put(self, broker: MovingBroker) -> None:
        value = f"value-{len(self.written)}"
        self.written.append(value)
        broker.put(value)
        count = len(self.written)
        if not broker.flusher.is_durable_only:
            self.kept = count
            return

        def durable(_: object) -> None:
            self.kept = max(self.kept, count)

        broker.flusher.when_durable(durable)


def check(play: Play, fs: CrashingDisks, boot_id: str, what: str) -> None:
    """The next start finds all, goes on with the move, and the start after that finds all in one place."""
    broker = MovingBroker(fs, play.settings, boot_id=boot_id)
    found = checked_values(play, broker.log(), what)
    broker.moves.resume_interrupted()
    broker.settle()
    assert broker.home() in (B, C), what
    assert broker.folders() == [f"{broker.home()}/t-0"], what
    assert checked_values(play, broker.log(), what) == found, what
    broker.put("after the crash")
    broker.step()
    broker.step()
    broker.close()
    again = MovingBroker(fs, play.settings, boot_id=boot_id)
    assert values(again.log()) == [*found, "after the crash"], what
    assert again.image.directory_id("t", 0) == again.directories.stored_id("t", 0), what
    assert not again.fs.exists(again.log().folder / "source.metadata"), what
    again.close()


def checked_values(play: Play, log: PartitionLog, what: str) -> list[str]:
    assert log.log_start_offset == START_OFFSET, what
    found = values(log)
    written = play.written[START_OFFSET:]
    assert found == written[: len(found)], what
    assert len(found) >= play.kept - START_OFFSET, f"{what}: {play.kept} acknowledged, {len(found)} found"
    return found


def operations_of_a_move(settings: Mapping[str, str]) -> int:
    play = Play(CrashingDisks(), settings)
    play.run(1 << 60)
    assert play.has_ended
    return play.fs.operations


@pytest.mark.parametrize("settings", [{}, ALWAYS], ids=["page-cache", "always"])
def test_a_crash_at_any_operation_leaves_one_whole_log(settings):
    operations = operations_of_a_move(settings)
    assert operations > 60
    homes = set()
    for dies_at in range(operations + 1):
        play = Play(CrashingDisks(), settings)
        try:
            play.run(dies_at)
        except ProcessKilled:
            assert play.is_started
        for what, fs in play.fs.crashed():
            if what != "kill" and settings is not ALWAYS:
                continue  # what survives a power loss is said by the flushes
            homes.add(tuple(sorted(str(folder.parent) for folder in folders_of(fs))))
            check(play, fs, "boot" if what == "kill" else "another", f"operation {dies_at} of {operations}, {what}")
        gc.collect(0)
    assert ("/b",) in homes
    assert ("/c",) in homes
    assert () in homes, "no crash came between the two renamings"


def folders_of(fs: CrashingDisks) -> list[Path]:
    return [root / name for root in (B, C) for name in fs.names(root) if name == "t-0"]
