"""After an import from Kafka the leader epoch of all partitions is above that of Kafka."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from coordinator.broker.data.fetch import READ_FIRST_BYTES_MAX
from coordinator.broker.data.list_offsets import list_offsets
from coordinator.broker.data.producers import Marker
from coordinator.broker.data.transaction_markers import MarkerWriter
from coordinator.metadata.records import LeaderEpochRecord
from coordinator.runtime.slices import at_once
from tests.broker.virtual_broker import START_MS, VirtualBroker, batch
from tests.wire_client import fetch_request

EPOCH = 5


def leader_epochs(broker: VirtualBroker) -> list[int]:
    batches = (bytes(data) for _, data in broker.partitions.get("topic", 0).batches(0))
    return [int.from_bytes(data[12:16], "big", signed=True) for data in batches]


def test_what_is_written_and_answered_has_the_leader_epoch_of_the_metadata():
    broker = VirtualBroker()
    broker.create_topic("topic")
    broker.produce("topic", batch(b"before"))
    broker.metadata_store.append_all([LeaderEpochRecord(EPOCH)], START_MS)
    broker.produce("topic", batch(b"after", producer_id=7, producer_epoch=0, base_sequence=0))
    writer = MarkerWriter(broker.partitions, broker.producers, broker.notifier, broker.clock.now_ms)
    at_once(writer.write("topic", 0, Marker(7, 0, True, EPOCH, 0)))
    assert leader_epochs(broker) == [0, EPOCH, EPOCH]
    wanted = ListOffsetsTopic(name="topic", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    response = at_once(list_offsets(ListOffsetsRequest(topics=[wanted]), 7, broker.partitions, broker.load))
    assert [partition.leader_epoch for partition in response.topics[0].partitions] == [EPOCH]


FENCED, UNKNOWN, NONE = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NONE
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1


@pytest.fixture
def after_an_import() -> VirtualBroker:
    """A broker at EPOCH, with one record in `topic`."""
    broker = VirtualBroker()
    broker.create_topic("topic")
    broker.metadata_store.append_all([LeaderEpochRecord(EPOCH)], START_MS)
    broker.produce("topic", batch(b"a"))
    return broker


@pytest.mark.parametrize("min_bytes", [1, READ_FIRST_BYTES_MAX + 1])
@pytest.mark.parametrize(
    "claimed, error",
    [
        *((EPOCH, NONE), (-1, NONE), (INT32_MIN, NONE)),
        *((0, FENCED), (EPOCH - 1, FENCED), (EPOCH + 1, UNKNOWN), (INT32_MAX, UNKNOWN)),
    ],
)
def test_fetch_checks_the_epoch_before_the_offset_and_never_waits_with_an_error(
    after_an_import, claimed, error, min_bytes
):
    for offset in (0, 99):
        request = fetch_request("topic", offset, max_wait_ms=1, min_bytes=min_bytes)
        request.topics[0].partitions[0].current_leader_epoch = claimed
        fetched = after_an_import.fetch(request)
        after_an_import.advance(1 if error is NONE else 0)
        expected = ErrorCode.OFFSET_OUT_OF_RANGE if error is NONE and offset else error
        assert fetched.partition.error_code == expected
        if error is not NONE:
            assert fetched.partition.aborted_transactions is None
            assert fetched.partition.high_watermark == -1


@pytest.mark.parametrize(
    "claimed, error",
    [
        *((EPOCH, NONE), (-1, NONE), (-2, FENCED), (INT32_MIN, FENCED)),
        *((EPOCH - 1, FENCED), (EPOCH + 1, UNKNOWN), (INT32_MAX, UNKNOWN)),
    ],
)
def test_list_offsets_ignores_no_epoch_but_minus_1(after_an_import, claimed, error):
    wanted = [
        ListOffsetsTopic(
            name="topic",
            partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=claimed)],
        )
        for timestamp in (-1, -99)
    ]
    answered = []
    for topic in wanted:
        request = ListOffsetsRequest(topics=[topic])
        response = at_once(list_offsets(request, 7, after_an_import.partitions, after_an_import.load))
        answered += response.topics[0].partitions
    assert [each.error_code for each in answered] == [error, ErrorCode.UNSUPPORTED_VERSION]
    assert answered[0].offset == (1 if error is NONE else -1)
