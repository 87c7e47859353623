"""What the audit of a server tells of the last minutes, beside the events of groups."""

import time

import pytest

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import CoordinatorEvent, CoordinatorPaused, LeadershipTaken
from coordinator.client import recent_server_events as module
from coordinator.client.audit_topic import audit_record
from coordinator.client.recent_server_events import Lately, recent_server_events
from tests.servers import RunningServer
from tests.wire_client import WireClient


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_server_hears_its_clients_since_its_start(tmp_path, monkeypatch):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.join_alone("g")
        first = recent_server_events(server.bootstrap)
        assert 0 < first.heard_since_ms <= now_ms()
        assert first.denials == ()
        server.stop()
        stopped_ms = now_ms()
        server.start()
        again = recent_server_events(server.bootstrap)
        assert first.heard_since_ms <= stopped_ms <= again.heard_since_ms <= now_ms()
        ahead_ns = time.time_ns() + (module.WINDOW_MS + 60_000) * 1_000_000
        monkeypatch.setattr(time, "time_ns", lambda: ahead_ns)
        assert recent_server_events(server.bootstrap) == Lately()


def test_a_server_that_cannot_be_asked_tells_nothing():
    assert recent_server_events("127.0.0.1:1") == Lately()


@pytest.mark.parametrize(
    ("event", "heard_since_ms"),
    [
        (
            CoordinatorPaused(time_ms=0, node_id=1, coordinator_epoch=1, from_ms=7, until_ms=10_006, pause_kind="busy"),
            0,
        ),
        (
            CoordinatorPaused(time_ms=0, node_id=1, coordinator_epoch=1, from_ms=7, until_ms=10_007, pause_kind="busy"),
            9,
        ),
        (
            LeadershipTaken(time_ms=0, node_id=1, coordinator_epoch=1, partition=0, producer_id=1, producer_epoch=0),
            9,
        ),
    ],
)
def test_a_takeover_and_a_long_pause_are_a_start(monkeypatch, event: CoordinatorEvent, heard_since_ms):
    record = audit_record(0, 0, *coordinator_record(event, 9))

    class Topic:
        def __init__(self, server: object) -> None: ...
        def __enter__(self) -> "Topic":
            return self

        def __exit__(self, *problem: object) -> None: ...
        def offsets(self, partitions: list[int], timestamp: int) -> dict[int, int]:
            return dict.fromkeys(partitions, 0)

        def records(self, starts: object, wanted: object) -> list[object]:
            return [record]

    monkeypatch.setattr(module, "AuditTopic", Topic)
    assert recent_server_events("127.0.0.1:1").heard_since_ms == heard_since_ms
