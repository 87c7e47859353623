"""A server with an admin port that has had every kind of traffic that the metrics count."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupResponse
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.admin.http_client import Scrape
from tests.node.handlers.test_share import ShareClient, first_fetch
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

SETTINGS: Final = {**QUICK_GROUPS, "admin.listener": "127.0.0.1:0", "offsets.topic.num.partitions": "4"} | {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
}
GROUP: Final = "billing"
TOPIC: Final = "orders"
HEARTBEATS: Final = 7
COMMITTED: Final = 2
SHARED: Final = 10
"""Records of a share group: 3 accepted, 1 released, 1 rejected, 2 renewed, the others acquired."""


def commit_request(member_id: str, partitions: int, generation_id: int = 1) -> OffsetCommitRequest:
    offsets = [OffsetCommitRequestPartition(partition_index=index, committed_offset=0) for index in range(partitions)]
    return OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=offsets)],
    )


def play(server: RunningServer) -> str:
    """A member joins, beats, commits, is rejected twice; another group's member goes silent. The id of the first."""
    with WireClient(server.bootstrap) as client, WireClient(server.bootstrap) as other:
        client.create_topic(TOPIC, COMMITTED)
        member_id = client.join_alone(GROUP)
        for _ in range(HEARTBEATS):
            assert client.heartbeat_error(GROUP, member_id) == 0
        assert client.heartbeat_error(GROUP, "nobody") != 0
        client.request(commit_request(member_id, COMMITTED), 8)
        client.request(commit_request(member_id, COMMITTED + 1), 8)  # one partition does not exist
        client.request(commit_request(member_id, COMMITTED, generation_id=9), 8)
        client.request(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)]), 8)
        client.request(fetch_request(TOPIC, max_wait_ms=0), 11)
        forbid_a_group(client)
        other.join_alone("silent", session_timeout_ms=500)
        left = other.join_alone("leaving")
        other.request(LeaveGroupRequest(group_id="leaving", members=[MemberIdentity(member_id=left)]), 4)
        rejoined: JoinGroupResponse = client.request(join_request(GROUP, member_id), 3)
        assert rejoined.generation_id == 2
        client.request(HeartbeatRequest(group_id=GROUP, generation_id=2, member_id=member_id), 3)
    wait_for(
        lambda: "session_expired" in Scrape(server.admin).labels("coordinator_members_removed_total", "cause"),
        20,
        "the silent member to be removed",
    )
    return member_id


def forbid_a_group(client: WireClient) -> None:
    """Have a group that belongs to somebody else, and be denied it."""
    acl = AclCreation(
        resource_type=3, resource_name="forbidden", principal="User:a", host="*", operation=2, permission_type=3
    )
    assert client.request(CreateAclsRequest(creations=[acl]), 3).results[0].error_code == 0
    denied = client.request(FindCoordinatorRequest(coordinator_keys=["forbidden"]), 4).coordinators
    assert denied[0].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@contextmanager
def server_with_traffic(folder: Path) -> Iterator[RunningServer]:
    with RunningServer(folder, SETTINGS) as server:
        play(server)
        with sharing(server):
            yield server


@contextmanager
def sharing(server: RunningServer) -> Iterator[ShareClient]:
    """A member of a share group that has acknowledged some of the records that it has acquired, and is still there."""
    with ShareClient(server.bootstrap) as client:
        client.make_topic("shared")
        client.configure(share_auto_offset_reset="earliest")
        client.initialize("shared")
        client.put("shared", *[b"v"] * SHARED)
        first_fetch(client)
        client.acknowledge({0: [(1, 5, [1, 1, 1, 2, 3])]})
        client.acknowledge({0: [(6, 7, [4])]}, is_renew_ack=True)
        yield client
