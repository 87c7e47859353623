"""The lease of a node: what renews it, and for how long."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.nodes import membership
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.membership import LEASE_MS, REBALANCE_MS, SESSION_MS, NodesGroupMember
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.logger import logger

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
        self.member = NodesGroupMember(self, "nodes", 1, leads, self.lease, lambda: self.now_ms)  # type: ignore[arg-type]
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
    monkeypatch.setattr(membership, "HEARTBEAT_SECONDS", 0)
    monkeypatch.setattr(logger, "warning", lambda event, **fields: told.append(event))
    outcomes = iter([False, False, False, True, False, False])

    async def heartbeat() -> None:
        is_answered = next(outcomes, None)
        if is_answered is None:
            raise asyncio.CancelledError
        if not is_answered:
            raise BrokerError("away")

    monkeypatch.setattr(cluster.member, "_heartbeat", heartbeat)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cluster.member._heartbeats())
    assert len(told) == 2
