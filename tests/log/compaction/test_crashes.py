"""A cleaning dies at each of its operations on the disk: what is found then holds the same values."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.log.compaction.swap import complete_swaps
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.files import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX
from tests.log.compaction.cleaning import (
    CONFIG,
    FOLDER,
    START_MS,
    append,
    append_data,
    append_marker,
    batches,
    clean_now,
    new_log,
    roll,
)
from tests.log.compaction.crashing_files import CrashingFiles
from tests.model.compaction import last_values, visible
from tests.model.memory_files import ProcessKilled

SMALL = replace(CONFIG, segment_bytes=700, index_interval_bytes=100, delete_retention_ms=0)


def dirty_log(fs: CrashingFiles, *, flushed: bool) -> PartitionLog:
    """Six segments, the second and third of which fit into one, a transaction, and an active segment."""
    log = new_log(fs, SMALL)
    for number in range(20):
        append(log, (b"k%d" % (number % 3), b"%d" % number), (b"gone", None if number > 2 else b"there"))
        if number in (5, 6, 11, 15):
            roll(log)
    append_data(log, 1, (b"k0", b"aborted"))
    append_marker(log, 1, committed=False)
    roll(log)
    append(log, (b"last", b"one"))
    if flushed:
        log.flush()
    return log


def seen(log: PartitionLog) -> dict[bytes, bytes | None]:
    values = {key: value for key, (_, value) in last_values(visible(batches(log))).items()}
    return {key: value for key, value in values.items() if value is not None}


def crashes(*, flushed: bool) -> Iterator[tuple[int, CrashingFiles]]:
    """The number of the operation that was not done any more, and the disk."""
    number = 0
    while True:
        fs = CrashingFiles()
        log = dirty_log(fs, flushed=flushed)
        fs.dies_at = fs.operations + number
        try:
            clean_now(log, fs)
            return
        except ProcessKilled:
            yield number, fs
        number += 1


def check(disk: CrashingFiles, expected: dict[bytes, bytes | None], end_offset: int, recovery_point: int) -> None:
    log = new_log(disk, SMALL, recovery_point=recovery_point)
    assert seen(log) == expected
    assert log.log_end_offset == end_offset
    assert (log.recovery.truncated_bytes, log.recovery.removed_segments) == (0, 0)
    assert not [path for path in disk._files if path.suffix in (CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX)]
    clean_now(log, disk, now_ms=START_MS + 1)
    assert seen(log) == expected


@pytest.mark.parametrize("recovery_point", [0, 43])
def test_after_a_kill(recovery_point: int) -> None:
    log = dirty_log(CrashingFiles(), flushed=False)
    expected, end_offset = seen(log), log.log_end_offset
    count = 0
    for count, fs in crashes(flushed=False):  # noqa: B007
        check(fs.after_kill(), expected, end_offset, recovery_point)
    assert count > 60


def test_after_a_power_loss() -> None:
    log = dirty_log(CrashingFiles(), flushed=True)
    expected, end_offset = seen(log), log.log_end_offset
    states = 0
    for _, fs in crashes(flushed=True):
        for state in range(fs.states_after_power_loss()):
            check(fs.after_power_loss(state), expected, end_offset, recovery_point=end_offset)
            states += 1
    assert states > 100


def test_after_a_power_loss_no_value_is_lost_that_a_later_lost_one_had_replaced() -> None:
    """What was not flushed before may go. What it replaced must still be there then."""
    log = dirty_log(CrashingFiles(), flushed=False)
    count = 0
    for count, fs in crashes(flushed=False):  # noqa: B007
        for state in range(fs.states_after_power_loss()):
            found = new_log(fs.after_power_loss(state), SMALL)
            expected = {
                key: value
                for key, (_, value) in last_values(
                    visible([batch for batch in batches(log) if batch.last_offset < found.log_end_offset])
                ).items()
                if value is not None
            }
            assert seen(found) == expected
    assert count > 60


def test_a_replacement_that_was_not_complete_is_undone() -> None:
    fs = CrashingFiles()
    log = dirty_log(fs, flushed=True)
    last = log.segments[-2]
    fs.content(log.folder / f"{0:020d}.log.cleaned")
    for path in (last.offset_index.path, last.log_path):
        fs.content(path.with_name(path.name + SWAP_SUFFIX))[:] = fs.content(path)[:-1]
    before = seen(log)
    check(fs.after_kill(), before, log.log_end_offset, 0)


def test_indexes_whose_log_was_not_renamed_are_thrown_away() -> None:
    fs = CrashingFiles()
    log = dirty_log(fs, flushed=True)
    index = log.segments[0].offset_index
    fs.content(index.path.with_name(index.path.name + SWAP_SUFFIX))
    content = bytes(fs.content(index.path))
    complete_swaps(fs, log.folder, SMALL)
    assert fs.content(index.path) == content
    check(fs.after_kill(), seen(log), log.log_end_offset, 0)


def test_a_swap_below_what_is_not_complete_is_completed() -> None:
    fs = CrashingFiles()
    log = dirty_log(fs, flushed=True)
    merged = bytearray()
    first, second = log.segments[:2]
    for segment in (first, second):
        merged += fs.content(segment.log_path)
    fs.content(log.folder / f"{0:020d}.log.swap")[:] = merged
    fs.content(log.folder / f"{90:020d}.log.cleaned")
    complete_swaps(fs, log.folder, SMALL)
    names = fs.names(FOLDER / "topic-0")
    assert f"{second.base_offset:020d}.log" not in names
    assert not [name for name in names if Path(name).suffix in (CLEANED_SUFFIX, SWAP_SUFFIX)]
    again = new_log(fs.after_kill(), SMALL)
    assert seen(again) == seen(log)
    assert again.segments[1].base_offset == log.segments[2].base_offset


def test_other_files_are_left_alone() -> None:
    fs = CrashingFiles()
    log = dirty_log(fs, flushed=True)
    others = ("notes.swap", "1.log.swap", f"{0:020d}.snapshot.cleaned", "x" * 20 + ".log.cleaned")
    for name in others:
        fs.content(log.folder / name)
    complete_swaps(fs, log.folder, SMALL)
    assert set(others) <= set(fs.names(log.folder))
