"""A member of a share group that fetches and accepts 100 records at a time, as its requests are counted."""

import time
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.share_acknowledge import AcknowledgementBatch as AcknowledgedBatch
from _wire.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest
from _wire.messages.share_fetch import AcknowledgementBatch, FetchPartition, FetchTopic, ShareFetchRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.records import build_batch
from tests.bench.instructions.counting import START_SECONDS
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "share-records"
RECORDS: Final = 100
"""Of a batch, and of a fetch: each fetch has one batch, whole."""
FETCHES: Final = 1_000
"""As many as all measurements of a server need together."""
MAX_WAIT_MS: Final = 60_000
"""For the first fetch, which loads the share partition."""
ACCEPT: Final = 1
GROUP_RESOURCE: Final = 32


class RecordsOfShareGroup:
    """The share partition of one member. Its records are produced before the first fetch, which is not counted."""

    def __init__(self, client: WireClient, group_id: str, member_id: str) -> None:
        self._client = client
        self._group_id, self._member_id = group_id, member_id
        self._topic_id = b""
        self._session_epoch = 0
        self._held: dict[str, Any] | None = None
        """The offsets that were fetched and are not accepted, as an acknowledgement has them."""

    def fetch(self) -> None:
        """Fetch 100 records, and accept those that are held."""
        if not self._topic_id:
            self._prepare()
        topics = []
        if self._held is not None or not self._session_epoch:
            batches = [] if self._held is None else [AcknowledgementBatch(**self._held)]
            partition = FetchPartition(partition_index=0, acknowledgement_batches=batches)
            topics = [FetchTopic(topic_id=self._topic_id, partitions=[partition])]
        request = ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._session_epoch,
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=RECORDS,
            batch_size=RECORDS,
            topics=topics,
        )
        answer = self._client.request(request, 2)
        assert answer.error_code == ErrorCode.NONE, answer
        self._session_epoch += 1
        (topic,) = answer.responses
        (found,) = topic.partitions
        assert found.acknowledge_error_code == ErrorCode.NONE, found
        (acquired,) = found.acquired_records
        assert acquired.last_offset - acquired.first_offset + 1 == RECORDS, acquired
        self._held = {
            "first_offset": acquired.first_offset,
            "last_offset": acquired.last_offset,
            "acknowledge_types": [ACCEPT],
        }

    def acknowledge_and_fetch(self) -> None:
        """The same by two requests."""
        if self._held is not None:
            partition = AcknowledgePartition(
                partition_index=0, acknowledgement_batches=[AcknowledgedBatch(**self._held)]
            )
            request = ShareAcknowledgeRequest(
                group_id=self._group_id,
                member_id=self._member_id,
                share_session_epoch=self._session_epoch,
                topics=[AcknowledgeTopic(topic_id=self._topic_id, partitions=[partition])],
            )
            (topic,) = self._client.request(request, 2).responses
            assert topic.partitions[0].error_code == ErrorCode.NONE, topic
            self._session_epoch += 1
            self._held = None
        self.fetch()

    def _prepare(self) -> None:
        """Make the topic, its records and the group, which is assigned the topic's one partition."""
        client = self._client
        config = AlterableConfig(name="share.auto.offset.reset", value="earliest")
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self._group_id, configs=[config])
        altered = client.request(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert altered.responses[0].error_code == ErrorCode.NONE, altered
        self._topic_id = client.create_topic(TOPIC)
        batch = build_batch([(None, bytes(100), ())] * RECORDS, timestamp_ms=round(time.time() * 1000))
        for _ in range(FETCHES):
            assert client.produce(TOPIC, batch).error_code == ErrorCode.NONE
        joining = ShareGroupHeartbeatRequest(
            group_id=self._group_id, member_id=self._member_id, subscribed_topic_names=[TOPIC]
        )

        def is_assigned() -> bool:
            answer = client.request(joining, 1)
            return bool(answer.assignment and answer.assignment.topic_partitions)

        wait_for(is_assigned, START_SECONDS, "the share group")
