"""The answer to a Produce with `log.flush.policy=always`, when a log directory fails while it waits for the fsync."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from coordinator.front.request_context import RequestContext
from coordinator.metadata.image import MetadataImage
from coordinator.node.handlers.data import DataHandlers
from coordinator.node.node_context import NodeContext

TOPIC_ID = bytes(15) + b"\x01"


def answered(topic: TopicProduceResponse, offline: set[int]) -> dict[int, tuple[int, int]]:
    """Partition → error code and base offset of what the client gets."""
    known = SimpleNamespace(name="t")
    sent: list[Any] = []
    image = SimpleNamespace(topics={"t": known}, topics_by_id={TOPIC_ID: known})
    node = SimpleNamespace(
        partitions=SimpleNamespace(
            some_are_offline=bool(offline), leads=lambda name, index: (name, index) not in {("t", n) for n in offline}
        ),
    )
    call = SimpleNamespace(connection=SimpleNamespace(send_response=sent.append))
    unused: Any = None
    handlers = DataHandlers(
        cast(NodeContext, node),
        image=cast(MetadataImage, image),
        flusher=unused,
        fetch_service=unused,
        recompression_threads=unused,
        slices=unused,
        wall_ms=unused,
    )
    handlers._produced(ProduceResponse(responses=[topic]), cast(RequestContext, call))
    (response,) = sent
    return {
        partition_response.index: (partition_response.error_code, partition_response.base_offset)
        for partition_response in response.responses[0].partition_responses
    }


@pytest.mark.parametrize("named", [{"name": "t"}, {"topic_id": TOPIC_ID}], ids=["name", "id"])
def test_what_is_in_a_directory_that_failed_meanwhile_is_a_storage_error(named):
    responses = [PartitionProduceResponse(index=index, base_offset=7) for index in range(2)]
    responses.append(PartitionProduceResponse(index=2, error_code=ErrorCode.MESSAGE_TOO_LARGE, base_offset=-1))
    topic = TopicProduceResponse(**named, partition_responses=responses)
    assert answered(topic, set()) == {0: (0, 7), 1: (0, 7), 2: (ErrorCode.MESSAGE_TOO_LARGE, -1)}
    assert answered(topic, {1, 2}) == {
        0: (0, 7),
        1: (ErrorCode.KAFKA_STORAGE_ERROR, -1),
        2: (ErrorCode.MESSAGE_TOO_LARGE, -1),
    }
