"""The requests by which a broker tells what a client may do, and what their responses say."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_cluster import DescribeClusterResponse
from _wire.messages.end_txn import EndTxnResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from _wire.messages.offset_delete import OffsetDeleteResponse
from coordinator.cluster.rights.probes import NAMES_AT_ONCE, Permission, probes_for
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType, as_bits

READ_GROUP = Permission(AclOperation.READ, ResourceType.GROUP, "g")
DESCRIBE_GROUP = Permission(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
DELETE_GROUP = Permission(AclOperation.DELETE, ResourceType.GROUP, "g")
READ_TOPIC = Permission(AclOperation.READ, ResourceType.TOPIC, "t")
DESCRIBE_TOPIC = Permission(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
WRITE_TRANSACTION = Permission(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
ALTER_CLUSTER = Permission(AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def topic(error: ErrorCode, *operations: AclOperation) -> MetadataResponse:
    found = MetadataResponseTopic(
        name="t", error_code=error, topic_authorized_operations=as_bits(operations) if operations else -(2**31)
    )
    return MetadataResponse(topics=[found])


@pytest.mark.parametrize(
    ("permission", "response", "is_allowed"),
    [
        (READ_GROUP, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), True),
        (READ_GROUP, HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), True),
        (READ_GROUP, HeartbeatResponse(error_code=GROUP_DENIED), False),
        (DESCRIBE_GROUP, FindCoordinatorResponse(coordinators=[Coordinator(key="g")]), True),
        (DESCRIBE_GROUP, FindCoordinatorResponse(coordinators=[Coordinator(key="g", error_code=GROUP_DENIED)]), False),
        (DELETE_GROUP, OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND), True),
        (DELETE_GROUP, OffsetDeleteResponse(error_code=GROUP_DENIED), False),
        (WRITE_TRANSACTION, EndTxnResponse(error_code=ErrorCode.INVALID_PRODUCER_ID_MAPPING), True),
        (WRITE_TRANSACTION, EndTxnResponse(error_code=ID_DENIED), False),
        (READ_TOPIC, topic(ErrorCode.NONE, AclOperation.READ), True),
        (READ_TOPIC, topic(ErrorCode.NONE, AclOperation.DESCRIBE), False),
        (READ_TOPIC, topic(ErrorCode.NONE), False),
        (READ_TOPIC, topic(TOPIC_DENIED), False),
        (READ_TOPIC, topic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), True),
        (DESCRIBE_TOPIC, topic(ErrorCode.NONE, AclOperation.DESCRIBE), True),
        (
            ALTER_CLUSTER,
            DescribeClusterResponse(cluster_authorized_operations=as_bits([AclOperation.ALTER])),
            True,
        ),
        (ALTER_CLUSTER, DescribeClusterResponse(), False),
    ],
)
def test_what_a_response_says(permission: Permission, response: Any, is_allowed: bool) -> None:
    (probe,) = probes_for([permission])
    assert probe.read(response)[permission] is is_allowed
    assert probe.request.encode(probe.version)


def test_many_names_share_requests() -> None:
    groups = [Permission(AclOperation.DESCRIBE, ResourceType.GROUP, f"g{n}") for n in range(NAMES_AT_ONCE + 1)]
    topics = [
        Permission(operation, ResourceType.TOPIC, f"t{n}")
        for n in range(NAMES_AT_ONCE)
        for operation in (AclOperation.READ, AclOperation.DESCRIBE)
    ]
    assert len(probes_for(groups)) == 2
    assert len(probes_for(topics)) == 1


def test_a_permission_that_nobody_can_tell_about_has_no_probe() -> None:
    assert probes_for([Permission(AclOperation.WRITE, ResourceType.GROUP, "g")]) == []
