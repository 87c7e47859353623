"""The timers of throttling: what they hold, and for how long. On a virtual clock, without sockets."""

from typing import Final

import pytest

from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.front.throttling import EXPIRY_CHECK_INTERVAL_MS, MuteKey, UsageExpiryKey
from coordinator.metadata.records import QuotaRecord
from coordinator.quotas.limits import Client
from coordinator.quotas.usage import UNUSED_MS_MAX
from tests.front.handlers.group_node import GroupNode

UNKNOWN: Final = HeartbeatRequest(group_id="nobody", generation_id=1, member_id="x")


@pytest.fixture
def node() -> GroupNode:
    return GroupNode()


def set_quota(node: GroupNode, value: str | None, key: str = "request_percentage") -> None:
    node.image.apply(QuotaRecord({"client-id": None}, key, value))
    node.throttling.load()


def due_keys(node: GroupNode, after_ms: int) -> list[object]:
    """What is due until then; nobody else takes it from the wheel."""
    keys = node.server.wheel.advance(node.server.now_ms + after_ms)
    return [key for key in keys if isinstance(key, MuteKey | UsageExpiryKey)]


def test_a_muted_connection_is_unmuted_by_a_timer(node):
    set_quota(node, "0.00001")
    client = node.connect()
    sent = client.send(UNKNOWN, 4)
    node.end_iteration()
    assert client.receive(sent).throttle_time_ms == 1000
    again = client.send(UNKNOWN, 4)
    node.end_iteration()
    assert not client.has_response()
    assert client.connection.call is not None
    assert client.connection.call.request is None
    (key,) = due_keys(node, 1000)
    node.throttling.due(key, node.server.now_ms)
    node.end_iteration()
    assert client.receive(again).throttle_time_ms == 1000


def test_a_muted_connection_that_is_lost_leaves_no_timer(node):
    set_quota(node, "0.00001")
    client = node.connect()
    client.send(UNKNOWN, 4)
    node.end_iteration()
    client.connection.connection_lost(None)
    assert due_keys(node, 1000) == []


def test_a_muted_connection_sends_no_second_response(node):
    set_quota(node, "0.00001")
    client = node.connect()
    sent = client.send(UNKNOWN, 4)
    node.end_iteration()
    response = client.receive(sent)
    client.connection.send_response(response)
    assert not client.has_response()


def test_what_clients_used_is_forgotten_by_a_timer_that_ends_with_the_quotas(node):
    set_quota(node, "5.0", "producer_byte_rate")
    node.throttling.usage.producer.record(Client("alice", "client"), 1, node.server.now_ms)
    set_quota(node, None, "producer_byte_rate")
    for after_ms in range(EXPIRY_CHECK_INTERVAL_MS, UNUSED_MS_MAX + EXPIRY_CHECK_INTERVAL_MS, EXPIRY_CHECK_INTERVAL_MS):
        (key,) = due_keys(node, after_ms)
        assert node.throttling.usage.meters == 1
        node.throttling.due(key, node.server.now_ms + after_ms)
    assert node.throttling.usage.meters == 0
    assert due_keys(node, 10 * UNUSED_MS_MAX) == []


def test_without_quotas_there_is_no_timer(node):
    assert due_keys(node, 10 * UNUSED_MS_MAX) == []
