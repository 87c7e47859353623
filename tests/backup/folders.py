"""Data folders with some topics, records and committed offsets."""

from pathlib import Path
from typing import Final

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.log.batches import batch
from tests.servers import RunningServer
from tests.wire_client import WireClient, fetch_request

TOPIC: Final = "orders"
GROUP: Final = "billing"


def produce(client: WireClient, count: int, topic: str = TOPIC) -> None:
    for _ in range(count):
        assert client.produce(topic, bytes(batch("value"))).error_code == 0


def commit(client: WireClient, offset: int, group_id: str = GROUP) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(
        group_id=group_id, topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    )
    ((answered,),) = [topic.partitions for topic in client.request(request, 8).topics]
    assert answered.error_code == 0


def committed(client: WireClient, group_id: str = GROUP) -> int:
    request = OffsetFetchRequest(group_id=group_id, topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])])
    offset: int = client.request(request, 5).topics[0].partitions[0].committed_offset
    return offset


def log_end_offset(client: WireClient, topic: str = TOPIC) -> int:
    answered = client.request(fetch_request(topic), 11).responses[0].partitions[0]
    assert answered.error_code == 0
    end: int = answered.high_watermark
    return end


def filled_folder(folder: Path, records: int = 5) -> Path:
    """The data folder of a server that was stopped, with so many records, and a commit behind the last one."""
    with RunningServer(folder) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic(TOPIC)
            produce(client, records)
            commit(client, records)
        assert server.stop() == 0
    return server.data
