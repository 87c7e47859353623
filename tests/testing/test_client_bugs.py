"""Bugs that clients had, each as a test that would have caught it: the fault that brought it out, and what is healthy.

They also show how a test of one's own client looks: inject the fault, wait for the group, and check how often and why
it rebalanced.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaError

from _wire.errors import ErrorCode
from coordinator.audit import schema
from coordinator.testing import AsyncCoordinator, Coordinator
from tests.testing.consumers import consumers
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

SECONDS = 20


@contextmanager
def librdkafka(bootstrap: str, topics: list[str], group_id: str, **settings: Any) -> Iterator[list[KafkaError]]:
    """A consumer of confluent-kafka, polled by a thread; the errors that it reports."""
    errors: list[KafkaError] = []
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group_id,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 100,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    consumer.subscribe(topics)
    ending = threading.Event()

    def poll() -> None:
        while not ending.is_set():
            message = consumer.poll(0.1)
            if message is not None and (error := message.error()) is not None:
                errors.append(error)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield errors
    finally:
        ending.set()
        thread.join()
        consumer.close()


def test_a_commit_of_an_unknown_member_makes_one_rebalance_and_no_endless_ones():
    """https://github.com/aio-libs/aiokafka/issues/727: after UNKNOWN_MEMBER_ID to an OffsetCommit in a rebalance,
    members synced with generation -1, and the group rebalanced for ever.
    """

    async def play() -> None:
        async with AsyncCoordinator() as server:
            await server.create_topic("orders", partitions=4)
            started = [
                AIOKafkaConsumer(
                    "orders",
                    bootstrap_servers=server.bootstrap,
                    group_id="app",
                    client_id=f"app-{each}",
                    auto_offset_reset="earliest",
                    auto_commit_interval_ms=50,
                    heartbeat_interval_ms=50,
                    retry_backoff_ms=20,
                )
                for each in (1, 2)
            ]
            await asyncio.gather(*(each.start() for each in started))
            values: set[bytes] = set()

            async def consume(consumer: AIOKafkaConsumer) -> None:
                async for record in consumer:
                    values.add(record.value)

            reading = [asyncio.create_task(consume(each)) for each in started]
            group = server.group("app")
            before = await group.wait_for("Stable", members=2)
            await server.faults.expire("app", "app-1")
            await server.produce("orders", [str(each) for each in range(8)])
            await group.wait_for("Stable", members=2, generation=before.generation_id + 1, timeout=SECONDS)
            await server.produce("orders", ["after"])
            async with asyncio.timeout(SECONDS):
                while not {b"after", b"7"} <= values:
                    await asyncio.sleep(0.01)
            await group.assert_rebalances(at_most=3, after_generation=before.generation_id)
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            await asyncio.gather(*(each.stop() for each in started))

    asyncio.run(play())


@pytest.mark.parametrize("api", ["Heartbeat", "OffsetCommit"])
def test_an_illegal_generation_makes_a_consumer_rejoin_and_not_crash(api):
    """https://github.com/tulios/kafkajs/pull/1474: ILLEGAL_GENERATION counted as fatal, and the consumer crashed."""
    with Coordinator() as server:
        server.create_topic("orders")
        with consumers(server.bootstrap, "orders", "billing") as (member,):
            before = server.group("billing").wait_for("Stable", members=1)
            fault = server.faults.answer(api, "ILLEGAL_GENERATION", group="billing", nth=1)
            server.produce("orders", ["1"])
            wait_for(lambda: fault.hits, SECONDS, "the fault to be hit")
            server.group("billing").wait_for("Stable", members=1)
            server.produce("orders", ["2"])
            wait_for(lambda: 2 in member.values, SECONDS, "the record after the fault")
            assert member.problem is None
            server.assert_rebalances("billing", at_most=2, after_generation=before.generation_id)
        (told,) = (event for event in server.events("billing") if isinstance(event, schema.RequestRejected))
        assert (told.api, told.error, told.injected) == (api, "ILLEGAL_GENERATION", True)


