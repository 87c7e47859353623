"""What a step of the wall clock changes while a server runs, and what it does not."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.describe_transactions import DescribeTransactionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import Record, build_batch, parse_records
from coordinator.audit.schema import decode_event
from coordinator.core.offsets.records import is_offset_key, read_offset_record
from coordinator.core.partitioning import partition_for
from coordinator.front.wall_clock import CHECK_INTERVAL_MS, STEP_LINE, WallClockWatch, log_step
from coordinator.wall_time import STEP_MS, WallTime
from tests.front.log_lines import LogLines, log_lines
from tests.front.manual_scheduler import ManualScheduler
from tests.node.stepped_serve import CONTROL
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request

HOUR_MS: Final = 3_600_000


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
        self.wall = WallTime(lambda: now_ms() + self.ahead_ms, log_step)
        watch = WallClockWatch(self.scheduler.as_loop_scheduler, self.wall)
        self.scheduler.on_due(watch.due)
        watch.start(now_ms())


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS, STEP_MS])
def test_a_step_is_one_line(lines, step_ms):
    clocks = Clocks()
    clocks.scheduler.advance(3 * CHECK_INTERVAL_MS)
    assert lines.of(STEP_LINE) == []
    clocks.ahead_ms = step_ms
    clocks.scheduler.advance(5 * CHECK_INTERVAL_MS)
    assert lines.of(STEP_LINE) == [{"step_ms": step_ms}]
    clocks.ahead_ms = 0
    clocks.scheduler.advance(CHECK_INTERVAL_MS)
    assert lines.of(STEP_LINE)[1:] == [{"step_ms": -step_ms}]


def test_a_clock_that_is_slewed_is_no_line(lines):
    clocks = Clocks()
    for ahead_ms in (STEP_MS // 2, STEP_MS - 1, 0, 1 - STEP_MS):
        clocks.ahead_ms = ahead_ms
        clocks.scheduler.advance(CHECK_INTERVAL_MS)
    assert lines.of(STEP_LINE) == []
    assert clocks.wall.step_ms == 0


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


def set_ahead(control: Path, step_ms: int) -> None:
    part = control.with_suffix(".new")
    part.write_text(str(step_ms))
    part.replace(control)


def real_ms() -> int:
    return time.time_ns() // 1_000_000


def records_of(client: WireClient, topic: str, partition: int) -> list[Record]:
    request = fetch_request(topic, partition=partition)
    data: bytes = client.request(request, 12).responses[0].partitions[0].records or b""
    return list(parse_records(data))


def commit(client: WireClient, group_id: str) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="created", partitions=[partition])
    (answered,) = client.request(OffsetCommitRequest(group_id=group_id, topics=[topic]), 8).topics
    assert answered.partitions[0].error_code == ErrorCode.NONE


def commit_timestamp_ms(client: WireClient, group_id: str) -> int:
    """That of the last committed offset of a group, as it is stored."""
    partition = partition_for(group_id, 50)
    found = [
        offset.commit_timestamp_ms
        for record in records_of(client, "__consumer_offsets", partition)
        if record.key is not None and is_offset_key(record.key)
        for of_group, _, _, offset in [read_offset_record(record.key, record.value)]
        if of_group == group_id and offset is not None
    ]
    return found[-1]


def audit_times_ms(client: WireClient, group_id: str) -> list[tuple[str, int]]:
    events = [
        decode_event(record.value or b"")
        for record in records_of(client, "__group_audit", partition_for(group_id, 50))
        if record.key == group_id.encode()
    ]
    return [(event.__struct_config__.tag, event.time_ms) for event in events]


def described(client: WireClient, transactional_id: str) -> Any:
    (state,) = client.request(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0).transaction_states
    return state


def test_groups_and_transactions_are_told_in_wall_clock_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A late NTP step, or a machine that was suspended, puts no time into the audit that was hours ago."""
    control = tmp_path / "ahead"
    monkeypatch.setenv(CONTROL, str(control))
    settings = QUICK_GROUPS | {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    with RunningServer(tmp_path, settings, module="tests.node.stepped_serve") as server:
        with WireClient(server.bootstrap) as client:
            create(client, "created")
            client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
            wait_for(lambda: initialize(client) == ErrorCode.NONE, 10, "the transaction coordinator")
            for number, step_ms in enumerate((0, 2 * HOUR_MS, -2 * HOUR_MS)):
                set_ahead(control, step_ms)
                began_ms, group_id, transactional_id = real_ms() + step_ms, f"group-{number}", f"t-{number}"
                request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
                producer = client.request(request, 4)
                partitions = AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id=transactional_id,
                    v3_and_below_producer_id=producer.producer_id,
                    v3_and_below_producer_epoch=producer.producer_epoch,
                    v3_and_below_topics=[AddPartitionsToTxnTopic(name="created", partitions=[0])],
                )
                client.request(partitions, 3)
                client.join_alone(group_id)
                commit(client, f"offsets-{number}")
                times = [
                    described(client, transactional_id).transaction_start_time_ms,
                    commit_timestamp_ms(client, f"offsets-{number}"),
                    *(at_ms for _, at_ms in audit_times_ms(client, group_id)),
                ]
                assert len(times) > 5
                assert all(0 <= at_ms - began_ms < 60_000 for at_ms in times), (step_ms, times, began_ms)
            states = {described(client, f"t-{number}").transaction_state for number in range(3)}
            assert states == {"Ongoing"}  # the step is no timeout
        assert server.stop() == 0


