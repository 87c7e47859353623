"""What requests about very many partitions of which nothing is allowed cost a turn of the event loop."""

from typing import Any

import pytest

from _wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from _wire.messages.alter_share_group_offsets import RequestPartition as AlteredPartition
from _wire.messages.alter_share_group_offsets import RequestTopic as AlteredTopic
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup, RequestTopic
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.security.acls.model import AclOperation, PatternType, PermissionType, ResourceType
from tests.hostile.in_process import InProcessServer, Peer

CALLS_OF_A_TURN_MAX = 100_000
"""About 13 ms; the slices of a turn take half of it."""
PARTITIONS = 60_000
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}


@pytest.fixture
def server():
    with InProcessServer(SETTINGS) as running:
        peer = Peer(running)
        denied = AclCreation(
            resource_type=ResourceType.TOPIC.value,
            resource_name="*",
            resource_pattern_type=PatternType.LITERAL.value,
            principal="User:ANONYMOUS",
            host="*",
            operation=AclOperation.ALL.value,
            permission_type=PermissionType.DENY.value,
        )
        (result,) = peer.request(CreateAclsRequest(creations=[denied]), 3).results
        assert result.error_code == 0
        yield running


def requests(indexes: list[int]) -> list[tuple[Any, int, str]]:
    """Requests with their versions, and where the topics of an answer are."""
    altered = [AlteredPartition(partition_index=index) for index in indexes]
    committed = [OffsetCommitRequestPartition(partition_index=index) for index in indexes]
    forgotten = [OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
    shared = RequestGroup(group_id="g", topics=[RequestTopic(topic_name="t", partitions=indexes)])
    return [
        (
            FetchRequest(
                topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=each) for each in indexes])]
            ),
            11,
            "responses",
        ),
        (
            ListOffsetsRequest(
                topics=[
                    ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=n) for n in indexes])
                ]
            ),
            7,
            "topics",
        ),
        (
            DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name="t", partitions=[DeleteRecordsPartition(partition_index=index) for index in indexes]
                    )
                ]
            ),
            2,
            "topics",
        ),
        (DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=indexes)]), 0, "topics"),
        (
            OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=committed)]),
            8,
            "topics",
        ),
        (
            OffsetDeleteRequest(group_id="g", topics=[OffsetDeleteRequestTopic(name="t", partitions=forgotten)]),
            0,
            "topics",
        ),
        (
            AlterShareGroupOffsetsRequest(group_id="g", topics=[AlteredTopic(topic_name="t", partitions=altered)]),
            0,
            "responses",
        ),
        (DescribeShareGroupOffsetsRequest(groups=[shared]), 1, "groups"),
    ]


NAMES = [type(request).__name__ for request, _, _ in requests([])]


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_each_partition_is_refused_and_no_turn_is_long(server, number):
    peer = Peer(server)
    request, version, field = requests(list(range(PARTITIONS)))[number]
    server.calls_max = 0
    answer = peer.request(request, version)
    (topic,) = answer.groups[0].topics if field == "groups" else getattr(answer, field)
    assert len(topic.partitions) == PARTITIONS
    assert {partition.error_code for partition in topic.partitions} == {29}
    assert server.calls_max < CALLS_OF_A_TURN_MAX
