"""What the servers have stored: the records of states and of groups, by key, in order, without times."""

from collections.abc import Iterator
from typing import Any, Final

from _wire.embedded import decode_versioned, prefix_of, record_formats
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.records import parse_records
from coordinator.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from tests.differential.share.requests import GROUPS, PREPARING, Side

FETCH_VERSION: Final = 4
BYTES: Final = 1 << 22
GROUP_PARTITIONS: Final = 4


def state_records(side: Side, partitions: int) -> dict[str, list[Any]]:
    """Share partition → (type of record, its value; None: a tombstone)"""
    found: dict[str, list[Any]] = {}
    for record_type, key, value in _records(side, SHARE_STATE_TOPIC, partitions):
        if not key["group_id"].startswith(PREPARING):
            if value is not None and "create_timestamp" in value:
                value["is_new"] = value.pop("create_timestamp") == value.pop("write_timestamp")
            found.setdefault(str(key), []).append((record_type, value))
    return found


def group_records(side: Side, partitions: int) -> dict[str, list[Any]]:
    """Group → (type of record, its key and value)"""
    found: dict[str, list[Any]] = {}
    for record_type, key, value in _records(side, OFFSETS_TOPIC, GROUP_PARTITIONS):
        if key["group_id"] in GROUPS:
            found.setdefault(key["group_id"], []).append((record_type, key, value))
    return found


def _records(side: Side, topic: str, partitions: int) -> Iterator[tuple[int, Any, Any]]:
    formats = record_formats(topic)
    for partition in range(partitions):
        offset = 0
        while data := _fetched(side, topic, partition, offset):
            for record in parse_records(data):
                offset = record.offset + 1
                record_type = prefix_of(record.key or b"")
                key = side.plain(decode_versioned(formats[record_type].key, record.key or b""))
                value = record.value
                told = None if value is None else side.plain(decode_versioned(formats[record_type].value, value))
                yield record_type, key, told


def _fetched(side: Side, topic: str, partition: int, offset: int) -> bytes:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=BYTES)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=BYTES, topics=[FetchTopic(topic=topic, partitions=[wanted])]
    )
    (response,) = side.client.request(request, FETCH_VERSION).responses
    return bytes(response.partitions[0].records or b"")
