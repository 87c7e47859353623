"""What the offsets of a group say beside the ends of the logs, as `groups` and the live page tell it."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import Record, build_batch
from coordinator.dashboard.board import Board
from coordinator.dashboard.lag_feed import LagSampler
from tests.servers import RunningServer
from tests.transactional_client import TransactionalProducer
from tests.wire_client import WireClient

OLD_MS = time.time_ns() // 1_000_000 - 3_600_000


@pytest.fixture
def client(server: RunningServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap) as connected:
        yield connected


def groups(server: RunningServer, *arguments: str) -> str:
    command = [sys.executable, "-m", "coordinator.cli", "groups", *arguments, "--bootstrap", server.bootstrap]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert run.returncode == 0, run.stderr
    return re.sub(r"\s+", " ", run.stdout)


def commit(client: WireClient, group_id: str, topic: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    answer = client.request(OffsetCommitRequest(group_id=group_id, topics=topics), 8)
    assert answer.topics[0].partitions[0].error_code == 0


def listed_lag(server: RunningServer, group_id: str) -> object:
    (found,) = [load for load in json.loads(groups(server, "list", "--json")) if load["group_id"] == group_id]
    return found["lag"]


def described(server: RunningServer, group_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(groups(server, "describe", group_id, "--json"))
    return found


def on_the_page(server: RunningServer, group_id: str) -> tuple[int | None, int | None, list[str]]:
    """Lag, age in ms, and the headlines of the findings."""
    sampler, board = LagSampler(server.bootstrap), Board()
    try:
        board.apply_lags(sampler.sample())
    finally:
        sampler.close()
    row = board.row(group_id)
    assert row.findings == len(board.findings_of(group_id))
    return row.lag, row.lag_ms, [finding.headline for finding in board.findings_of(group_id)]


def test_a_committed_offset_beyond_the_end_of_the_log_is_told_everywhere(server, client):
    client.create_topic("cut")
    client.produce("cut", build_batch([Record(offset=each, timestamp_ms=OLD_MS) for each in range(3)]))
    commit(client, "beyond", "cut", 10)
    assert listed_lag(server, "beyond") == -7
    found = described(server, "beyond")
    assert (found["lag"], found["lag_ms"]) == (-7, None)
    text = groups(server, "describe", "beyond")
    assert "lag -7 in 1 partition" in text
    told = (
        "cut-0: the committed offset is beyond the end of the log, so the position of its consumer will be out of"
        " range, and it goes on where auto.offset.reset says"
    )
    assert f"! {told}." in text
    assert f"! {told} - cut-0: committed 10, log end 3 try: look whether" in groups(server, "why", "beyond")
    assert on_the_page(server, "beyond") == (-7, None, [told])


def test_records_that_were_deleted_unread_are_told_everywhere(server, client):
    client.create_topic("kept-short")
    client.produce("kept-short", build_batch([Record(offset=each, timestamp_ms=OLD_MS) for each in range(9)]))
    commit(client, "late", "kept-short", 2)
    commit(client, "done", "kept-short", 9)
    assert "deleted" not in groups(server, "describe", "late")
    wanted = DeleteRecordsTopic(name="kept-short", partitions=[DeleteRecordsPartition(partition_index=0, offset=7)])
    answer = client.request(DeleteRecordsRequest(topics=[wanted], timeout_ms=5_000), 2)
    assert answer.topics[0].partitions[0].error_code == 0
    (partition,) = described(server, "late")["partitions"]
    assert (partition["lag"], partition["log_start_offset"], partition["deleted_unread"]) == (7, 7, 5)
    told = (
        "kept-short-0: 5 records from the committed offset on were deleted unread, so a consumer that begins there is"
        " out of range, and goes on where auto.offset.reset says"
    )
    assert f"! {told}." in groups(server, "describe", "late")
    assert f"! {told} - kept-short-0: committed 2, log start 7 try: if the group" in groups(server, "why", "late")
    assert on_the_page(server, "late")[2] == [told]
    assert "deleted" not in groups(server, "describe", "done")
    assert on_the_page(server, "done")[2] == []


def test_a_transaction_that_sets_an_offset_back_is_told(server, client):
    client.create_topic("paid-again")
    commit(client, "rewinds", "paid-again", 9)
    producer = TransactionalProducer(client, "rewinder")
    producer.send_offset("rewinds", "paid-again", 2)
    assert "paid-again-0 from" not in groups(server, "history", "rewinds")
    producer.end()
    told = "test (127.0.0.1) reset 1 committed offset: paid-again-0 from 9 to 2"
    assert told in groups(server, "history", "rewinds")


@pytest.mark.parametrize("producers", [1, 3])
def test_markers_of_transactions_are_no_lag(server, client, producers):
    topic, group_id = f"paid-{producers}", f"read-all-{producers}"
    client.create_topic(topic)
    sending = [TransactionalProducer(client, f"{topic}-{number}") for number in range(producers)]
    for each in sending:
        each.send(topic, 5, OLD_MS)
    for each in sending:
        each.end()
    count = 5 * producers
    commit(client, group_id, topic, count)
    assert listed_lag(server, group_id) == 0
    found = described(server, group_id)
    assert (found["lag"], found["lag_ms"]) == (0, 0)
    assert on_the_page(server, group_id) == (0, 0, [])
    commit(client, group_id, topic, count - 1)
    assert listed_lag(server, group_id) == 1 + producers
    lag, age_ms, _ = on_the_page(server, group_id)
    assert lag == 1 + producers
    assert age_ms is not None
    assert age_ms >= 3_600_000


def test_records_after_markers_count_again_at_once(server, client):
    client.create_topic("goes-on")
    producer = TransactionalProducer(client, "goes-on")
    producer.send("goes-on", 2)
    producer.end()
    commit(client, "follows", "goes-on", 2)
    sampler = LagSampler(server.bootstrap)
    assert sampler.sample().groups["follows"].lag == 0
    client.produce("goes-on", build_batch([Record(offset=0, timestamp_ms=OLD_MS)]))
    sampled = sampler.sample().groups["follows"]
    assert (sampled.lag, (sampled.lag_ms or 0) >= 3_600_000) == (2, True)
    sampler.close()


def test_what_waits_for_a_transaction_is_told_with_its_transactional_id(server, client):
    client.create_topic("held")
    client.produce("held", build_batch([Record(offset=0, timestamp_ms=OLD_MS)]))
    producer = TransactionalProducer(client, "forgetful", timeout_ms=90_000)
    producer.send("held", 2)
    commit(client, "waits", "held", 1)
    text = groups(server, "describe", "waits", "--utc")
    assert re.search(
        r"! held-0: read_committed reads up to offset 1 of 3, and waits for the transaction of forgetful, open since"
        r" [-\d]+ [:\d]+\+00:00, until [-\d]+ [:\d]+\+00:00 at the latest\.",
        text,
    )
    (partition,) = described(server, "waits")["partitions"]
    transaction = partition["transaction"]
    assert (transaction["transactional_id"], transaction["timeout_ms"]) == ("forgetful", 90_000)
    assert transaction["until_ms"] == transaction["started_ms"] + 90_000
    commit(client, "waits", "held", 0)
    assert "waits for the transaction" not in groups(server, "describe", "waits")
    producer.end()
    commit(client, "waits", "held", 1)
    assert "waits for the transaction" not in groups(server, "describe", "waits")


def test_an_offset_that_waits_for_its_transaction_is_told(server, client):
    client.create_topic("pending")
    commit(client, "processor", "pending", 0)
    producer = TransactionalProducer(client, "streams-1")
    producer.send_offset("processor", "pending", 0)
    told = r"pending-0: a newer offset waits for the transaction of streams-1, open since .* UNSTABLE_OFFSET_COMMIT\."
    assert re.search(told, groups(server, "describe", "processor"))
    assert described(server, "processor")["lag"] == 0
    producer.end()
    assert "streams-1" not in groups(server, "describe", "processor")
