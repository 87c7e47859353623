"""After an import from Kafka the leader epoch of all partitions is above that of Kafka."""

from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from coordinator.broker.list_offsets import list_offsets
from coordinator.broker.producers import Marker
from coordinator.broker.slices import at_once
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.metadata.records import LeaderEpochRecord
from tests.broker.virtual_broker import START_MS, VirtualBroker, batch

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
    assert [each.leader_epoch for each in response.topics[0].partitions] == [EPOCH]
