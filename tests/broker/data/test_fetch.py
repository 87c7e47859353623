"""Fetch: at once, or when enough has come."""

import select
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, time_ns
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.records import batch_headers, build_batch, parse_records
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request

LONG_MS: Final = 15_000
SHORT_MS: Final = 150
QUIET_SECONDS: Final = 0.2
BY_NAME: Final = 11
BY_ID: Final = 13


def batch(*values: bytes) -> bytes:
    now_ms = time_ns() // 1_000_000  # else the retention may delete them meanwhile
    return build_batch([(None, value, ()) for value in values], timestamp_ms=now_ms)


def only(response: Any) -> Any:
    """The answer for the one partition that was asked for."""
    ((partition,),) = (topic.partitions for topic in response.responses)
    return partition


def values(partition: Any) -> list[bytes | None]:
    return [record.value for record in parse_records(partition.records or b"")]


def is_waiting(client: WireClient) -> bool:
    return not select.select([client.socket], [], [], QUIET_SECONDS)[0]


@pytest.fixture
def other(server):
    with WireClient(server.bootstrap) as connected:
        yield connected


def test_existing_records_are_returned_at_once(client, topic):
    client.create_topic(topic)
    client.produce(topic, batch(b"a", b"b"))
    partition = only(client.request(fetch_request(topic, max_wait_ms=LONG_MS), BY_NAME))
    assert values(partition) == [b"a", b"b"]
    assert (partition.high_watermark, partition.last_stable_offset, partition.log_start_offset) == (2, 2, 0)


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_by_name_is_answered(client, topic, version):
    client.create_topic(topic)
    client.produce(topic, batch(b"a"))
    assert values(only(client.request(fetch_request(topic), version))) == [b"a"]


@pytest.mark.parametrize("version", range(13, 19))
def test_from_v13_on_topics_are_named_by_id(client, topic, version):
    topic_id = client.create_topic(topic)
    client.produce(topic, batch(b"a"))
    assert values(only(client.request(fetch_request("", topic_id=topic_id), version))) == [b"a"]
    unknown = only(client.request(fetch_request("", topic_id=b"\x07" * 16, max_wait_ms=LONG_MS), version))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_the_end_of_the_log_is_empty_and_not_out_of_range(client, topic):
    client.create_topic(topic)
    client.produce(topic, batch(b"a"))
    partition = only(client.request(fetch_request(topic, 1), BY_NAME))
    assert (partition.error_code, partition.records or b"") == (ErrorCode.NONE, b"")