def test_members_that_answer_each_rebalance_with_another_subscription_are_told_apart_from_healthy_ones():
    """https://github.com/spreedly/kaffe/issues/92: consumers of several topics rebalanced for hours."""
    with Coordinator() as server:
        topics = ["topic-1", "topic-2", "topic-3"]
        for topic in topics:
            server.create_topic(topic, partitions=2)
        with librdkafka(server.bootstrap, topics, "healthy"), librdkafka(server.bootstrap, topics, "healthy"):
            group = server.group("healthy")
            wait_for(lambda: len(group.assignment) == 2 and all(group.assignment.values()), SECONDS, "two members")
            group.assert_rebalances(at_most=3, causes={"new_member", "leader_rejoined"})
        with WireClient(server.bootstrap, "restless") as client:
            member_id = ""
            for turn in range(6):
                joined = client.request(join_request("runaway", member_id, metadata=b"%d" % turn), 3)
                assert joined.error_code == ErrorCode.NONE
                member_id = joined.member_id
            with pytest.raises(AssertionError) as failed:
                server.assert_rebalances("runaway", at_most=3)
    assert "group runaway rebalanced 6 times, and at most 3 was expected:" in str(failed.value)
    assert str(failed.value).count("restless (127.0.0.1)") == 6


def test_a_group_whose_leader_never_synchronizes_goes_on_without_it():
    """KAFKA-12890 (https://github.com/apache/kafka/pull/10863): heartbeats kept the group in CompletingRebalance for
    ever when one SyncGroup never came.
    """
    with Coordinator() as server:
        server.create_topic("orders", partitions=2)
        group = server.group("billing")
        with consumers(server.bootstrap, "orders", "billing", 2, max_poll_interval_ms=30_000):
            group.wait_for("Stable", members=2)
            barrier = server.faults.hold("SyncGroup", group="billing", leader=True)
            server.faults.rebalance("billing")
            barrier.wait_for(1)
            stuck = group.wait_for("CompletingRebalance")
            server.advance(seconds=29)
            assert group.generation == stuck.generation_id and group.state == "CompletingRebalance"
            server.advance(seconds=2)
            assert stuck.leader not in {member.member_id for member in group.members}
            barrier.release()
            group.wait_for("Stable", members=2, generation=stuck.generation_id + 1, timeout=SECONDS)
        removed = [event for event in server.events("billing") if isinstance(event, schema.MemberRemoved)]
        assert (removed[0].cause, removed[0].member.member_id) == ("sync_timeout", stuck.leader)
        assert "did not send SyncGroup within the rebalance timeout, 30 s" in server.why(
            "billing", stuck.generation_id + 1
        )


def test_a_fenced_instance_can_be_told_who_fenced_it():
    """https://github.com/twmb/franz-go/issues/931: a static member was fenced, and nothing said by whom."""
    with Coordinator() as server:
        server.create_topic("orders", partitions=2)
        settings = {"group_instance_id": "till-1", "session_timeout_ms": 10_000}
        with librdkafka(server.bootstrap, ["orders"], "tills", client_id="first", **settings) as errors:
            server.group("tills").wait_for("Stable", members=1)
            with librdkafka(server.bootstrap, ["orders"], "tills", client_id="second", **settings):
                fenced = wait_for(lambda: [error.str() for error in errors], SECONDS, "the first to be fenced")
        assert "fenced" in fenced[0], fenced
        (replaced,) = (event for event in server.events("tills") if isinstance(event, schema.StaticMemberReplaced))
        assert (replaced.old_client_id, replaced.member.client_id) == ("first", "second")
        (told,) = (event for event in server.events("tills") if isinstance(event, schema.RequestRejected))
        assert (told.error, told.member.client_id) == ("FENCED_INSTANCE_ID", "first")
        assert told.holder is not None and told.holder.member_id == replaced.member.member_id
        server.assert_rebalances("tills", at_most=1, causes={"new_member"})
