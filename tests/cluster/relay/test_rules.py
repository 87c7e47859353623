"""In which versions APIs are passed on."""

import pytest

from _wire.apis import APIS
from _wire.headers import decode_request_header, decode_response_header, encode_request, encode_response
from _wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    PartitionData,
)
from coordinator.cluster.relay.rules import FETCH, FETCH_VERSION_SENT, OF_OTHER_KINDS, RULES, offered_versions

NEWER = range(FETCH_VERSION_SENT + 1, APIS[FETCH].max_version + 1)


@pytest.mark.parametrize("version", NEWER)
def test_a_fetch_of_a_later_version_is_one_of_the_version_that_brokers_are_asked_in(version: int) -> None:
    partition = FetchPartition(partition=1, fetch_offset=7, partition_max_bytes=100, current_leader_epoch=3)
    topics = [FetchTopic(topic_id=b"t" * 16, partitions=[partition])]
    request = FetchRequest(max_wait_ms=5, min_bytes=1, session_id=9, session_epoch=2, topics=topics, rack_id="r")
    frame = encode_request(1, "c", request, version)[4:]
    _, body_start = decode_request_header(frame)
    assert FetchRequest.decode(frame, FETCH_VERSION_SENT, body_start) == request


@pytest.mark.parametrize("version", NEWER)
def test_the_response_in_that_version_is_one_of_the_later_version_without_endpoints(version: int) -> None:
    leader = LeaderIdAndEpoch(leader_id=2, leader_epoch=5)
    moved = PartitionData(partition_index=1, error_code=6, current_leader=leader)
    read = PartitionData(partition_index=2, high_watermark=9, records=b"records")
    response = FetchResponse(
        session_id=9, responses=[FetchableTopicResponse(topic_id=b"t" * 16, partitions=[moved, read])]
    )
    frame = encode_response(1, response, FETCH_VERSION_SENT)[4:]
    _, body_start = decode_response_header(frame, FETCH, version)
    assert FetchResponse.decode(frame, version, body_start) == response
    assert not response.node_endpoints


def test_kinds_of_groups_that_nodes_do_not_coordinate_are_offered_as_brokers_have_them() -> None:
    for name in (*OF_OTHER_KINDS, "ShareFetch", "ShareAcknowledge"):
        api = APIS.named(name)
        assert offered_versions(api.key, 0, 99) == (api.min_version, api.max_version)
        assert offered_versions(api.key, api.max_version, api.max_version) == (api.max_version, api.max_version)
        assert not RULES[api.key].is_collected, "requests are passed on as they come"
    for key in range(83, 88):
        assert offered_versions(key, 0, 0) is None, "only brokers ask each other"
