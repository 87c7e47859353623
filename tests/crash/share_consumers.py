"""A member of a share group (KIP-932), which knows what it has accepted or rejected as far as that was acknowledged."""

from collections.abc import Iterable
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.read_share_group_state import ReadShareGroupStateRequest, StatePartition, StateTopic
from _wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from _wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.records import build_batch
from tests.crash.workers import RETRIABLE, Worker, create
from tests.wire_client import WireClient

HEARTBEAT_VERSION, FETCH_VERSION, ACKNOWLEDGE_VERSION, STATE_VERSION, CONFIGS_VERSION = 1, 2, 2, 0, 1
GROUP_RESOURCE: Final = 32
DELIVERIES_MAX: Final = 10
CONFIGS: Final = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": str(DELIVERIES_MAX)}
ACCEPT, RELEASE, REJECT = 1, 2, 3
DONE_STATES: Final = frozenset({2, 4})
"""Acknowledged and archived, as they are stored."""
NOT_CHECKED: Final = -1
"""The epoch of a leader that fences nobody."""
RECORDS_MAX: Final = 10
PARTITIONS: Final = 2


class ShareConsumer(Worker):
    """No record that it has accepted or rejected is delivered again, and no other one is given up."""

    def __init__(self, group_id: str, seed: int) -> None:
        super().__init__(group_id, seed)
        self._topic_id = b""
        self._is_assigned = False
        self._client: WireClient | None = None
        """Its connection: what it held on an earlier one is released."""
        self._session_epoch = 0
        self._held: dict[int, dict[int, int]] = {}
        """Partition → offset → how often it was delivered, of those that it holds."""
        self._produced: list[set[int]] = [set() for _ in range(PARTITIONS)]
        self._done: list[set[int]] = [set() for _ in range(PARTITIONS)]
        self._perhaps_done: list[set[int]] = [set() for _ in range(PARTITIONS)]
        """Offsets whose acknowledgement was not answered, and those that the next release archives."""

    @property
    def topic(self) -> str:
        return f"{self.name}-records"

    def work(self, client: WireClient) -> None:
        if client is not self._client:
            self._client, self._session_epoch, self._held = client, 0, {}
        if not self._is_assigned:
            self._join(client)
        elif self._held and self.random.random() < 0.6:
            self._acknowledge(client)
        elif self.random.random() < 0.4:
            self._produce(client)
        else:
            self._fetch(client)

    def _join(self, client: WireClient) -> None:
        if not self._topic_id:
            configs = [AlterableConfig(name=name, value=value) for name, value in CONFIGS.items()]
            resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self.name, configs=configs)
            altered = client.request(IncrementalAlterConfigsRequest(resources=[resource]), CONFIGS_VERSION)
            assert altered.responses[0].error_code == NONE, altered
            create(client, self.topic, PARTITIONS)
        request = ShareGroupHeartbeatRequest(
            group_id=self.name, member_id=f"{self.name}-member", subscribed_topic_names=[self.topic]
        )
        answer = client.request(request, HEARTBEAT_VERSION)
        if answer.error_code in RETRIABLE:
            return
        assert answer.error_code == NONE, f"ShareGroupHeartbeat: error {answer.error_code}"
        for topic in answer.assignment.topic_partitions if answer.assignment else ():
            self._topic_id, self._is_assigned = topic.topic_id, len(topic.partitions) == PARTITIONS
        self.acknowledged["share heartbeats"] += 1

    def _produce(self, client: WireClient) -> None:
        partition, count = self.random.randrange(PARTITIONS), self.random.randint(1, RECORDS_MAX)
        answer = client.produce(self.topic, build_batch([(None, b"value", ())] * count), partition=partition)
        assert answer.error_code == NONE, f"{self.topic}-{partition}: error {answer.error_code}"
        self._produced[partition].update(range(answer.base_offset, answer.base_offset + count))

    def _fetch(self, client: WireClient) -> None:
        topics = []
        if not self._session_epoch:
            partitions = [FetchPartition(partition_index=index) for index in range(PARTITIONS)]
            topics = [FetchTopic(topic_id=self._topic_id, partitions=partitions)]
        request = ShareFetchRequest(
            group_id=self.name,
            member_id=self.name,
            share_session_epoch=self._session_epoch,
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=RECORDS_MAX,
            batch_size=RECORDS_MAX,
            topics=topics,
        )
        answer = client.request(request, FETCH_VERSION)
        assert answer.error_code == NONE, f"ShareFetch: error {answer.error_code}"
        self._session_epoch += 1
        for found in (partition for topic in answer.responses for partition in topic.partitions):
            assert found.error_code == NONE or found.error_code in RETRIABLE, f"ShareFetch: error {found.error_code}"
            for acquired in found.acquired_records:
                self._take(found.partition_index, acquired)

    def _take(self, partition: int, acquired: Any) -> None:
        offsets = range(acquired.first_offset, acquired.last_offset + 1)
        again = self._done[partition].intersection(offsets)
        assert not again, (
            f"{self.topic}-{partition}: {sorted(again)} were accepted or rejected, and are delivered again"
        )
        assert 1 <= acquired.delivery_count <= DELIVERIES_MAX, f"delivered {acquired.delivery_count} times"
        self._held.setdefault(partition, {}).update(dict.fromkeys(offsets, acquired.delivery_count))
        if acquired.delivery_count == DELIVERIES_MAX:
            self._perhaps_done[partition].update(offsets)
        self.acknowledged["records acquired"] += len(offsets)

    def _acknowledge(self, client: WireClient) -> None:
        partition = self.random.choice(list(self._held))
        held = self._held.pop(partition)
        types = {offset: self._type_for(count) for offset, count in held.items()}
        done = {offset for offset, type_ in types.items() if type_ != RELEASE}
        self._perhaps_done[partition] |= done
        request = ShareAcknowledgeRequest(
            group_id=self.name,
            member_id=self.name,
            share_session_epoch=self._session_epoch,
            topics=[
                AcknowledgeTopic(
                    topic_id=self._topic_id,
                    partitions=[
                        AcknowledgePartition(partition_index=partition, acknowledgement_batches=_batches(types))
                    ],
                )
            ],
        )
        answer = client.request(request, ACKNOWLEDGE_VERSION)
        assert answer.error_code == NONE, f"ShareAcknowledge: error {answer.error_code}"
        self._session_epoch += 1
        ((answered,),) = (topic.partitions for topic in answer.responses)
        if answered.error_code in RETRIABLE:
            return
        assert answered.error_code == NONE, f"ShareAcknowledge: error {answered.error_code}"
        self._perhaps_done[partition] -= done
        self._done[partition] |= done
        self.acknowledged["records accepted or rejected"] += len(done)

    def _type_for(self, delivery_count: int) -> int:
        """What is delivered for the last time is not released, so that nothing is archived but what is rejected."""
        weights = (70, 0, 10) if delivery_count == DELIVERIES_MAX else (70, 20, 10)
        return self.random.choices((ACCEPT, RELEASE, REJECT), weights)[0]

    def check(self, client: WireClient) -> None:
        if not self._is_assigned:
            return
        for partition in range(PARTITIONS):
            stored = self._stored(client, partition)
            where = f"{self.topic}-{partition}"
            done, perhaps = self._done[partition], self._perhaps_done[partition]
            lost = sorted(done - stored)
            assert not lost, f"{where}: {lost} were accepted or rejected, and would be delivered again"
            given_up = sorted((self._produced[partition] - done - perhaps) & stored)
            assert not given_up, f"{where}: {given_up} were neither accepted nor rejected, and nobody would get them"
            # From now on they may not change back, though they were not acknowledged.
            done |= perhaps & stored
            perhaps.clear()

    def _stored(self, client: WireClient, partition: int) -> set[int]:
        """The offsets that are stored as done, of those that were produced."""
        asked = StateTopic(
            topic_id=self._topic_id, partitions=[StatePartition(partition=partition, leader_epoch=NOT_CHECKED)]
        )
        request = ReadShareGroupStateRequest(group_id=self.name, topics=[asked])
        ((state,),) = (result.partitions for result in client.request(request, STATE_VERSION).results)
        while state.error_code in RETRIABLE:
            ((state,),) = (result.partitions for result in client.request(request, STATE_VERSION).results)
        assert state.error_code == NONE, f"{self.topic}-{partition}: {ErrorCode(state.error_code).name} of its state"
        found = set(range(state.start_offset))
        for batch in state.state_batches:
            if batch.delivery_state in DONE_STATES:
                found.update(range(batch.first_offset, batch.last_offset + 1))
        return found


def _batches(types: dict[int, int]) -> Iterable[AcknowledgementBatch]:
    """A batch for each record: they may have gaps between them."""
    return [
        AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[type_])
        for offset, type_ in sorted(types.items())
    ]
