"""A reader goes on where its last read ended, without a search."""

from collections import Counter

import pytest

from coordinator.log.files import OpenFile
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.damage import DamagedOffsets
from coordinator.log.segments.segment_file import READ_ENDS_MAX
from tests.log.batches import batch
from tests.log.conftest import OpenLog


class CountingFile:
    """A file of which it is counted how often it is read."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self.calls: Counter[str] = Counter()

    def read_at(self, position: int, size: int) -> bytes:
        self.calls["read_at"] += 1
        return self._file.read_at(position, size)

    def __getattr__(self, name: str):
        return getattr(self._file, name)


def append(log: PartitionLog, count: int) -> None:
    for _ in range(count):
        log.append(batch("x"), leader_epoch=0, now_ms=0)


@pytest.fixture
def log(open_log: OpenLog) -> PartitionLog:
    log = open_log()
    append(log, 100)
    return log


def counted(log: PartitionLog) -> CountingFile:
    (segment,) = log.segments.items
    segment.file = CountingFile(segment.file)
    return segment.file


def test_the_next_read_is_one_of_the_file(log):
    whole = bytes(log.view(0, 1 << 20))
    size = len(whole) // 100
    file = counted(log)
    log.view(0, 3 * size)
    searched = file.calls["read_at"]
    assert log.view(3, 2 * size) == whole[3 * size : 5 * size]
    assert (searched, file.calls["read_at"]) == (2, 3)


def test_what_is_appended_later_is_read_from_where_the_log_ended(log):
    log.view(0, 1 << 20)
    append(log, 1)
    file = counted(log)
    assert log.view(100, 1 << 20) == bytes(log.view(0, 1 << 20))[-len(batch("x")) :]
    assert file.calls["read_at"] == 1 + 2, "one, and two with the search for offset 0"


def test_only_the_ends_of_the_last_reads_are_kept(log):
    for offset in range(READ_ENDS_MAX + 1):
        log.view(offset, 1)
    (segment,) = log.segments.items
    assert list(segment.read_ends) == list(range(2, READ_ENDS_MAX + 2))


def test_damage_that_is_found_later_is_not_read(log):
    log.view(0, 3 * len(batch("x")))
    (segment,) = log.segments.items
    third, before = bytes(log.view(3, 1)), bytes(log.view(4, 1))
    segment.file.write_at(b"\xff" * 40, 3 * len(before) + 20)
    log.view(4, 1)
    with pytest.raises(DamagedOffsets):
        log.view(3, 1)
    assert bytes(log.view(4, 1)) == before
    segment.file.write_at(third, 3 * len(before))
    assert bytes(log.view(3, 1)) == third, "it was read wrongly, and is right on the disk"


def test_a_read_of_several_batches_that_goes_on_ends_before_damage(log):
    size = len(batch("x"))
    whole = bytes(log.view(0, 3 * size))
    assert len(whole) == 3 * size
    (segment,) = log.segments.items
    segment.file.write_at(b"\xff" * 40, 4 * size + 20)
    assert len(log.view(3, 3 * size)) == size
    with pytest.raises(DamagedOffsets):
        log.view(4, 3 * size)
    assert len(log.view(5, 3 * size)) == 3 * size


@pytest.mark.parametrize("offset", [0, 90])
def test_a_batch_whose_offset_was_overwritten_is_not_read_on(log, offset):
    """The checksum does not cover it."""
    size = len(batch("x"))
    log.view(0, 3 * size)
    (segment,) = log.segments.items
    segment.file.write_at(offset.to_bytes(8, "big"), 3 * size)
    with pytest.raises(DamagedOffsets):
        log.view(3, 3 * size)
    assert len(log.view(4, 3 * size)) == 3 * size
