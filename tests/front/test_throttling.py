"""Clients that exceed a quota: over real sockets, most of them on a clock that the test advances."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.metadata import MetadataRequest
from _wire.records import build_batch
from coordinator.testing import Coordinator
from tests.front.quota_client import LimitedClient, QuotaClient
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, fetch_request, produce_request

RECORDS: Final = build_batch([(None, b"x" * 20_000, [])], timestamp_ms=1)
QUOTA: Final = 1000.0
WINDOW_S: Final = 10


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator() as running:
        yield running


@pytest.fixture
def admin(server: Coordinator) -> Iterator[QuotaClient]:
    with QuotaClient(server.bootstrap) as client:
        client.create_topic("t")
        yield client


@pytest.fixture
def client(server: Coordinator) -> Iterator[LimitedClient]:
    with LimitedClient(server.bootstrap) as connected:
        yield connected


def throttle_of_excess(size_bytes: int) -> int:
    """Kafka's throttle time for so many bytes at once: (observed - quota) / quota * window."""
    return round((size_bytes / WINDOW_S - QUOTA) / QUOTA * WINDOW_S * 1000)


def produce(client: LimitedClient, acks: int = -1) -> Any:
    return client.request(produce_request("t", RECORDS, acks=acks), 9)


# ---- bytes


def test_without_a_quota_nobody_is_throttled(admin, client):
    assert produce(client).throttle_time_ms == 0
    assert not client.is_muted()


def test_a_producer_above_its_quota_is_told_how_long_and_then_muted(server, admin, client):
    admin.set("limited", producer_byte_rate=QUOTA)
    response = produce(client)
    request_bytes = len(client.frame(produce_request("t", RECORDS), 9)[0]) - 4
    assert response.throttle_time_ms == throttle_of_excess(request_bytes)
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert client.is_muted()
    server.advance(response.throttle_time_ms / 1000 - 5)
    assert not client.has_data()
    server.advance(5)
    assert client.is_answered()


def test_a_quota_may_be_as_small_as_kafka_takes_it(admin, client):
    admin.set("limited", producer_byte_rate=1e-7)
    assert produce(client).throttle_time_ms == 2**31 - 1
    assert client.is_muted()


def test_another_client_is_not_throttled(admin, client, server):
    admin.set("limited", producer_byte_rate=QUOTA)
    assert produce(client).throttle_time_ms > 0
    assert client.is_muted()
    with LimitedClient(server.bootstrap, "other") as other:
        assert produce(other).throttle_time_ms == 0
        assert not other.is_muted()


def test_a_second_connection_of_the_client_is_throttled_too(admin, client, server):
    admin.set("limited", producer_byte_rate=QUOTA)
    first = produce(client).throttle_time_ms
    with LimitedClient(server.bootstrap) as second:
        assert produce(second).throttle_time_ms > first


def test_a_producer_without_acknowledgements_is_muted(server, admin, client):
    admin.set("limited", producer_byte_rate=QUOTA)
    client.send(produce_request("t", RECORDS, acks=0), 9)
    assert client.is_muted()
    server.advance(20)
    assert client.is_answered()


def test_what_a_throttled_connection_sends_is_answered_in_order_afterwards(server, admin, client):
    admin.set("limited", producer_byte_rate=QUOTA)
    produce(client)
    sent = [client.send(MetadataRequest(topics=[]), 1) for _ in range(1500)]
    assert not client.has_data()
    server.advance(20)
    for each in sent:
        assert client.receive(each).brokers


def test_a_throttled_fetch_is_answered_empty_and_does_not_count(server, admin, client):
    for _ in range(2):
        produce(admin)
    admin.set("limited", consumer_byte_rate=QUOTA * 3)
    first = client.request(fetch_request("t"), 12)
    assert (first.throttle_time_ms, len(first.responses[0].partitions[0].records)) == (0, len(RECORDS))
    second = client.request(fetch_request("t"), 12)
    assert (second.responses, second.throttle_time_ms > 0) == ([], True)
    assert client.is_muted()
    server.advance(second.throttle_time_ms / 1000)
    assert client.is_answered()
    again = client.request(fetch_request("t"), 12)
    assert 0 < again.throttle_time_ms < second.throttle_time_ms
    server.advance(again.throttle_time_ms / 1000 + WINDOW_S + 1)
    third = client.request(fetch_request("t"), 12)
    assert (third.throttle_time_ms, len(third.responses[0].partitions[0].records)) == (0, len(RECORDS))


