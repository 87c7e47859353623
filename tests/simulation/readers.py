"""Consumers of partitions: what a Fetch says, and what is left without the records of aborted transactions."""

from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.records import batch_headers, parse_batch
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.calls import Ask

if TYPE_CHECKING:
    from tests.simulation.record_traffic import RecordTraffic

FETCH_VERSION: Final = 11
READ_COMMITTED: Final = 1
ABORT: Final = b"\0\0\0\0"
"""The key of the marker of an aborted transaction: version and type."""
FETCH_BYTES: Final = 1 << 20

Records = list[tuple[int, bytes]]
"""Offset and value."""


def fetch_request(tp: TopicPartition, offset: int, isolation_level: int, max_wait_ms: int = 0) -> FetchRequest:
    """Of one partition."""
    wanted = FetchPartition(partition=tp.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        isolation_level=isolation_level,
        session_epoch=-1,
        topics=[FetchTopic(topic=tp.topic, partitions=[wanted])],
    )


def visible_records(partition: Any, offset: int) -> tuple[Records, int]:
    """The records of a response, without those of aborted transactions, and the offset of the next Fetch."""
    data = bytes(partition.records or b"")
    aborted = sorted(partition.aborted_transactions or (), key=lambda each: -each.first_offset)
    skipped: set[int] = set()
    records: Records = []
    next_offset = offset
    for header in batch_headers(data):
        while aborted and aborted[-1].first_offset <= header.last_offset:
            skipped.add(aborted.pop().producer_id)
        found = parse_batch(data[header.position : header.position + header.size_in_bytes])[1]
        if header.is_control:
            if found[0].key == ABORT:
                skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            records += [(each.offset, each.value or b"") for each in found if each.offset >= offset]
        next_offset = header.next_offset
    return records, next_offset


def read_partition(harness: "RecordTraffic", tp: TopicPartition, isolation_level: int) -> Records:
    """All that a consumer gets from the first record on, until there is no more."""
    records: Records = []
    offset = harness.log(tp).log_start_offset
    while True:
        call = harness.call(Ask(fetch_request(tp, offset, isolation_level), FETCH_VERSION), "reader")
        harness.server.loop.turn_until_idle()
        ((partition,),) = (topic.partitions for topic in call.response.responses)
        assert partition.error_code == ErrorCode.NONE, (tp, ErrorCode(partition.error_code).name)
        assert partition.last_stable_offset <= partition.high_watermark, partition
        if not partition.records:
            return records
        found, offset = visible_records(partition, offset)
        if isolation_level == READ_COMMITTED:
            assert offset <= partition.last_stable_offset, f"{tp}: read past the last stable offset: {partition}"
        records += found
