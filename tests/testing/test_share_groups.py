"""The test kit with share groups (KIP-932), by stock share consumers of confluent-kafka."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from coordinator.audit import schema
from coordinator.explain.words import listed
from coordinator.testing import Coordinator, TestingError
from tests.waiting import wait_for
from tests.wire_client import WireClient

SECONDS = 20
POLL_SECONDS = 0.05


class RdkafkaShareConsumer:
    """Polls in a thread of its own; `answer` is what it does with each record, None: it holds what it gets."""

    def __init__(
        self, bootstrap: str, topic: str, group_id: str, client_id: str, answer: AcknowledgeType | None
    ) -> None:
        self.client_id = client_id
        self.got: list[tuple[int, int]] = []
        """Offset and delivery count of each record."""
        self.answers: list[str] = []
        """What came of its acknowledgements: the name of the error, or empty."""
        self.answer = answer
        self._ending = threading.Event()
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group_id,
                "client.id": client_id,
                "share.acknowledgement.mode": "explicit",
                "log_level": 2,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
            }
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        held: list[tuple[str, int, int]] = []
        while not self._ending.is_set():
            if not held:
                for message in self._consumer.poll(POLL_SECONDS):
                    assert message.error() is None, message.error()
                    held.append((str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)))
                    self.got.append((held[-1][2], int(message.delivery_count() or 0)))
            if held and self.answer is not None:
                for topic, partition, offset in held:
                    self._consumer.acknowledge_offset(topic, partition, offset, self.answer)
                held.clear()
                for problem in self._consumer.commit_sync().values():
                    self.answers.append(problem.args[0].name() if problem else "")
            else:
                self._ending.wait(POLL_SECONDS)


@contextmanager
def sharing(
    server: Coordinator, count: int = 1, answer: AcknowledgeType | None = None
) -> Iterator[Sequence[RdkafkaShareConsumer]]:
    """So many consumers of topic `orders` in group `billing`, with the client ids billing-1 and so on."""
    with ExitStack() as stack:
        started = []
        for number in range(1, count + 1):
            one = RdkafkaShareConsumer(server.bootstrap, "orders", "billing", f"billing-{number}", answer)
            stack.callback(one.close)
            started.append(one)
        yield started


@pytest.fixture
def shared(server: Coordinator) -> Coordinator:
    """With a topic of three records, and a group that begins with the first one."""
    server.create_topic("orders")
    server.produce("orders", ["a", "b", "c"])
    server.group("billing").configure({"share.auto.offset.reset": "earliest"})
    return server


def delivered(server: Coordinator, times: int, records: int = 3) -> None:
    """Wait until each record was delivered so often."""

    def is_so() -> bool:
        try:
            server.assert_delivered("billing", times, at_least=times, records=records)
        except AssertionError:
            return False
        return True

    wait_for(is_so, SECONDS, f"{records} records to be delivered {times} times")


def test_a_share_group_is_seen_by_the_calls_of_the_others(shared):
    with sharing(shared, 2, AcknowledgeType.ACCEPT) as consumers:
        group = shared.group("billing").wait_for("Stable", members=2, partitions=2, timeout=SECONDS)
        assert (group.kind, group.protocol_name, group.leader) == ("share", "", "")
        assert {member.client_id for member in group.members} == {"billing-1", "billing-2"}
        assert [member.partitions for member in group.members] == [{"orders": [0]}] * 2
        delivered(shared, 1)
        wait_for(lambda: sum(len(each.got) for each in consumers) == 3, SECONDS, "the records at the clients")
    assert shared.group("billing").wait_for("Empty").kind == "share"


def test_a_jump_ends_locks_and_keeps_the_member(shared):
    with sharing(shared) as (one,):
        wait_for(lambda: one.got, SECONDS, "the records")
        epoch = shared.group("billing").generation
        shared.advance(29)
        delivered(shared, 1)
        shared.advance(2)  # the lock is 30 s
        with sharing_another(shared) as other:
            wait_for(lambda: len(one.got) + len(other.got) == 6, SECONDS, "the records again")
            shared.assert_delivered("billing", at_most=2, at_least=2, records=3)
        assert shared.group("billing").describe().members[0].client_id == "billing-1"
        assert shared.group("billing").generation >= epoch


def test_a_jump_beyond_the_session_removes_a_silent_member_alone(shared):
    with sharing(shared, 2, AcknowledgeType.ACCEPT):
        shared.group("billing").wait_for("Stable", members=2, partitions=2, timeout=SECONDS)
        shared.advance(46, silent=["billing-2"])
        removed = [each for each in shared.events("billing") if isinstance(each, schema.MemberRemoved)]
        assert [each.member.client_id for each in removed] == ["billing-2"]


def test_released_records_come_again_until_the_limit(shared):
    with sharing(shared, 1, AcknowledgeType.RELEASE) as (one,):
        wait_for(lambda: len(one.got) == 15, SECONDS, "five deliveries of each record")
        one.answer = AcknowledgeType.ACCEPT
        shared.produce("orders", ["d"])
        wait_for(lambda: (3, 1) in one.got, SECONDS, "the next record")
    with pytest.raises(AssertionError, match="delivered 3 records otherwise than at most 4 times:\n") as failed:
        shared.assert_delivered("billing", at_most=4)
    assert str(failed.value).splitlines()[1] == f"  offset 0 of orders-0: 5 times, to {listed(['billing-1'] * 5)}"
    shared.assert_delivered("billing", at_most=5)
    with pytest.raises(AssertionError, match="delivered 4 records, and 3 was expected"):
        shared.assert_delivered("billing", records=3)
    with pytest.raises(AssertionError, match="delivered 1 record otherwise than at least 2 times:"):
        shared.assert_delivered("billing", at_least=2)


@contextmanager
def sharing_another(server: Coordinator) -> Iterator[RdkafkaShareConsumer]:
    other = RdkafkaShareConsumer(server.bootstrap, "orders", "billing", "other", AcknowledgeType.ACCEPT)
    try:
        yield other
    finally:
        other.close()


def test_an_acknowledgement_is_answered_with_an_error(shared):
    fault = shared.faults.answer("ShareAcknowledge", "INVALID_SHARE_SESSION_EPOCH", group="billing", times=1)
    with sharing(shared, 1, AcknowledgeType.ACCEPT) as (one,):
        wait_for(lambda: one.answers, SECONDS, "the answer")
        assert (one.answers[0], fault.hits) == ("INVALID_SHARE_SESSION_EPOCH", 1)


@pytest.mark.parametrize("api", ["ShareFetch", "ShareGroupHeartbeat"])
def test_an_error_is_survived_by_the_client(shared, api):
    fault = shared.faults.answer(api, "COORDINATOR_NOT_AVAILABLE", group="billing", times=1)
    with sharing(shared, 1, AcknowledgeType.ACCEPT) as (one,):
        wait_for(lambda: len(one.got) == 3, SECONDS, "the records")
        assert fault.hits == 1


@pytest.mark.parametrize("api", ["ShareFetch", "ShareAcknowledge", "ShareGroupHeartbeat"])
def test_requests_are_held(shared, api):
    barrier = shared.faults.hold(api, member="billing-1")
    with sharing(shared, 1, AcknowledgeType.ACCEPT) as (one,):
        barrier.wait_for(1, timeout=SECONDS)
        assert one.answers == []
        assert bool(one.got) == (api == "ShareAcknowledge")
        barrier.release()
        wait_for(lambda: one.answers == [""], SECONDS, "the acknowledgement")
        shared.assert_delivered("billing", at_most=1, records=3)


def test_what_a_delayed_fetch_has_acquired_is_released_when_its_connection_closes(shared):
    """The fetch is the first request that notes anything of its connection."""
    with sharing(shared, 1, AcknowledgeType.ACCEPT) as (one,):
        wait_for(lambda: len(one.got) == 3, SECONDS, "the records")
    shared.produce("orders", ["d"])
    fault = shared.faults.delay("ShareFetch", ms=1, group="billing", times=1)
    with WireClient(shared.bootstrap, "first") as client:
        assert fetched(client) == [(3, 3, 1)]
    assert fault.hits == 1
    with WireClient(shared.bootstrap, "second") as client:
        wait_for(lambda: fetched(client) == [(3, 3, 2)], SECONDS, "the record again")
    with pytest.raises(AssertionError, match="offset 3 of orders-0: 2 times, to first and second"):
        shared.assert_delivered("billing", at_most=1)


def fetched(client: WireClient) -> list[tuple[int, int, int]]:
    """First and last offset and delivery count of what a new share session acquires."""
    (topic,) = client.request(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 12).topics
    partitions = [FetchPartition(partition_index=0)]
    request = ShareFetchRequest(
        group_id="billing",
        member_id="m",
        share_session_epoch=0,
        max_wait_ms=100,
        min_bytes=1,
        max_records=10,
        batch_size=10,
        topics=[FetchTopic(topic_id=topic.topic_id, partitions=partitions)],
    )
    response = client.request(request, 1)
    assert response.error_code == 0
    runs = [run for each in response.responses for found in each.partitions for run in found.acquired_records]
    return [(run.first_offset, run.last_offset, run.delivery_count) for run in runs]


def test_deliveries_are_known_after_a_restart(shared):
    with sharing(shared, 1, AcknowledgeType.ACCEPT) as (one,):
        wait_for(lambda: one.answers == [""], SECONDS, "the acknowledgement")
        shared.restart()
        shared.produce("orders", ["d"])
        wait_for(lambda: len(one.got) == 4, SECONDS, "the next record")
    shared.assert_delivered("billing", at_most=1, records=4)


def test_what_is_expected_of_deliveries_can_fail(shared):
    with pytest.raises(TestingError, match="give at_most, at_least or records"):
        shared.assert_delivered("billing")
    with pytest.raises(AssertionError, match="delivered no record"):
        shared.assert_delivered("billing", at_least=1)
    shared.assert_delivered("billing", records=0)


def test_configs_of_a_group_are_checked(shared):
    with pytest.raises(TestingError, match=r"share\.auto\.offset\.reset"):
        shared.group("billing").configure({"share.auto.offset.reset": "sometimes"})
