"""Moves of partitions to other log directories, step by step, on disks in memory."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from _wire.errors import ErrorCode
from coordinator.broker.directories.directory_failures import DirectoryFailures
from coordinator.log.data_dirs.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS, read_checkpoint
from coordinator.log.errors import LogAppendError
from coordinator.log.files import OpenFile
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.log.segments.files import SWAP_SUFFIX
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.transaction_index import AbortedTransaction
from tests.broker.directories.test_directory_assignment import NOW_MS, A, B, C
from tests.broker.moving_broker import ALWAYS, SEGMENT_BYTES, MovingBroker, values
from tests.captured_logs import capture_logs
from tests.log.batches import batch


class FaultyDisks(MemoryFileSystem):
    """Renames to a path that has a part of `no_renames_to` fail, and writes to files that have one of `full`."""

    def __init__(self) -> None:
        super().__init__()
        self.no_renames_to: set[str] = set()
        self.full: set[str] = set()

    def rename(self, path: Path, target: Path) -> None:
        if any(part in str(target) for part in self.no_renames_to):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        super().rename(path, target)

    def open(self, path: Path) -> OpenFile:
        if any(part in str(path) for part in self.full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return super().open(path)


@pytest.fixture
def fs() -> FaultyDisks:
    return FaultyDisks()


@pytest.fixture
def broker(fs: FaultyDisks) -> MovingBroker:
    """t-0 is in A with 14 records in four segments; t-1 is in B, t-2 in C, and nobody has written to them."""
    return filled(fs)


def filled(fs: MemoryFileSystem, **options: int) -> MovingBroker:
    broker = MovingBroker(fs, **options)  # type: ignore[arg-type]
    broker.create("t", 3)
    for number in range(14):
        broker.put(f"value-{number}")
    assert (broker.home(), len(broker.log().segments)) == (A, 4)
    return broker


def written(count: int) -> list[str]:
    return [f"value-{number}" for number in range(count)]


def with_failures(broker: MovingBroker) -> DirectoryFailures:
    failures = DirectoryFailures(
        broker.directories,
        broker.partitions,
        broker.assignment,
        broker.slices,
        disk_errors=broker.disk_errors,
        call_soon=broker.soon.append,
        stop=lambda problem: None,
    )
    return failures


def test_a_partition_moves_with_all_that_it_has(broker, fs):
    log = broker.log()
    assert log.delete_records_before(3)
    log.segments[1].transaction_index.append(AbortedTransaction(7, 4, 6, 7))
    log.save_producer_snapshot(12, b"twelve")
    log.save_producer_snapshot(8, b"eight")
    assert broker.alter(C) is ErrorCode.NONE
    assert broker.home() == A
    broker.settle()
    assert (broker.home(), broker.folders(), broker.assigned("t")) == (C, ["/c/t-0"], [C, B, C])
    assert broker.log() is log, "whoever has the log goes on with it"
    assert (log.folder, log.log_start_offset, values(log)) == (C / "t-0", 3, written(14)[3:])
    assert [name for name in fs.names(C / "t-0") if name.endswith(".snapshot")] == [
        f"{8:020}.snapshot",
        f"{12:020}.snapshot",
    ]
    assert read_checkpoint(fs, C / LOG_START_OFFSETS) == {("t", 0): 3}
    assert read_checkpoint(fs, C / RECOVERY_POINTS)["t", 0] == 14
    broker.put("value-14")
    broker.close()
    again = MovingBroker(fs)
    assert (again.home(), values(again.log())) == (C, written(15)[3:])
    assert again.log().segments[1].transaction_index.entries == [AbortedTransaction(7, 4, 6, 7)]
    assert again.log().segments[1].transaction_index.entries == [AbortedTransaction(7, 4, 6, 7)]


def test_nothing_happens_if_it_is_there_already(broker, fs):
    before = broker.store.end_offset
    assert broker.alter(A) is ErrorCode.NONE
    broker.settle()
    assert (broker.folders(), broker.store.end_offset) == (["/a/t-0"], before)


@pytest.mark.parametrize(
    ("topic", "partition", "path", "error"),
    [
        ("t", 0, "/d", ErrorCode.LOG_DIR_NOT_FOUND),
        ("t", 0, "b", ErrorCode.LOG_DIR_NOT_FOUND),
        ("t", 0, "/b/", ErrorCode.LOG_DIR_NOT_FOUND),
        ("t", 0, "/a/../b", ErrorCode.LOG_DIR_NOT_FOUND),
        ("t", 0, "", ErrorCode.LOG_DIR_NOT_FOUND),
        ("t", 0, "/b\0", ErrorCode.LOG_DIR_NOT_FOUND),
        ("unknown", 0, "/d", ErrorCode.LOG_DIR_NOT_FOUND),
        ("unknown", 0, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 3, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -1, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -(1 << 31), "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("", 0, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("../t", 0, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__cluster_metadata", 0, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("n" * 213, 0, "/b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("n" * 214, 0, "/d", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_what_cannot_be_moved_is_answered_as_by_kafka(broker, topic, partition, path, error):
    assert broker.alter(path, topic, partition) is error
    assert not broker.moves.is_moving


def test_a_partition_without_files_changes_its_directory_alone(broker, fs):
    assert broker.alter(C, "t", 1) is ErrorCode.NONE
    assert broker.futures(C) == []
    broker.settle()
    assert (broker.home("t", 1), broker.folders("t-1"), broker.assigned("t")) == (C, [], [A, C, C])
    broker.put("first", "t", 1)
    assert broker.folders("t-1") == ["/c/t-1"]


def test_what_is_written_to_a_partition_without_files_meanwhile_moves_with_it(broker):
    assert broker.alter(C, "t", 1) is ErrorCode.NONE
    broker.put("first", "t", 1)
    broker.settle()
    assert (broker.folders("t-1"), values(broker.log("t", 1))) == (["/c/t-1"], ["first"])


def test_many_partitions_without_files_need_one_record_of_the_metadata(broker):
    broker.create("many", 300)
    before = broker.store.end_offset
    for partition in range(300):
        assert broker.alter(C, "many", partition) is ErrorCode.NONE
    broker.settle(1000)
    assert set(broker.assigned("many")) == {C}
    assert broker.store.end_offset - before <= 300


def test_a_move_is_described_until_it_ends(fs):
    broker = filled(fs, bytes_per_second=100)
    broker.alter(B)
    ((topic, partition, size_bytes, lag),) = broker.futures(B)
    assert (topic, partition, size_bytes, lag) == ("t", 0, 0, 14)
    assert broker.folders() == ["/a/t-0", "/b/t-0future"]
    seen = [(0, 14)]
    while broker.futures(B):
        broker.step(500)
        seen += [(future.size_bytes, future.offset_lag) for future in broker.futures(B)]
    assert broker.now_ms - NOW_MS >= 5_000, "100 bytes a second"
    assert [size for size, _ in seen] == sorted(size for size, _ in seen)
    assert [lag for _, lag in seen] == sorted((lag for _, lag in seen), reverse=True)
    assert len({lag for _, lag in seen}) > 3


def test_another_pace_counts_for_a_move_that_is_under_way(fs):
    broker = filled(fs, bytes_per_second=100)
    broker.alter(B)
    broker.step(500)
    broker.moves.change_pace(1_000_000)
    began_ms = broker.now_ms
    while broker.futures(B):
        broker.step(500)
    assert broker.now_ms - began_ms < 5_000, "100 bytes a second take longer"


@pytest.mark.parametrize("steps", range(8))
def test_another_target_ends_the_move_to_the_first_one(fs, steps):
    broker = filled(fs, bytes_per_second=2000)
    broker.alter(B)
    for _ in range(steps):
        broker.step()
    assert broker.alter(C) is ErrorCode.NONE
    assert broker.futures(B) == []
    broker.settle()
    assert (broker.home(), broker.folders(), values(broker.log())) == (C, ["/c/t-0"], written(14))
    assert broker.assigned("t")[0] == C


@pytest.mark.parametrize("settings", [{}, ALWAYS], ids=["page-cache", "always"])
@pytest.mark.parametrize("steps", range(10))
def test_a_move_back_to_where_it_is_cancels(fs, steps, settings):
    broker = MovingBroker(fs, settings)
    broker.create("t", 1)
    for number in range(14):
        broker.put(f"value-{number}")
    broker.alter(B)
    for _ in range(steps):
        broker.step()
    assert broker.alter(A) is ErrorCode.NONE
    broker.settle()
    assert (broker.home(), broker.folders(), values(broker.log())) == (A, ["/a/t-0"], written(14))
    assert broker.assigned("t") == [A]
    broker.put("value-14")
    broker.step()
    broker.step()
    assert broker.log().recovery_point == (15 if settings else broker.log().recovery_point)
    broker.directories.prepare_checkpoints()()
    assert ("t", 0) not in read_checkpoint(fs, B / RECOVERY_POINTS)


def test_the_same_target_again_changes_nothing(broker, fs):
    broker.alter(B)
    before = fs.names(B)
    assert broker.alter(B) is ErrorCode.NONE
    assert fs.names(B) == before


@pytest.mark.parametrize("steps", range(8))
def test_a_deleted_topic_leaves_nothing_of_a_move(fs, steps):
    broker = filled(fs)
    broker.alter(B)
    for _ in range(steps):
        broker.step()
    broker.delete("t")
    broker.settle()
    assert broker.folders() == []
    broker.create("t", 1)
    broker.put("another")
    broker.close()
    again = MovingBroker(fs)
    assert (again.directories.interrupted_moves, values(again.log())) == ({}, ["another"])


def test_moves_to_one_directory_come_one_after_the_other(broker):
    for name in ("u", "v"):
        broker.create(name, 1)
        broker.put("x", name)
    homes = {name: broker.home(name) for name in ("t", "u", "v")}
    assert homes == {"t": A, "u": A, "v": B}
    broker.alter(C, "t")
    broker.alter(C, "u")
    assert [future.topic for future in broker.futures(C)] == ["t", "u"]
    broker.alter(A, "t")
    assert [future.topic for future in broker.futures(C)] == ["u"]
    broker.settle()
    assert [broker.home(name) for name in ("t", "u", "v")] == [A, C, B]


def test_segments_that_retention_deletes_meanwhile_are_not_in_the_copy(fs):
    broker = filled(fs, bytes_per_second=400)
    broker.alter(B)
    for _ in range(200):
        broker.step()
        if broker.futures(B) and broker.futures(B)[0].size_bytes > 300:
            break
    log = broker.log()
    assert log.delete_records_before(9)
    while log.has_segments_to_delete:
        log.delete_oldest_segment()
    broker.settle(1000)
    assert (broker.home(), values(log)) == (B, written(14)[9:])
    assert [name for name in fs.names(B / "t-0") if name.endswith(".log")] == [
        f"{segment.base_offset:020}.log" for segment in log.segments
    ]
    assert len(log.segments) == 2
    list(log.segments.remove_deleted_files(2))
    again = reopened(broker, fs)
    assert values(again.log()) == written(14)[9:]


def test_segments_that_are_replaced_meanwhile_are_copied_again(fs):
    broker = filled(fs, bytes_per_second=400)
    broker.alter(B)
    log = broker.log()
    for _ in range(200):
        broker.step()
        if broker.futures(B) and broker.futures(B)[0].size_bytes > 300:
            break
    broker.cleaning.add(log)
    old = log.segments[:2]
    cleaned = Segment(fs, log.folder, 0, log.config, SWAP_SUFFIX)
    kept = old[0].read_exactly(0, old[0].size_bytes // 4)
    cleaned.write_cleaned(memoryview(kept), 0)
    for header in cleaned.walk(0, len(kept), check_crc=True):
        cleaned.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)
    cleaned.save_indexes()
    assert log.replace_segments(old, cleaned)
    for _ in range(100):
        broker.step(100)
    assert broker.home() == A, "the log is being compacted"
    broker.cleaning.clear()
    broker.settle(1000)
    assert (broker.home(), values(log)) == (B, ["value-0", *written(14)[8:]])
    assert values(reopened(broker, fs).log()) == ["value-0", *written(14)[8:]]


def reopened(broker: MovingBroker, fs: MemoryFileSystem) -> MovingBroker:
    broker.close()
    return MovingBroker(fs)


def test_a_full_target_ends_the_move(fs):
    broker = filled(fs)
    broker.alter(B)
    fs.full.add("-future")
    with capture_logs() as lines:
        broker.settle()
    problems = [line for line in lines if line["log_level"] == "error"]
    assert [(line["log"], line["directory"]) for line in problems] == [("t-0", "/b")]
    assert "stays where it is" in problems[0]["event"]
    assert (broker.home(), broker.folders(), broker.assigned("t")[0]) == (A, ["/a/t-0"], A)
    fs.full.clear()
    assert broker.alter(B) is ErrorCode.NONE
    broker.settle()
    assert broker.home() == B


def test_a_target_that_is_full_from_the_beginning_is_a_storage_error(broker, fs):
    fs.full.add("/b/t-0")
    assert broker.alter(B) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not broker.moves.is_moving


def test_a_renaming_that_fails_leaves_the_partition_where_it_is(broker, fs):
    broker.alter(B)
    fs.no_renames_to.add("/b/t-0")
    with capture_logs() as lines:
        for _ in range(10):
            broker.step()
    assert [line["log"] for line in lines if line["log_level"] == "error" and "log" in line] == ["t-0"]
    fs.no_renames_to.clear()
    broker.settle()
    assert (broker.home(), values(broker.log()), broker.assigned("t")[0]) == (A, written(14), A)
    broker.put("value-14")
    assert values(reopened(broker, fs).log()) == written(15)


def test_a_log_that_cannot_be_renamed_back_is_not_written_any_more(broker, fs):
    broker.alter(B)
    fs.no_renames_to.update(("/b/t-0", "/a/t-0"))
    renamed = fs.rename

    def rename(path: Path, target: Path) -> None:
        if target.name.endswith("-delete") and path.name == "t-0":
            MemoryFileSystem.rename(fs, path, target)
        else:
            renamed(path, target)

    fs.rename = rename
    log = broker.log()
    for _ in range(10):
        broker.step()
    assert log.is_closed
    assert broker.partitions.locate("t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    fs.no_renames_to.clear()
    broker.close()
    again = MovingBroker(fs)
    assert (again.home(), values(again.log())) == (B, written(14))


@pytest.mark.parametrize("steps", range(8))
def test_a_target_that_fails_meanwhile_leaves_the_partition_where_it_is(fs, steps):
    broker = filled(fs)
    failures = with_failures(broker)
    broker.alter(B)
    for _ in range(steps):
        broker.step()
    failures.report(OSError(errno.EIO, "gone"), B / "t-0")
    for _ in range(50):
        broker.step(100)
    if "t-0" in fs.names(B):  # it was there before the directory was offline
        assert broker.partitions.locate("t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
        assert broker.assigned_ids("t")[0] == broker.id_of(B)
    else:
        assert (broker.home(), values(broker.log()), broker.assigned_ids("t")[0]) == (A, written(14), broker.id_of(A))
        assert broker.alter(B) is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.alter(C, "t", 1) is ErrorCode.KAFKA_STORAGE_ERROR
    broker.close()
    again = MovingBroker(fs)
    again.moves.resume_interrupted()
    again.settle()
    assert (again.home(), values(again.log()), again.folders()) == (B, written(14), ["/b/t-0"])


@pytest.mark.parametrize("steps", range(8))
def test_a_source_that_fails_meanwhile_decides_at_the_next_start(fs, steps):
    broker = filled(fs)
    broker.create("u", 1)
    broker.put("x", "u")
    failures = with_failures(broker)
    assert broker.home("t", 0) == A
    # A has the metadata log, so the partition leaves B.
    broker.alter(B)
    broker.settle()
    broker.alter(C)
    for _ in range(steps):
        broker.step()
    failures.report(OSError(errno.EIO, "gone"), B / "t-0")
    for _ in range(50):
        broker.step(100)
    if "t-0" in fs.names(C):  # it was there before the directory was offline
        assert values(broker.log()) == written(14)
    else:
        assert broker.partitions.locate("t", 0) is ErrorCode.KAFKA_STORAGE_ERROR
        assert broker.assigned_ids("t")[0] == broker.id_of(B)
    broker.close()
    again = MovingBroker(fs)
    assert values(again.log()) == written(14)
    again.moves.resume_interrupted()
    again.settle()
    assert (again.home(), values(again.log()), again.folders()) == (C, written(14), ["/c/t-0"])


def test_a_change_of_the_metadata_that_cannot_be_stored_ends_the_move(broker, monkeypatch):
    def fail(*_: object) -> None:
        raise LogAppendError("the disk is full")

    broker.alter(B)
    monkeypatch.setattr(broker.store, "assign_directories", fail)
    with capture_logs() as lines:
        for _ in range(10):
            broker.step()
    assert "the disk is full" in str([line.get("problem") for line in lines])
    assert (broker.home(), broker.folders(), values(broker.log())) == (A, ["/a/t-0"], written(14))
    monkeypatch.undo()
    broker.put("value-14")
    broker.alter(B)
    broker.settle()
    assert (broker.home(), values(broker.log())) == (B, written(15))


@pytest.mark.parametrize("steps", range(8))
def test_a_clean_stop_in_between_leaves_an_empty_copy_with_which_the_next_start_begins(fs, steps):
    broker = filled(fs, bytes_per_second=2000)
    broker.alter(B)
    for _ in range(steps):
        broker.step()
    broker.moves.stop()
    broker.threads.work()
    broker.moves.close()
    was_moved = broker.home() == B
    futures = [B / name for name in fs.names(B) if name.endswith("-future")]
    assert [fs.names(future) for future in futures] == [["partition.metadata", "source.metadata"]] * (not was_moved)
    broker.close()
    again = MovingBroker(fs)
    assert values(again.log()) == written(14)
    again.moves.resume_interrupted()
    again.settle()
    assert (again.home(), values(again.log()), again.folders()) == (B, written(14), ["/b/t-0"])
    assert again.assigned("t")[0] == B


def test_a_flush_that_is_wanted_during_the_end_of_a_move_comes_after_it(fs):
    broker = MovingBroker(fs, ALWAYS)
    broker.create("t", 1)
    broker.put("value-0")
    broker.step()
    broker.step()
    broker.alter(B)
    durable: list[int] = []
    for number in range(1, 40):
        broker.put(f"value-{number}")
        broker.flusher.when_durable(partial(lambda which, _: durable.append(which), number))
        broker.flusher.request_flush(broker.log())
        broker.step()
    broker.settle()
    assert durable == list(range(1, 40))
    assert (broker.home(), broker.log().recovery_point) == (B, 40)


def moved_to_and_fro(broker: MovingBroker, write: Callable[[], None]) -> None:
    for target in (B, C, A, B):
        broker.alter(target)
        for _ in range(60):
            broker.step(between=write)
            if not broker.moves.is_moving:
                break
        assert broker.home() == target


def test_a_partition_that_is_written_all_the_time_moves_to_and_fro(broker, fs):
    count = 14

    def write() -> None:
        nonlocal count
        broker.put(f"value-{count}")
        count += 1

    moved_to_and_fro(broker, write)
    assert values(broker.log()) == written(count)
    assert broker.folders() == ["/b/t-0"]
    assert values(reopened(broker, fs).log()) == written(count)


def test_the_index_of_the_active_segment_has_all_entries_after_a_move(fs):
    broker = MovingBroker(fs)
    broker.create("t", 1)
    log = broker.log()
    log.configure(replace(log.config, segment_bytes=SEGMENT_BYTES * 10, index_interval_bytes=0))
    for number in range(6):
        log.append(batch(f"value-{number}"), 0, broker.now_ms)
    # As after a start: the file has what there was, and more comes.
    log.segments[0].save_indexes()
    before = fs.content(A / "t-0" / f"{0:020}.index")
    broker.alter(B)
    broker.settle()
    assert broker.home() == B
    for number in range(6, 12):
        log.append(batch(f"value-{number}"), 0, broker.now_ms)
    log.roll()
    entries = len(log.segments[0].offset_index.offsets)
    assert entries * 8 == len(fs.content(B / "t-0" / f"{0:020}.index")) > len(before) > 0
    assert bytes(fs.content(B / "t-0" / f"{0:020}.index"))[: len(before)] == bytes(before)
