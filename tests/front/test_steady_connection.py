"""Commits and OffsetFetch that connections read without messages, over sockets of a whole server."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC = "topic"
PARTITIONS = 3
COMMIT_VERSION = 8
FETCH_VERSION = 7
PIPELINED = 50


@pytest.fixture(scope="module", params=[{}, {"log.flush.policy": "always"}, {"admin.listener": "127.0.0.1:0"}])
def server(request, tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("data"), {**QUICK_GROUPS, **request.param}) as running:
        with WireClient(running.bootstrap) as client:
            client.create_topic(TOPIC, PARTITIONS)
        yield running


def commit_of(group_id, member_id, offsets, generation_id=1, metadata=""):
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)
        for index, offset in offsets.items()
    ]
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
    )


def errors_of(response):
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


def fetched(client, group_id):
    topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=list(range(PARTITIONS)))]
    response = client.request(OffsetFetchRequest(group_id=group_id, topics=topics), FETCH_VERSION)
    assert response.error_code == ErrorCode.NONE
    return [partition.committed_offset for partition in response.topics[0].partitions]


def test_what_a_member_commits_is_fetched_also_when_it_goes_back(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("back")
        for offsets, expected in (({0: 5, 1: 6}, [5, 6, -1]), ({0: 7}, [7, 6, -1]), ({1: 2, 2: 1}, [7, 2, 1])):
            response = client.request(commit_of("back", member_id, offsets), COMMIT_VERSION)
            assert errors_of(response) == [ErrorCode.NONE] * len(offsets)
            assert fetched(client, "back") == expected


def test_a_commit_of_another_generation_is_rejected_and_changes_nothing(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("generations")
        client.request(commit_of("generations", member_id, {0: 5}), COMMIT_VERSION)
        response = client.request(commit_of("generations", member_id, {0: 9}, generation_id=2), COMMIT_VERSION)
        assert errors_of(response) == [ErrorCode.ILLEGAL_GENERATION]
        assert fetched(client, "generations") == [5, -1, -1]


def test_a_text_that_is_too_long_is_rejected_by_itself(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("texts")
        response = client.request(commit_of("texts", member_id, {0: 5}, metadata="x" * 5_000), COMMIT_VERSION)
        assert errors_of(response) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
        assert fetched(client, "texts") == [-1, -1, -1]


def test_pipelined_commits_and_fetches_are_answered_in_their_order(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("pipelined")
        topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        fetch = OffsetFetchRequest(group_id="pipelined", topics=topics)
        asked = []
        for number in range(PIPELINED):
            asked.append(client.frame(commit_of("pipelined", member_id, {0: number}), COMMIT_VERSION))
            asked.append(client.frame(fetch, FETCH_VERSION))
        client.socket.sendall(b"".join(frame for frame, _ in asked))
        answers = [client.receive(sent) for _, sent in asked]
        for number in range(PIPELINED):
            assert errors_of(answers[2 * number]) == [ErrorCode.NONE]
            assert answers[2 * number + 1].topics[0].partitions[0].committed_offset == number


def test_a_client_that_does_not_wait_for_the_answer_has_committed(server):
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("gone")
        with WireClient(server.bootstrap) as other:
            other.send(commit_of("gone", member_id, {0: 4}), COMMIT_VERSION)
        wait_for(lambda: fetched(client, "gone") == [4, -1, -1], 10, "the commit of a closed connection")


def test_offsets_are_there_after_a_kill(tmp_path):
    with RunningServer(tmp_path, QUICK_GROUPS) as server, WireClient(server.bootstrap) as client:
        client.create_topic(TOPIC, PARTITIONS)
        member_id = client.join_alone("kept")
        for offset in range(20):
            client.request(commit_of("kept", member_id, {0: offset, 2: offset + 1}), COMMIT_VERSION)
        server.kill()
    with RunningServer(tmp_path, QUICK_GROUPS) as server, WireClient(server.bootstrap) as client:
        wait_for(lambda: fetched(client, "kept") == [19, -1, 20], 30, "the offsets")
