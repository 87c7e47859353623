"""Clients built on librdkafka (confluent-kafka), as they are installed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

pytestmark = pytest.mark.realtime

PARTITIONS: Final = 3
RECORDS: Final = 60
SECONDS: Final = 20
POLL_SECONDS: Final = 0.1


@pytest.fixture
def topics(server: RunningServer, request: pytest.FixtureRequest) -> list[str]:
    """Two topics with a common prefix, and names that no other test uses."""
    prefix = request.node.name.replace("_", "-")
    names = [f"{prefix}-orders", f"{prefix}-payments"]
    with WireClient(server.bootstrap) as client:
        for name in names:
            client.create_topic(name, PARTITIONS)
    return names


def produce(bootstrap: str, topics: list[str]) -> set[tuple[str, bytes]]:
    """Produce to each partition of each topic; returns (topic, value) of each record."""
    producer = Producer({"bootstrap.servers": bootstrap})
    failed: list[object] = []
    sent = {(topic, str(number).encode()) for topic in topics for number in range(RECORDS)}

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    for topic, value in sorted(sent):
        producer.produce(topic, value, partition=int(value) % PARTITIONS, on_delivery=delivered)
    assert producer.flush(SECONDS) == 0
    assert failed == []
    return sent


@contextmanager
def consumer(bootstrap: str, group_id: str) -> Iterator[Consumer]:
    settings = {"bootstrap.servers": bootstrap, "group.id": group_id, "auto.offset.reset": "earliest"}
    joined = Consumer(settings | {"enable.auto.commit": False})
    try:
        yield joined
    finally:
        joined.close()


def consume_until(consumer: Consumer, enough: Callable[[set[tuple[str, bytes]]], bool]) -> set[tuple[str, bytes]]:
    consumed: set[tuple[str, bytes]] = set()

    def has_enough() -> bool:
        message = consumer.poll(POLL_SECONDS)
        if message is not None:
            assert message.error() is None, message.error()
            topic, value = message.topic(), message.value()
            assert topic is not None and value is not None
            consumed.add((topic, value))
        return enough(consumed)

    wait_for(has_enough, SECONDS, "the records")
    return consumed


def test_list_topics_names_every_topic_and_its_partitions(server, topics):
    listed = AdminClient({"bootstrap.servers": server.bootstrap}).list_topics(timeout=SECONDS).topics
    assert {name: sorted(listed[name].partitions) for name in topics} == {name: [0, 1, 2] for name in topics}


def test_a_subscription_by_pattern_consumes_and_commits(server, topics):
    sent = produce(server.bootstrap, topics)
    group_id = pattern = topics[0].removesuffix("-orders")
    with consumer(server.bootstrap, group_id) as joined:
        joined.subscribe([f"^{pattern}-.*"])
        assert consume_until(joined, lambda consumed: len(consumed) >= len(sent)) == sent
        committed = joined.commit(asynchronous=False)
    each = RECORDS // PARTITIONS
    assert {(at.topic, at.partition): at.offset for at in committed} == {
        (topic, partition): each for topic in topics for partition in range(PARTITIONS)
    }