@pytest.mark.parametrize("offset", [-1, 2, 2**62])
def test_an_offset_out_of_range_is_answered_at_once(client, topic, offset):
    client.create_topic(topic)
    client.produce(topic, batch(b"a"))
    partition = only(client.request(fetch_request(topic, offset, max_wait_ms=LONG_MS), BY_NAME))
    assert (partition.error_code, partition.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


@pytest.mark.parametrize("partition", [-1, 1])
def test_an_unknown_partition_is_answered_at_once(client, topic, partition):
    client.create_topic(topic)
    for name, index in ((topic, partition), ("no-such-topic", 0)):
        answer = only(client.request(fetch_request(name, partition=index, max_wait_ms=LONG_MS), BY_NAME))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_empty_fetch_is_answered_at_once(client):
    response = client.request(FetchRequest(max_wait_ms=LONG_MS, min_bytes=1), BY_NAME)
    assert (response.error_code, response.responses) == (ErrorCode.NONE, [])


def test_fetch_sessions_are_not_kept(client, topic):
    client.create_topic(topic)
    request = fetch_request(topic)
    for session_id in (0, -1, 1, 12345):
        request.session_id = session_id
        for request.session_epoch in (0, -1):
            answer = client.request(request, BY_NAME)
            assert (answer.error_code, answer.session_id, only(answer).error_code) == (0, 0, 0)
        for request.session_epoch in (1, 3):
            assert client.request(request, BY_NAME).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


# ---- waiting


def test_a_fetch_that_waits_is_completed_by_a_produce(client, other, topic):
    client.create_topic(topic)
    sent = client.send(fetch_request(topic, max_wait_ms=LONG_MS), BY_NAME)
    assert is_waiting(client)
    other.produce(topic, batch(b"a"))
    assert values(only(client.receive(sent))) == [b"a"]


def test_a_fetch_waits_for_min_bytes(client, other, topic):
    client.create_topic(topic)
    size = len(batch(b"a"))
    sent = client.send(fetch_request(topic, max_wait_ms=LONG_MS, min_bytes=2 * size), BY_NAME)
    other.produce(topic, batch(b"a"))
    assert is_waiting(client)
    other.produce(topic, batch(b"b"))
    assert values(only(client.receive(sent))) == [b"a", b"b"]


def test_an_append_to_any_partition_completes_a_fetch(client, other, topic):
    client.create_topic(topic, partitions=3)
    request = fetch_request(topic, max_wait_ms=LONG_MS)
    request.topics[0].partitions += [FetchPartition(partition=index, partition_max_bytes=1000) for index in (1, 2)]
    sent = client.send(request, BY_NAME)
    other.produce(topic, batch(b"a"), partition=2)
    assert [values(partition) for partition in client.receive(sent).responses[0].partitions] == [[], [], [b"a"]]


def test_an_append_to_another_partition_does_not_complete_a_fetch(client, other, topic):
    client.create_topic(topic, partitions=2)
    sent = client.send(fetch_request(topic, max_wait_ms=LONG_MS), BY_NAME)
    other.produce(topic, batch(b"a"), partition=1)
    assert is_waiting(client)
    other.produce(topic, batch(b"b"))
    assert values(only(client.receive(sent))) == [b"b"]


def test_after_max_wait_a_fetch_gets_the_existing_records(client, topic):
    client.create_topic(topic)
    client.produce(topic, batch(b"a"))
    started = monotonic()
    partition = only(client.request(fetch_request(topic, max_wait_ms=SHORT_MS, min_bytes=10_000), BY_NAME))
    # The server counts whole milliseconds, so the first and the last of them may be cut short.
    assert monotonic() - started >= (SHORT_MS - 1) / 1000
    assert values(partition) == [b"a"]


def test_later_requests_are_answered_after_a_waiting_fetch(client, topic):
    client.create_topic(topic)
    sent = [client.send(fetch_request(topic, max_wait_ms=SHORT_MS), BY_NAME) for _ in range(3)]
    for each in sent:
        assert only(client.receive(each)).error_code == ErrorCode.NONE


def test_many_fetches_may_wait_for_one_partition(server, client, topic):
    client.create_topic(topic)
    with ThreadPoolExecutor(8) as pool:

        def wait(_: int) -> list[bytes | None]:
            with WireClient(server.bootstrap) as waiting:
                return values(only(waiting.request(fetch_request(topic, max_wait_ms=LONG_MS), BY_NAME)))

        answers = [pool.submit(wait, index) for index in range(8)]
        client.produce(topic, batch(b"a"))
        assert [answer.result() for answer in answers] == [[b"a"]] * 8


def test_nothing_remains_of_a_client_that_disconnects(server, client, topic):
    client.create_topic(topic)
    begin = server.log.stat().st_size
    for _ in range(3):
        with WireClient(server.bootstrap) as gone:
            gone.send(fetch_request(topic, max_wait_ms=SHORT_MS), BY_NAME)
    client.produce(topic, batch(b"a"))
    partition = only(client.request(fetch_request(topic, 1, max_wait_ms=2 * SHORT_MS), BY_NAME))
    assert partition.error_code == ErrorCode.NONE
    assert server.log.read_bytes()[begin:] == b""


def test_an_audit_record_completes_a_waiting_fetch(tmp_path):
    """Internal logs grow through the coordinator, and are watched like any other."""
    request = fetch_request("__group_audit", max_wait_ms=LONG_MS)
    request.topics[0].partitions = [FetchPartition(partition=index, partition_max_bytes=1 << 20) for index in range(50)]
    # A server of its own: sessions of the groups of other tests end at any time, and that is audited.
    with RunningServer(tmp_path) as own, WireClient(own.bootstrap) as client, WireClient(own.bootstrap) as other:
        other.join_alone("something-to-read")
        seen = client.request(request, BY_NAME)
        for partition, answer in zip(request.topics[0].partitions, seen.responses[0].partitions, strict=True):
            partition.fetch_offset = answer.high_watermark
        sent = client.send(request, BY_NAME)
        assert is_waiting(client)
        other.join_alone("wakes-the-reader")
        keys = {
            record.key
            for partition in client.receive(sent).responses[0].partitions
            for record in parse_records(partition.records or b"")
        }
    assert keys == {b"wakes-the-reader"}


def test_deleting_a_topic_completes_its_waiting_fetch(client, other, topic):
    client.create_topic(topic)
    sent = client.send(fetch_request(topic, max_wait_ms=LONG_MS), BY_NAME)
    assert is_waiting(client)
    other.request(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5)
    assert only(client.receive(sent)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# ---- limits


def test_the_first_batch_is_complete_even_over_the_limit(client, topic):
    client.create_topic(topic)
    large = batch(bytes(5000))
    for _ in range(2):
        client.produce(topic, large)
    partition = only(client.request(fetch_request(topic, max_bytes=1), BY_NAME))
    assert [header.size_in_bytes for header in batch_headers(partition.records)] == [len(large)]


def test_after_the_first_batch_only_complete_ones_within_the_limit(client, topic):
    client.create_topic(topic)
    small = batch(b"x")
    for _ in range(5):
        client.produce(topic, small)
    partition = only(client.request(fetch_request(topic, max_bytes=3 * len(small) + 5), BY_NAME))
    assert len(batch_headers(partition.records)) == 3


def test_the_limit_of_the_response_applies_to_all_partitions_together(client, topic):
    client.create_topic(topic, partitions=3)
    small = batch(b"x")
    for index in range(3):
        for _ in range(4):
            client.produce(topic, small, partition=index)
    wanted = [FetchPartition(partition=index, partition_max_bytes=2 * len(small)) for index in range(3)]
    topics = [FetchTopic(topic=topic, partitions=wanted)]
    response = client.request(FetchRequest(min_bytes=1, max_bytes=3 * len(small), topics=topics), BY_NAME)
    assert [len(batch_headers(partition.records or b"")) for partition in response.responses[0].partitions] == [2, 1, 0]


def test_only_the_first_partition_with_records_may_exceed_the_limit(client, topic):
    client.create_topic(topic, partitions=2)
    for index in range(2):
        client.produce(topic, batch(bytes(1000)), partition=index)
    wanted = [FetchPartition(partition=index, partition_max_bytes=10) for index in range(2)]
    response = client.request(FetchRequest(min_bytes=1, topics=[FetchTopic(topic=topic, partitions=wanted)]), BY_NAME)
    assert [len(batch_headers(partition.records or b"")) for partition in response.responses[0].partitions] == [1, 0]


def test_a_fetch_may_start_inside_a_batch(client, topic):
    """The answer holds the whole batch; a client passes over what it did not ask for."""
    client.create_topic(topic)
    client.produce(topic, batch(b"a", b"b", b"c"))
    assert values(only(client.request(fetch_request(topic, 1), BY_NAME))) == [b"a", b"b", b"c"]


def test_read_committed_is_answered_with_an_empty_list_of_aborted_transactions(client, topic):
    client.create_topic(topic)
    request = fetch_request(topic)
    assert only(client.request(request, BY_NAME)).aborted_transactions is None
    request.isolation_level = 1
    assert only(client.request(request, BY_NAME)).aborted_transactions == []


def test_unread_responses_to_waiting_fetches_do_not_block_others(server, client, topic):
    client.create_topic(topic)
    with WireClient(server.bootstrap) as lazy:
        for _ in range(100):
            lazy.send(fetch_request(topic, max_wait_ms=10), BY_NAME)
        client.produce(topic, batch(b"a"))
        wait_for(lambda: values(only(client.request(fetch_request(topic), BY_NAME))) == [b"a"], 5, "the record")
