"""What a step of the wall clock changes while a server runs, and what it does not."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.records import build_batch
from coordinator.server.wall_clock import CHECK_INTERVAL_MS, STEP_MS, WallClockWatch
from tests.server.log_lines import LogLines, log_lines
from tests.server.manual_scheduler import ManualScheduler
from tests.server.stepped_serve import CONTROL
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

HOUR_MS: Final = 3_600_000
LINE: Final = "the wall clock was set; records have the new time, deadlines stay"


@pytest.fixture
def lines() -> Iterator[LogLines]:
    with log_lines() as kept:
        yield kept


class Clocks:
    """A watch on a wall clock that is `ahead_ms` of the time of deadlines."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.scheduler = ManualScheduler()
        now_ms = self.scheduler.now_ms
        watch = WallClockWatch(self.scheduler.as_loop_scheduler, now_ms, lambda: now_ms() + self.ahead_ms)
        self.scheduler.on_due(watch.due)
        watch.start()


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS, STEP_MS])
def test_a_step_is_one_line(lines, step_ms):
    clocks = Clocks()
    clocks.scheduler.advance(3 * CHECK_INTERVAL_MS)
    assert lines.of(LINE) == []
    clocks.ahead_ms = step_ms
    clocks.scheduler.advance(5 * CHECK_INTERVAL_MS)
    assert lines.of(LINE) == [{"step_ms": step_ms}]
    clocks.ahead_ms = 0
    clocks.scheduler.advance(CHECK_INTERVAL_MS)
    assert lines.of(LINE)[1:] == [{"step_ms": -step_ms}]


def test_a_clock_that_is_slewed_is_no_line(lines):
    clocks = Clocks()
    for _ in range(100):
        clocks.ahead_ms += STEP_MS // 2
        clocks.scheduler.advance(CHECK_INTERVAL_MS)
    assert lines.of(LINE) == []


def create(client: WireClient, name: str, **configs: str) -> None:
    settings = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=settings)
    (result,) = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics
    assert result.error_code == ErrorCode.NONE


def send(client: WireClient, topic: str, timestamp_ms: int) -> Any:
    return client.produce(topic, build_batch([(None, b"v", ())], timestamp_ms=timestamp_ms))


def initialize(client: WireClient) -> int:
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
    error_code: int = client.request(request, 4).error_code
    return error_code


def test_records_follow_the_wall_clock_and_sessions_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    control = tmp_path / "ahead"
    monkeypatch.setenv(CONTROL, str(control))
    with RunningServer(tmp_path, module="tests.server.stepped_serve") as server:
        with WireClient(server.bootstrap) as client:
            limits = {"message_timestamp_before_max_ms": str(HOUR_MS), "message_timestamp_after_max_ms": str(HOUR_MS)}
            create(client, "created", **limits)
            create(client, "appended", message_timestamp_type="LogAppendTime")
            member_id = client.join_alone("group", session_timeout_ms=60_000)
            client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
            wait_for(lambda: initialize(client) == ErrorCode.NONE, 10, "the transaction coordinator")
            for step_ms in (0, 2 * HOUR_MS, -2 * HOUR_MS):
                part = control.with_suffix(".new")
                part.write_text(str(step_ms))
                part.replace(control)
                real_ms = time.time_ns() // 1_000_000
                assert send(client, "created", real_ms + step_ms).error_code == ErrorCode.NONE
                is_off = ErrorCode.NONE if step_ms == 0 else ErrorCode.INVALID_TIMESTAMP
                assert send(client, "created", real_ms).error_code == is_off
                stamped = send(client, "appended", 0).log_append_time_ms - step_ms
                assert 0 <= stamped - real_ms < 60_000
                assert client.heartbeat_error("group", member_id) == ErrorCode.NONE
                assert initialize(client) == ErrorCode.NONE
        assert server.stop() == 0
