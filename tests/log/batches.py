"""Batches for logs of tests."""

from _wire.records import Record, build_batch, parse_records
from coordinator.log.partition.partition_log import PartitionLog

START_MS = 1_700_000_000_000


def batch(*values: str, timestamp_ms: int = START_MS, padding_bytes: int = 0) -> bytearray:
    """One batch with a record per value."""
    return bytearray(
        build_batch([(b"k" * padding_bytes, value.encode(), ()) for value in values], timestamp_ms=timestamp_ms)
    )


def values(data: bytes) -> list[str]:
    return [text(record) for record in parse_records(data)]


def text(record: Record) -> str:
    assert record.value is not None, record
    return record.value.decode()


def everything(log: PartitionLog) -> list[str]:
    """The value of every record, in order; their offsets are checked on the way."""
    found: list[str] = []
    expected = log.log_start_offset
    for _, data in log.batches(log.log_start_offset):
        for record in parse_records(data):
            if record.offset >= log.log_start_offset:
                assert record.offset == expected
                found.append(text(record))
                expected += 1
    assert expected == log.log_end_offset
    return found


def filled(log: PartitionLog, count: int, *, step_ms: int = 1, padding_bytes: int = 0) -> PartitionLog:
    """The log with `count` more batches of one record, numbered and timed by their offset."""
    for offset in range(log.log_end_offset, log.log_end_offset + count):
        new = batch(str(offset), timestamp_ms=START_MS + offset * step_ms, padding_bytes=padding_bytes)
        log.append(new, leader_epoch=0, now_ms=START_MS)
    return log
