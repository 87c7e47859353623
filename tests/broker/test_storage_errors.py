"""A full disk, as clients and operators see it."""

import pytest
from structlog.testing import capture_logs

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from coordinator.broker import storage_errors
from coordinator.broker.storage_errors import NAMES_MAX, StorageErrors
from tests.broker.virtual_broker import VirtualBroker, batch


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


def test_many_logs_are_not_remembered_for_ever(seconds):
    errors = StorageErrors("it is full")
    with capture_logs() as lines:
        for number in range(NAMES_MAX + 1):
            errors.report(f"t-{number}", OSError("full"))
        errors.report("t-0", OSError("full"))
    assert [line["log"] for line in lines[-2:]] == [f"t-{NAMES_MAX}", "t-0"]
