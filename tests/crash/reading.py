"""Reads whole partitions, as a consumer without a group does."""

from collections.abc import Iterator

from _wire.errors import ErrorCode
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.records import Record, batch_headers, parse_records
from tests.wire_client import WireClient, fetch_request

FETCH_VERSION = 11
LIST_OFFSETS_VERSION = 7
EARLIEST, LATEST = -2, -1


def offset_at(client: WireClient, topic: str, partition: int, timestamp: int) -> int:
    """The log start offset (EARLIEST) or the log end offset (LATEST)."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=-1)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    (found,) = client.request(request, LIST_OFFSETS_VERSION).topics[0].partitions
    assert found.error_code == ErrorCode.NONE, f"ListOffsets of {topic}-{partition}: error {found.error_code}"
    return int(found.offset)


def read_all(client: WireClient, topic: str, partition: int) -> Iterator[Record]:
    """The records of a partition, from its log start offset to its log end offset."""
    offset, end = (offset_at(client, topic, partition, each) for each in (EARLIEST, LATEST))
    while offset < end:
        request = fetch_request(topic, offset, partition=partition)
        fetched = client.request(request, FETCH_VERSION).responses[0].partitions[0]
        assert fetched.error_code == ErrorCode.NONE, f"Fetch of {topic}-{partition} at {offset}: {fetched.error_code}"
        data = fetched.records or b""
        headers = batch_headers(data)
        assert headers, f"Fetch of {topic}-{partition} at {offset}: no batch, though the log ends at {end}"
        # Compaction may have left batches without records.
        yield from (record for record in parse_records(data) if record.offset >= offset)
        offset = headers[-1].next_offset
