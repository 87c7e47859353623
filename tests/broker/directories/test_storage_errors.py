"""A full disk, as clients and operators see it."""

import errno

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from coordinator.broker.directories import storage_errors
from coordinator.broker.directories.storage_errors import LINES_MAX, NAMES_MAX, StorageErrors
from tests.broker.virtual_broker import VirtualBroker, batch
from tests.captured_logs import capture_logs


@pytest.fixture
def seconds(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(storage_errors, "monotonic", lambda: now[0])
    return now


def test_a_full_disk_is_a_storage_error_with_one_line_and_heals(seconds):
    broker = VirtualBroker()
    broker.create_topic("t", 2)
    assert broker.produce("t", batch(b"before")).error_code == ErrorCode.NONE
    broker.fs.is_full = True
    with capture_logs() as lines:
        errors = [broker.produce("t", batch(b"lost"), partition).error_code for partition in (0, 0, 0, 1)]
        seconds[0] += storage_errors.AGAIN_AFTER_SECONDS
        broker.produce("t", batch(b"lost"))
    assert errors == [ErrorCode.KAFKA_STORAGE_ERROR] * 4
    assert [(line["log"], line["more"]) for line in lines] == [("t-0", 0), ("t-1", 0), ("t-0", 2)]
    assert "No space left" in lines[0]["problem"]
    wanted = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1_000)])
    assert broker.fetch(FetchRequest(max_bytes=1_000, topics=[wanted])).values == [b"before"]
    broker.fs.heal()
    assert broker.produce("t", batch(b"after")).base_offset == 1
    broker.close(clean=True)
    assert VirtualBroker(fs=broker.fs).partitions.get("t", 0).log_end_offset == 2


def test_a_new_topic_does_not_get_the_log_of_a_deleted_one_that_cannot_be_renamed(monkeypatch):
    broker = VirtualBroker()
    broker.create_topic("t", 2)
    assert broker.produce("t", batch(b"old")).error_code == ErrorCode.NONE
    with capture_logs() as lines:
        with monkeypatch.context() as failing:

            def fail(path, target):
                raise OSError(errno.EIO, "Input/output error")

            failing.setattr(broker.fs, "rename", fail)
            broker.topics.delete(["t"], 0)
            broker.end_iteration()
            broker.create_topic("t", 2)
            assert broker.produce("t", batch(b"new")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert broker.produce("t", batch(b"new")).base_offset == 0
    assert [line["event"] for line in lines] == [
        "cannot delete the logs of a topic; what is left is set aside at the next start",
        "cannot open a log; the others are served",
    ]
    broker.close(clean=True)


def test_many_logs_are_not_remembered_for_ever(seconds):
    errors = StorageErrors("it is full")
    with capture_logs() as lines:
        for number in range(NAMES_MAX + 1):
            errors.report(f"t-{number}", OSError("full"))
            seconds[0] += storage_errors.AGAIN_AFTER_SECONDS / LINES_MAX
    assert len(lines) == NAMES_MAX + 1
    assert len(errors._reported) <= NAMES_MAX


def test_of_many_logs_that_fail_at_the_same_time_some_are_named(seconds):
    errors = StorageErrors("it is full")
    with capture_logs() as lines:
        for _ in range(3):
            for number in range(500):
                errors.report(f"t-{number}", OSError("full"))
        assert [line["log"] for line in lines] == [f"t-{number}" for number in range(LINES_MAX)]
        seconds[0] += storage_errors.AGAIN_AFTER_SECONDS
        errors.report("t-100", OSError("full"))
        errors.report("t-0", OSError("full"))
    assert (lines[-2]["log"], lines[-2]["elsewhere"]) == ("t-100", 3 * (500 - LINES_MAX))
    assert (lines[-1]["log"], lines[-1]["more"]) == ("t-0", 2)
    assert "elsewhere" not in lines[-1]
