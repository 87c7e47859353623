"""The lease of a node: what renews it, and for how long."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.nodes import membership
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.membership import LEASE_MS, REBALANCE_MS, SESSION_MS, NodesGroupMember
from coordinator.cluster.nodes.messages import Assignment, Claim, NodeAddress
from coordinator.cluster.nodes.seals import Seals
from coordinator.logger import logger

SEALS = Seals(b"secret", "nodes")
STEADY, REBALANCING = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


class Cluster:
    """Answers heartbeats a while after they were sent."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.answer_ms = 0
        self.error = STEADY
        self.lease = Lease(LEASE_MS, lambda: self.now_ms)
        node = NodeAddress(node_id=1, host="h", port=1, broker_port_base=2)
        leads = PartitionLeads(node, self.lease, 0, lambda: self.now_ms)
        self.member = NodesGroupMember(self, "nodes", 1, leads, self.lease, lambda: self.now_ms, SEALS)  # type: ignore[arg-type]
        self.member._generation = 1

    async def coordinator_of(self, key: str, key_type: int) -> int:
        return 0

    async def connection(self, broker_id: int, purpose: str) -> "Cluster":
        return self

    async def request(self, message: Any, version_max: int, timeout_seconds: float) -> HeartbeatResponse:
        self.now_ms += self.answer_ms
        return HeartbeatResponse(error_code=self.error)

    def heartbeats(self, errors: Sequence[ErrorCode], apart_ms: int) -> None:
        for self.error in errors:
            self.now_ms += apart_ms
            asyncio.run(self.member._heartbeat())


def test_a_lease_counts_from_the_sending_of_a_heartbeat() -> None:
    cluster = Cluster()
    cluster.answer_ms = 700
    cluster.heartbeats([STEADY], 0)
    assert cluster.lease.until_ms == 1_000 + LEASE_MS


def test_heartbeats_renew_a_lease_while_others_join_again() -> None:
    cluster = Cluster()
    cluster.heartbeats([STEADY], 0)
    cluster.heartbeats([REBALANCING] * 5, 1_000)
    assert cluster.lease.until_ms == cluster.now_ms + LEASE_MS


def test_a_lease_is_over_before_a_rebalance_may_have_removed_the_node() -> None:
    cluster = Cluster()
    cluster.heartbeats([STEADY], 0)
    cluster.heartbeats([REBALANCING] * 20, 1_000)
    assert cluster.lease.until_ms == 1_000 + REBALANCE_MS - (SESSION_MS - LEASE_MS)
    cluster.heartbeats([STEADY], 0)
    assert cluster.lease.until_ms == cluster.now_ms + LEASE_MS


def test_heartbeats_that_fail_are_logged_once_until_one_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, told = Cluster(), list[str]()
    monkeypatch.setattr(logger, "warning", lambda event, **fields: told.append(event))
    outcomes = iter([False, False, False, True, False, False])

    async def heartbeat() -> None:
        is_answered = next(outcomes, None)
        if is_answered is None:
            raise asyncio.CancelledError
        if not is_answered:
            raise BrokerError("away")

    monkeypatch.setattr(cluster.member, "_heartbeat", heartbeat)

    async def play() -> None:
        cluster.member._generation = 1
        while True:
            await cluster.member._keep_alive()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(play())
    assert len(told) == 2


class GroupOfNodes(Cluster):
    """The group itself: this node is the member `us`. Others say what the test lets them say."""

    def __init__(self, leader: str = "us") -> None:
        super().__init__()
        self.leader = leader
        self.metadata: dict[str, bytes] = {}
        self.assignment = b""
        self.shares: dict[str, bytes] = {}
        self.removed: list[str] = []

    async def request(self, message: Any, version_max: int, timeout_seconds: float = 0) -> Any:
        if isinstance(message, JoinGroupRequest):
            if not message.member_id:
                return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="us")
            self.metadata["us"] = message.protocols[0].metadata
            members = [JoinGroupResponseMember(member_id=each, metadata=said) for each, said in self.metadata.items()]
            return JoinGroupResponse(generation_id=7, leader=self.leader, member_id="us", members=members)
        if isinstance(message, LeaveGroupRequest):
            self.removed.append(message.member_id)
            return LeaveGroupResponse()
        assert isinstance(message, SyncGroupRequest)
        self.shares = {assignment.member_id: assignment.assignment for assignment in message.assignments}
        return SyncGroupResponse(assignment=self.shares.get("us", self.assignment))

    @property
    def leads(self) -> Any:
        return self.member._leads

    def join(self) -> None:
        """Join as often as it takes, as the loop of a node does."""

        async def play() -> None:
            running = asyncio.create_task(self.member._run())
            for _ in range(20):
                await asyncio.sleep(0)
            assert not running.done(), "the loop of a node never ends"
            running.cancel()

        asyncio.run(play())


EVIL = NodeAddress(node_id=2, host="evil", port=1, broker_port_base=2)
STRANGERS = [
    b"",
    b"\xff",
    b"{}",
    Seals(b"", "nodes").claim(Claim(node=EVIL, leads=(), started_ms=0), "stranger"),
    Seals(b"guess", "nodes").claim(Claim(node=EVIL, leads=(), started_ms=0), "stranger"),
]


@pytest.mark.parametrize("said", STRANGERS)
def test_who_does_not_know_the_secret_gets_no_partition_and_no_client(said: bytes) -> None:
    group = GroupOfNodes()
    group.metadata["stranger"] = said
    group.join()
    assert list(group.shares) == ["us"]
    assert group.leads.partitions == {0}
    assert [node.host for node in group.leads.nodes] == ["h"]


@pytest.mark.parametrize(
    "said",
    [b"", b"\xff", b"{}", Seals(b"", "nodes").assignment(Assignment(leads=(0,), nodes=(EVIL,), leaders={}), "us", 7)],
)
def test_a_leader_that_does_not_know_the_secret_is_not_believed_and_is_removed_once(said: bytes) -> None:
    group = GroupOfNodes(leader="stranger")
    group.assignment = said
    group.join()
    group.join()
    assert group.leads.partitions == set()
    assert [node.host for node in group.leads.nodes] == ["h"]
    assert group.removed == ["stranger"]
    group.now_ms += membership.EVICTION_SECONDS * 1000
    group.join()
    assert group.removed == ["stranger", "stranger"]


def test_nothing_that_the_cluster_answers_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    group = GroupOfNodes()

    async def absurd(*asked: Any) -> Any:
        return JoinGroupResponse(error_code=31_000)

    monkeypatch.setattr(group, "request", absurd)
    group.join()