def test_a_fetch_reads_no_more_than_the_quota_of_its_window(admin, client):
    for _ in range(5):
        produce(admin)
    admin.set("limited", consumer_byte_rate=5000.0)
    response = client.request(fetch_request("t"), 12)
    assert response.throttle_time_ms == 0
    assert len(response.responses[0].partitions[0].records) == 2 * len(RECORDS)


def test_a_fetch_that_waits_for_records_is_throttled_when_it_is_answered(server, admin, client):
    admin.set("limited", consumer_byte_rate=QUOTA)
    sent = client.send(fetch_request("t", max_wait_ms=30_000), 12)
    assert not client.has_data()
    produce(admin)
    response = client.receive(sent)
    assert (response.responses, response.throttle_time_ms > 0) == ([], True)


def test_a_removed_quota_throttles_nobody(admin, client, server):
    admin.set("limited", producer_byte_rate=QUOTA)
    admin.set("limited", producer_byte_rate=None)
    assert produce(client).throttle_time_ms == 0


# ---- time


def test_heartbeats_count_against_request_percentage(tmp_path):
    """In a server as it is run: the test kit's leaves each heartbeat to the core anyway."""
    with (
        RunningServer(tmp_path, QUICK_GROUPS) as server,
        QuotaClient(server.bootstrap) as admin,
        LimitedClient(server.bootstrap) as client,
    ):
        member_id = client.join_alone("group")
        heartbeat = HeartbeatRequest(group_id="group", generation_id=1, member_id=member_id)
        assert client.request(heartbeat, 4).throttle_time_ms == 0
        admin.set("limited", request_percentage=0.00001)
        response = client.request(heartbeat, 4)
        assert (response.error_code, response.throttle_time_ms) == (ErrorCode.NONE, 1000)
        assert client.is_muted()
        admin.set("limited", request_percentage=None)
        with LimitedClient(server.bootstrap) as other:
            assert other.request(heartbeat, 4).throttle_time_ms == 0


def test_the_time_of_a_producer_without_acknowledgements_is_exempt(admin, client):
    admin.set("limited", request_percentage=0.00001)
    client.send(produce_request("t", RECORDS, acks=0), 9)
    assert not client.is_muted()


def test_a_client_within_its_request_percentage_is_not_throttled(admin, client):
    admin.set("limited", request_percentage=1000.0)
    assert [client.request(MetadataRequest(topics=[]), 9).throttle_time_ms for _ in range(20)] == [0] * 20


def test_the_time_of_sliced_work_counts(admin, client):
    """5,000 topics take some ms, which is 0.1 % of the window at least."""
    admin.set("limited", request_percentage=0.1)
    topics = [CreatableTopic(name=f"bulk-{index}", num_partitions=1, replication_factor=1) for index in range(5000)]
    response = client.request(CreateTopicsRequest(topics=topics, timeout_ms=5000, validate_only=True), 7)
    assert response.throttle_time_ms > 0


# ---- topics


def create(client: LimitedClient, version: int, **partitions: int) -> Any:
    topics = [CreatableTopic(name=n, num_partitions=count, replication_factor=1) for n, count in partitions.items()]
    return client.request(CreateTopicsRequest(topics=topics, timeout_ms=5000), version)


def test_topics_above_the_quota_are_rejected_and_the_client_is_told_how_long(server, admin, client):
    admin.set("limited", controller_mutation_rate=1.0)
    response = create(client, 7, first=12, second=1)
    assert [(topic.error_code, topic.error_message) for topic in response.topics] == [
        (ErrorCode.NONE, None),
        (ErrorCode.THROTTLING_QUOTA_EXCEEDED, None),
    ]
    assert 900 < response.throttle_time_ms <= 1000
    assert client.is_muted()
    server.advance(1)
    assert client.is_answered()
    assert [topic.error_code for topic in create(client, 7, second=1).topics] == [ErrorCode.NONE]


def test_an_older_client_gets_its_topics_and_is_throttled(admin, client):
    admin.set("limited", controller_mutation_rate=1.0)
    response = create(client, 5, first=12, second=4)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.NONE] * 2
    assert 4900 < response.throttle_time_ms <= 5000
    assert client.is_muted()


