"""Each number of the requests of share groups at its limits, at a share partition that is there (KIP-932)."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages import alter_share_group_offsets as altering
from _wire.messages import delete_share_group_state as deleting_state
from _wire.messages import describe_share_group_offsets as describing
from _wire.messages import initialize_share_group_state as initializing
from _wire.messages import read_share_group_state as reading
from _wire.messages import read_share_group_state_summary as summarizing
from _wire.messages import share_acknowledge as acknowledging
from _wire.messages import share_fetch as fetching
from _wire.messages import write_share_group_state as writing
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.notation import read_definitions
from coordinator.testing import Coordinator
from tests.hostile.random_requests import INT_BITS
from tests.waiting import wait_for
from tests.wire_client import WireClient

GROUP: Final = "g"
DEFINITIONS: Final = {definition.name: definition for definition in read_definitions() if definition.kind == "api"}
SECONDS: Final = 20


def of_heartbeat(topic_id: bytes) -> Any:
    return ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id="other", member_epoch=0, subscribed_topic_names=["orders"]
    )


def of_fetch(topic_id: bytes) -> Any:
    batches = [fetching.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])]
    partitions = [fetching.FetchPartition(partition_index=0, acknowledgement_batches=batches)]
    return fetching.ShareFetchRequest(
        group_id=GROUP,
        member_id="m",
        share_session_epoch=1,
        max_wait_ms=0,
        max_records=10,
        batch_size=10,
        topics=[fetching.FetchTopic(topic_id=topic_id, partitions=partitions)],
    )


def of_acknowledge(topic_id: bytes) -> Any:
    batches = [acknowledging.AcknowledgementBatch(first_offset=0, last_offset=1, acknowledge_types=[2])]
    partitions = [acknowledging.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)]
    topics = [acknowledging.AcknowledgeTopic(topic_id=topic_id, partitions=partitions)]
    return acknowledging.ShareAcknowledgeRequest(group_id=GROUP, member_id="m", share_session_epoch=1, topics=topics)


def of_initialize(topic_id: bytes) -> Any:
    partitions = [initializing.StatePartition(partition=0, state_epoch=1, start_offset=0)]
    topics = [initializing.StateTopic(topic_id=topic_id, partitions=partitions)]
    return initializing.InitializeShareGroupStateRequest(group_id=GROUP, topics=topics)


def of_read(topic_id: bytes) -> Any:
    topics = [reading.StateTopic(topic_id=topic_id, partitions=[reading.StatePartition(partition=0)])]
    return reading.ReadShareGroupStateRequest(group_id=GROUP, topics=topics)


def of_write(topic_id: bytes) -> Any:
    batches = [writing.StateBatch(first_offset=0, last_offset=0, delivery_state=2, delivery_count=1)]
    partitions = [writing.StatePartition(partition=0, state_epoch=1, start_offset=0, state_batches=batches)]
    topics = [writing.StateTopic(topic_id=topic_id, partitions=partitions)]
    return writing.WriteShareGroupStateRequest(group_id=GROUP, topics=topics)


def of_delete(topic_id: bytes) -> Any:
    partitions = [deleting_state.StatePartition(partition=0)]
    topics = [deleting_state.StateTopic(topic_id=topic_id, partitions=partitions)]
    return deleting_state.DeleteShareGroupStateRequest(group_id=GROUP, topics=topics)


def of_summary(topic_id: bytes) -> Any:
    partitions = [summarizing.StatePartition(partition=0)]
    topics = [summarizing.StateTopic(topic_id=topic_id, partitions=partitions)]
    return summarizing.ReadShareGroupStateSummaryRequest(group_id=GROUP, topics=topics)


def of_describe(topic_id: bytes) -> Any:
    topics = [describing.RequestTopic(topic_name="orders", partitions=[0])]
    return describing.DescribeShareGroupOffsetsRequest(groups=[describing.RequestGroup(group_id=GROUP, topics=topics)])


def of_alter(topic_id: bytes) -> Any:
    partitions = [altering.RequestPartition(partition_index=0, start_offset=1)]
    topics = [altering.RequestTopic(topic_name="orders", partitions=partitions)]
    return altering.AlterShareGroupOffsetsRequest(group_id=GROUP, topics=topics)


MAKERS: Final = (
    of_heartbeat,
    of_fetch,
    of_acknowledge,
    of_initialize,
    of_read,
    of_write,
    of_delete,
    of_summary,
    of_describe,
    of_alter,
)


def at_limits(request: Any) -> Iterator[Any]:
    """The request with one number after the other at each of its limits; it is changed in place."""
    definition = DEFINITIONS[APIS[request.API_KEY].name]

    def walk(part: Any) -> Iterator[Any]:
        for field in definition.structs[type(part).__name__].fields:
            value = getattr(part, field.name)
            if field.is_struct and field.is_array:
                for element in value or ():
                    yield from walk(element)
            elif field.type in INT_BITS:
                most = (1 << INT_BITS[field.type] - 1) - 1
                for limit in (most, -most - 1, -1, 0, most - 1):
                    setattr(part, field.name, [limit] if field.is_array else limit)
                    yield request
                setattr(part, field.name, value)

    yield from walk(request)


@pytest.fixture
def topic_id(server: Coordinator) -> bytes:
    """Of a topic with records, whose partition a member of the group may read."""
    server.create_topic("orders")
    server.produce("orders", ["a", "b", "c"])
    server.group(GROUP).configure({"share.auto.offset.reset": "earliest"})
    epoch = 0
    with WireClient(server.bootstrap) as client:

        def has_partition() -> bool:
            nonlocal epoch
            answer = client.request(
                ShareGroupHeartbeatRequest(
                    group_id=GROUP, member_id="m", member_epoch=epoch, subscribed_topic_names=["orders"]
                ),
                1,
            )
            assert answer.error_code == ErrorCode.NONE
            epoch = answer.member_epoch
            return bool(answer.assignment and answer.assignment.topic_partitions)

        wait_for(has_partition, SECONDS, "the partition")
        (topic,) = client.request(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 12).topics
    found: bytes = topic.topic_id
    return found


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator() as running:
        yield running


def opened(client: WireClient, topic_id: bytes) -> None:
    """Open a share session, so that the epoch of the next request is 1."""
    request = of_fetch(topic_id)
    request.share_session_epoch = 0
    request.topics[0].partitions[0].acknowledgement_batches = []
    assert client.request(request, 2).error_code == ErrorCode.NONE


@pytest.mark.parametrize("make", MAKERS)
def test_each_number_at_its_limits_is_answered(server, topic_id, make: Callable[[bytes], Any], caplog):
    version = APIS[make(topic_id).API_KEY].max_version
    count = 0
    with caplog.at_level(logging.INFO), WireClient(server.bootstrap) as client:
        for request in at_limits(make(topic_id)):
            if make in (of_fetch, of_acknowledge):
                opened(client, topic_id)
            answer = client.request(request, version)
            assert getattr(answer, "error_code", 0) != ErrorCode.UNKNOWN_SERVER_ERROR, request
            count += 1
    assert count >= 5
    assert not [each.getMessage() for each in caplog.records if "unhandled" in each.getMessage()]
    server.produce("orders", ["d"])
    with WireClient(server.bootstrap) as client:
        opened(client, topic_id)
