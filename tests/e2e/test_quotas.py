"""Stock clients that exceed a quota: what rate they get, and that others do not notice."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPythonPartition

from tests.front.quota_client import QuotaClient
from tests.servers import QUICK_GROUPS, RunningServer

pytestmark = pytest.mark.realtime

QUOTA: Final = 1_000_000.0
"""Bytes per second."""
RECORD: Final = b"x" * 10_000
BEGIN_SECONDS: Final = 2
END_SECONDS: Final = 10
"""Between these the rate is measured: at first the window allows a burst, and is then the slower for it."""
UNLIMITED_SECONDS: Final = 7
"""A client that is not limited needs less for `many`; with the burst of the first window, a limited one needs 8."""
TOLERANCE: Final = 0.2
SLOWEST: Final = 0.8
"""Of the quota: a client notices a little late that it may go on."""
TIMEOUT_SECONDS: Final = 30
Tick = tuple[float, int]
"""When a record was delivered, and its bytes."""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose window is short, so that rates are steady soon."""
    settings = QUICK_GROUPS | {"quota.window.num": "2", "auto.create.topics.enable": "true"}
    folder: Path = tmp_path_factory.mktemp("limited")
    with RunningServer(folder, settings) as server:
        with QuotaClient(server.bootstrap) as admin:
            for name in ("produced", "fetched", "other"):
                admin.create_topic(name)
            admin.set("limited", producer_byte_rate=QUOTA, consumer_byte_rate=QUOTA)
        yield server


def rate_of(ticks: list[Tick]) -> float:
    """Bytes per second when the burst at the beginning is over."""
    steady = [tick for tick in ticks if tick[0] >= ticks[0][0] + BEGIN_SECONDS]
    return sum(size for _, size in steady[1:]) / (steady[-1][0] - steady[0][0])


def long_enough(ticks: list[Tick]) -> bool:
    return bool(ticks) and ticks[-1][0] >= ticks[0][0] + END_SECONDS


def many(ticks: list[Tick]) -> bool:
    """As much as a limited client gets in END_SECONDS."""
    return len(ticks) * len(RECORD) >= END_SECONDS * QUOTA


def produce_with_librdkafka(bootstrap: str, client_id: str, done: Callable[[list[Tick]], bool]) -> list[Tick]:
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "batch.num.messages": 1}
    producer = Producer(settings | {"max.in.flight.requests.per.connection": 1})
    ticks: list[Tick] = []

    def delivered(problem: object, message: Any) -> None:
        assert problem is None
        ticks.append((time.monotonic(), len(message.value())))

    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not done(ticks):
        assert time.monotonic() < deadline
        if len(producer) < 3:
            producer.produce("produced", RECORD, on_delivery=delivered)
        producer.poll(0.01)
    producer.purge()
    return ticks


def produce_with_kafka_python(bootstrap: str, client_id: str, done: Callable[[list[Tick]], bool]) -> list[Tick]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id=client_id, batch_size=len(RECORD))
    ticks: list[Tick] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        while not done(ticks):
            assert time.monotonic() < deadline
            producer.send("produced", RECORD).get(TIMEOUT_SECONDS)
            ticks.append((time.monotonic(), len(RECORD)))
    finally:
        producer.close(timeout=1)
    return ticks


def fetch_with_librdkafka(bootstrap: str, client_id: str, done: Callable[[list[Tick]], bool]) -> list[Tick]:
    settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "group.id": client_id}
    settings |= {
        "auto.offset.reset": "earliest",
        "fetch.message.max.bytes": "20000",
        "queued.max.messages.kbytes": "40",
        # By default librdkafka waits a second when its queue is full, which would be measured in place of the quota.
        "fetch.queue.backoff.ms": "5",
    }
    consumer = Consumer(settings)
    consumer.subscribe(["fetched"])
    ticks: list[Tick] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        while not done(ticks):
            assert time.monotonic() < deadline
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None
                ticks.append((time.monotonic(), len(message.value() or b"")))
    finally:
        consumer.close()
    return ticks


def fetch_with_kafka_python(bootstrap: str, client_id: str, done: Callable[[list[Tick]], bool]) -> list[Tick]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id=client_id,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=50_000,
    )
    partition = KafkaPythonPartition("fetched", 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    ticks: list[Tick] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    try:
        while not done(ticks):
            assert time.monotonic() < deadline
            for records in consumer.poll(timeout_ms=20).values():
                ticks.extend((time.monotonic(), len(record.value)) for record in records)
    finally:
        consumer.close()
    return ticks


@pytest.mark.parametrize("produce", [produce_with_librdkafka, produce_with_kafka_python])
def test_a_producer_gets_the_rate_of_its_quota_and_another_one_is_not_slowed(limited, produce):
    rate = rate_of(produce(limited.bootstrap, "limited", long_enough))
    assert SLOWEST * QUOTA < rate < (1 + TOLERANCE) * QUOTA
    began = time.monotonic()
    produce(limited.bootstrap, "other", many)
    assert time.monotonic() - began < UNLIMITED_SECONDS


@pytest.mark.parametrize("fetch", [fetch_with_librdkafka, fetch_with_kafka_python])
def test_a_consumer_gets_the_rate_of_its_quota_and_another_one_is_not_slowed(limited, fetch):
    ample = 2 * END_SECONDS * QUOTA
    producer = Producer(
        {"bootstrap.servers": limited.bootstrap, "client.id": "filling", "batch.num.messages": 1, "acks": 1}
    )
    for _ in range(int(ample / len(RECORD))):
        producer.produce("fetched", RECORD)
    assert producer.flush(TIMEOUT_SECONDS) == 0
    rate = rate_of(fetch(limited.bootstrap, "limited", long_enough))
    assert SLOWEST * QUOTA < rate < (1 + TOLERANCE) * QUOTA
    began = time.monotonic()
    fetch(limited.bootstrap, "other", many)
    assert time.monotonic() - began < UNLIMITED_SECONDS
