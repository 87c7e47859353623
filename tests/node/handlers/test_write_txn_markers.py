"""WriteTxnMarkers, which ends the transactions of anybody: only where a setting allows it."""

from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.node.handlers.transactional_writes import MARKERS_QUEUED_MAX
from tests.hostile.in_process import InProcessServer, Peer


def ask(server: InProcessServer, request: WriteTxnMarkersRequest, version: int = 1) -> list[ErrorCode]:
    answered = Peer(server).request(request, version)
    return [
        ErrorCode(partition.error_code)
        for marker in answered.markers
        for topic in marker.topics
        for partition in topic.partitions
    ]


def marker(producer_id: int, *topics: tuple[str, list[int]]) -> WritableTxnMarker:
    named = [WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics]
    return WritableTxnMarker(producer_id=producer_id, producer_epoch=0, transaction_result=True, topics=named)


@pytest.fixture(params=[False, True], ids=["by default", "enabled"])
def is_enabled(request) -> bool:
    return bool(request.param)


@pytest.fixture
def server(is_enabled: bool) -> Iterator[InProcessServer]:
    settings = {"offsets.topic.num.partitions": "2"}
    if is_enabled:
        settings["write.txn.markers.enable"] = "true"
    with InProcessServer(settings) as running:
        yield running


@pytest.mark.parametrize("version", [1, 2])
def test_each_partition_is_answered_as_to_a_client_without_cluster_action(server, is_enabled, version):
    """Kafka 4.3.1 with an authorizer answers 31 for each partition, also those that do not exist."""
    request = WriteTxnMarkersRequest(
        markers=[marker(1, (OFFSETS_TOPIC, [0, 1]), ("missing", [0])), marker(2, (OFFSETS_TOPIC, [0]))]
    )
    refused, none, missing = (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
    expected = [none, none, missing, none] if is_enabled else [refused] * 4
    assert ask(server, request, version) == expected
    assert ask(server, WriteTxnMarkersRequest(markers=[]), version) == []
    assert not server.node.groups.pending.unanswered


def test_very_many_markers_are_queued_in_portions(server, is_enabled):
    count = 3 * MARKERS_QUEUED_MAX + 1
    queued = []
    enqueue = server.node.groups.coordinator.enqueue_for_shard

    def counted(*arguments):
        enqueue(*arguments)
        queued.append(max(shard.queue_size for shard in server.node.groups.coordinator.shards))

    server.node.groups.coordinator.enqueue_for_shard = counted
    request = WriteTxnMarkersRequest(markers=[marker(each, (OFFSETS_TOPIC, [0])) for each in range(count)])
    errors = ask(server, request)
    if is_enabled:
        assert errors == [ErrorCode.NONE] * count
        assert (len(queued), max(queued)) == (count, MARKERS_QUEUED_MAX)
    else:
        assert (errors, queued) == ([ErrorCode.CLUSTER_AUTHORIZATION_FAILED] * count, [])
