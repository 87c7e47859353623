"""Committed offsets of topics by their ids: what reaches the cluster, and what the client is told."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from coordinator.cluster.handlers.groups import ClusterGroupHandlers
from coordinator.cluster.rights.named_topics import give_names
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets.checks import MAY_COMMIT, MAY_FETCH
from coordinator.runtime.slices import Steps, at_once
from coordinator.security.acls.model import AclOperation, ResourceType
from tests.cluster.rights.at_a_node import Topics

VERSION = 10
KNOWN, GONE, UNKNOWN = b"k" * 16, b"g" * 16, b"?" * 16
NONE, UNKNOWN_TOPIC_ID = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID


class Cluster:
    """Takes each commit, and has offsets of KNOWN and of GONE, which has no topic any more."""

    def __init__(self) -> None:
        self.committed: list[Any] = []
        self.fetched: list[Any] = []

    def commit(self, sentinel: Any, request: Any, version: int) -> Steps[Any]:
        self.committed.append([topic.topic_id for topic in request.topics])
        yield
        return offset_commit.request_error(request, NONE, version)

    def fetch_offsets(self, group_id: str, request: Any, version: int) -> Steps[Any]:
        (group,) = request.groups
        self.fetched.append(group.topics and [topic.topic_id for topic in group.topics])
        found = [KNOWN, GONE] if group.topics is None else [topic.topic_id for topic in group.topics]
        partitions = [OffsetFetchResponsePartitions(partition_index=0, committed_offset=7)]
        topics = [OffsetFetchResponseTopics(topic_id=each, partitions=partitions) for each in found]
        yield
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=group_id, topics=topics)])


class Node:
    """The handlers of a node that owns the group, in front of that cluster."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        forwarder: Any = self.cluster
        self.asked: list[Any] = []
        self.topics = Topics({KNOWN: "orders"})
        ownership, authorization = MagicMock(), MagicMock()
        ownership.own = lambda group_id, answered: answered(Sentinel("g", "sentinel", 1, 0, 1))
        authorization.find_out = self._find_out
        self.handlers = ClusterGroupHandlers(
            MagicMock(), ownership, MagicMock(), MagicMock(ids=self.topics), forwarder, authorization
        )
        self.handlers._ask = lambda *asked: asked[-1](MAY_COMMIT)  # type: ignore[method-assign]

    def _find_out(self, permissions: Any, call: Any) -> Any:
        self.asked += permissions
        yield from ()

    def answer(self, api: str, request: Any) -> Any:
        context: Any = SimpleNamespace(
            api_version=VERSION, route=SimpleNamespace(error_response=offset_commit.request_error)
        )
        return at_once(
            {"OffsetCommit": self.handlers._commit, "OffsetFetch": self.handlers._fetch}[api](request, context)
        )

    def commit(self, *topic_ids: bytes) -> dict[bytes, int]:
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
        request = OffsetCommitRequest(
            group_id="g",
            topics=[OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions) for topic_id in topic_ids],
        )
        assert at_once(give_names(request.topics, self.topics))
        response = self.answer("OffsetCommit", request)
        return {topic.topic_id: topic.partitions[0].error_code for topic in response.topics}

    def fetch(self, *topic_ids: bytes, everything: bool = False) -> dict[bytes, tuple[int, int]]:
        topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]) for topic_id in topic_ids]
        assert at_once(give_names(topics, self.topics))
        group = OffsetFetchRequestGroup(group_id="g", topics=None if everything else topics)
        (answered,) = self.answer("OffsetFetch", OffsetFetchRequest(groups=[group])).groups
        assert answered.error_code == NONE
        return {
            topic.topic_id: (topic.partitions[0].error_code, topic.partitions[0].committed_offset)
            for topic in answered.topics
        }


@pytest.mark.parametrize(
    ("topic_ids", "reached", "answered"),
    [
        ([KNOWN], [[KNOWN]], {KNOWN: NONE}),
        ([KNOWN, UNKNOWN], [[KNOWN]], {KNOWN: NONE, UNKNOWN: UNKNOWN_TOPIC_ID}),
        ([UNKNOWN], [], {UNKNOWN: UNKNOWN_TOPIC_ID}),
        ([], [[]], {}),
    ],
)
def test_a_commit_of_an_unknown_id_does_not_reach_the_cluster(topic_ids, reached, answered):
    node = Node()
    assert node.commit(*topic_ids) == answered
    assert node.cluster.committed == reached


def test_offsets_of_an_unknown_id_are_not_asked_of_the_cluster():
    node = Node()
    assert node.fetch(KNOWN, UNKNOWN) == {KNOWN: (NONE, 7), UNKNOWN: (UNKNOWN_TOPIC_ID, -1)}
    assert node.cluster.fetched == [[KNOWN]]


def test_the_offsets_of_all_topics_have_names_to_be_authorized_by():
    node = Node()
    assert node.fetch(everything=True) == {KNOWN: (NONE, 7)}
    assert node.cluster.fetched == [None]
    assert node.asked == [(AclOperation.DESCRIBE, ResourceType.TOPIC, "orders")]


def test_offsets_are_not_left_out_because_a_name_is_not_known_now():
    node = Node()
    node.topics.is_reachable = False
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    (answered,) = node.answer("OffsetFetch", request).groups
    assert answered.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(("answer", "reached"), [(MAY_FETCH, [[KNOWN]]), ("its epoch is too old", [])])
def test_a_member_that_fetches_is_checked_here_before_the_cluster_is_asked(answer: Any, reached: list[Any]):
    node = Node()
    asked: list[str] = []

    def ask(*arguments: Any) -> None:
        asked.append(arguments[0].name)
        arguments[-1](answer)

    node.handlers._ask = ask  # type: ignore[method-assign,assignment]
    topics = [OffsetFetchRequestTopics(topic_id=KNOWN, name="orders", partition_indexes=[0])]
    member = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="g", member_id="m", member_epoch=3, topics=topics)]
    )
    context: Any = SimpleNamespace(api_version=9)
    response = at_once(node.handlers._fetch_group("g", member, context))
    assert asked == ["check OffsetFetch"]
    assert node.cluster.fetched == reached
    assert reached or response is answer