def test_only_new_partitions_count(admin, client):
    admin.set("limited", controller_mutation_rate=1.0)
    create(client, 7, grown=10)
    more = CreatePartitionsTopic(name="grown", count=12, assignments=None)
    request = CreatePartitionsRequest(topics=[more], timeout_ms=5000)
    response = client.request(request, 3)
    assert ([result.error_code for result in response.results], response.throttle_time_ms) == ([ErrorCode.NONE], 0)
    request.topics[0].count = 13
    response = client.request(request, 3)
    assert [result.error_code for result in response.results] == [ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert 0 < response.throttle_time_ms <= 1000


def test_partitions_of_deleted_topics_count(admin, client):
    admin.set("limited", controller_mutation_rate=1.0)
    create(admin, 7, gone=12, stays=1)
    states = [DeleteTopicState(name="gone"), DeleteTopicState(name="stays")]
    response = client.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6)
    assert [each.error_code for each in response.responses] == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert response.throttle_time_ms > 0
    names = {topic.name for topic in admin.request(MetadataRequest(topics=None), 9).topics}
    assert "stays" in names
    assert "gone" not in names


# ---- connections


def test_connections_above_the_quota_of_their_address_are_closed_unserved(server, admin):
    assert admin.alter({"ip": "127.0.0.1"}, connection_creation_rate=1.0).error_code == 0
    with ExitStack() as stack:
        *accepted, refused = (stack.enter_context(LimitedClient(server.bootstrap)) for _ in range(11))
        assert not any(each.is_muted() for each in accepted)
        assert refused.is_muted()
        server.advance(1)
        with pytest.raises(ConnectionClosed):
            refused.is_answered()
        assert all(each.is_answered() for each in accepted)
        assert not any(each.is_muted() for each in accepted)


def test_connections_that_were_refused_do_not_count(server, admin):
    assert admin.alter({"ip": "127.0.0.1"}, connection_creation_rate=1.0).error_code == 0
    with ExitStack() as stack:
        assert not any(stack.enter_context(LimitedClient(server.bootstrap)).is_muted() for _ in range(10))
        server.advance(5)
        for refused in [stack.enter_context(LimitedClient(server.bootstrap)) for _ in range(5)]:
            refused.ask()
            with pytest.raises(ConnectionClosed):
                refused.is_answered()
        server.advance(7)
        assert not any(stack.enter_context(LimitedClient(server.bootstrap)).is_muted() for _ in range(10))


def test_connections_from_other_addresses_are_served(server, admin):
    assert admin.alter({"ip": "10.0.0.1"}, connection_creation_rate=1.0).error_code == 0
    for _ in range(15):
        with LimitedClient(server.bootstrap) as connection:
            assert not connection.is_muted()


# ---- muted connections and the limits of connections


def test_a_muted_connection_whose_client_leaves_is_closed(tmp_path):
    with (
        RunningServer(tmp_path, QUICK_GROUPS | {"max.connections": "2"}) as server,
        QuotaClient(server.bootstrap) as admin,
    ):
        admin.create_topic("t")
        admin.set("limited", producer_byte_rate=1.0)
        with LimitedClient(server.bootstrap) as client:
            assert produce(client).throttle_time_ms > 1_000_000
            client.ask()
        wait_for(lambda: is_served(server), 5, "room for another connection")


def is_served(server: RunningServer) -> bool:
    with LimitedClient(server.bootstrap, "other") as client:
        try:
            return bool(client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE)
        except (ConnectionClosed, ConnectionError):
            return False


def test_a_muted_connection_is_not_idle(tmp_path):
    with RunningServer(tmp_path, QUICK_GROUPS | {"connections.max.idle.ms": "300"}) as server:
        with QuotaClient(server.bootstrap) as admin:
            admin.create_topic("t")
            admin.set("limited", producer_byte_rate=1700.0)
        with LimitedClient(server.bootstrap) as client:
            assert 1000 < produce(client).throttle_time_ms < 3000
            client.ask()
            assert client.is_answered()


def test_a_request_that_is_not_read_while_its_connection_is_muted_is_not_stalled():
    """A thousand requests fill the queue, so reading stops in the middle of the last one, for longer than allowed."""
    with Coordinator({"connections.max.stalled.ms": "1000"}) as server, LimitedClient(server.bootstrap) as client:
        with QuotaClient(server.bootstrap) as admin:
            admin.create_topic("t")
            admin.set("limited", producer_byte_rate=QUOTA)
            throttle_s = produce(client).throttle_time_ms / 1000
            asked = [client.frame(ApiVersionsRequest(), 0) for _ in range(1100)]
            data = b"".join(frame for frame, _ in asked)
            client.socket.sendall(data[:-5])
            # When these are answered, what was sent before them has been read.
            for _ in range(2):
                admin.quotas()
        server.advance(throttle_s - 1)
        assert not client.has_data()
        server.advance(1)
        for _, sent in asked[:-1]:
            client.receive(sent)
        client.socket.sendall(data[-5:])
        assert client.receive(asked[-1][1]).error_code == ErrorCode.NONE