def test_members_that_wait_for_an_assignment_are_not_forgotten_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """While they wait for the assignment interval, which the wall clock measures, sessions answer their heartbeats."""
    control = tmp_path / "ahead"
    monkeypatch.setenv(CONTROL, str(control))
    interval = {f"group.consumer.{name}assignment.interval.ms": str(24 * HOUR_MS) for name in ("", "max.")}
    with RunningServer(tmp_path, QUICK_GROUPS | interval, module="tests.node.stepped_serve") as server:
        with WireClient(server.bootstrap) as client:
            create(client, "t")

            def beat(member_id: str, epoch: int, **said: Any) -> int:
                beaten = ConsumerGroupHeartbeatRequest(
                    group_id="consumers", member_id=member_id, member_epoch=epoch, **said
                )
                answer = client.request(beaten, 1)
                assert answer.error_code in (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                found: int = answer.member_epoch
                return found

            joining: dict[str, Any] = {
                "subscribed_topic_names": ["t"],
                "rebalance_timeout_ms": 60_000,
                "topic_partitions": [],
            }
            first = wait_for(lambda: beat("a" * 22, 0, **joining), 20, "the consumer group")
            assert beat("b" * 22, 0, **joining) == first
            for _ in range(3):
                assert beat("b" * 22, first) == first
            set_ahead(control, -2 * HOUR_MS)
            client.join_alone("another group")
            assert beat("b" * 22, first) == first + 1
        assert server.stop() == 0


def test_records_follow_the_wall_clock_and_sessions_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    control = tmp_path / "ahead"
    monkeypatch.setenv(CONTROL, str(control))
    with RunningServer(tmp_path, module="tests.node.stepped_serve") as server:
        with WireClient(server.bootstrap) as client:
            limits = {"message_timestamp_before_max_ms": str(HOUR_MS), "message_timestamp_after_max_ms": str(HOUR_MS)}
            create(client, "created", **limits)
            create(client, "appended", message_timestamp_type="LogAppendTime")
            member_id = client.join_alone("group", session_timeout_ms=60_000)
            client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
            wait_for(lambda: initialize(client) == ErrorCode.NONE, 10, "the transaction coordinator")
            for step_ms in (0, 2 * HOUR_MS, -2 * HOUR_MS):
                set_ahead(control, step_ms)
                began_ms = real_ms()
                assert send(client, "created", began_ms + step_ms).error_code == ErrorCode.NONE
                is_off = ErrorCode.NONE if step_ms == 0 else ErrorCode.INVALID_TIMESTAMP
                assert send(client, "created", began_ms).error_code == is_off
                stamped = send(client, "appended", 0).log_append_time_ms - step_ms
                assert 0 <= stamped - began_ms < 60_000
                assert client.heartbeat_error("group", member_id) == ErrorCode.NONE
                assert initialize(client) == ErrorCode.NONE
        assert server.stop() == 0
