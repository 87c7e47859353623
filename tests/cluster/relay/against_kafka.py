"""Stock clients on a real Kafka through the relay: each produces and consumes, with groups, transactions and admin.

    python -m tests.cluster.relay.against_kafka

Environment: BOOTSTRAP=HOST:PORT of a Kafka with one broker, whose id is 1; by default one is started (Java and Maven).
It is no test of `make test`, which needs no Kafka.
"""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from tests.cluster.relay.relay_process import RelayProcess
from tests.differential.kafka import RunningKafka
from tests.wire_client import WireClient

BROKER_ID: Final = 1
RECORDS: Final = 2_000
VALUES: Final = [f"record-{number}".encode() + bytes(number % 700) for number in range(RECORDS)]
SECONDS: Final = 60


def kafka_python(bootstrap: str, topic: str) -> list[bytes]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
    for value in VALUES:
        producer.send(topic, value)
    producer.flush(SECONDS)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"group-{topic}",
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    values = [next(consumer).value for _ in VALUES]
    consumer.commit()
    consumer.close()
    return values


def librdkafka(bootstrap: str, topic: str, **settings: Any) -> list[bytes]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **settings})
    is_transactional = "transactional.id" in settings
    if is_transactional:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
    for value in VALUES:
        producer.produce(topic, value)
    if is_transactional:
        producer.commit_transaction(SECONDS)
    assert producer.flush(SECONDS) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"group-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < len(VALUES):
        message = consumer.poll(SECONDS)
        assert message is not None, f"{len(values)} of {len(VALUES)} records came"
        found = message.value()
        assert message.error() is None and found is not None, message.error()
        values.append(found)
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def in_transactions(bootstrap: str, topic: str) -> list[bytes]:
    return librdkafka(bootstrap, topic, **{"transactional.id": f"id-{topic}"})


def without_acks(bootstrap: str, topic: str) -> list[bytes]:
    return librdkafka(bootstrap, topic, acks=0)


def aio(bootstrap: str, topic: str) -> list[bytes]:
    async def main() -> list[bytes]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
            await asyncio.gather(*[await producer.send(topic, value) for value in VALUES])
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=f"group-{topic}", auto_offset_reset="earliest"
        )
        async with asyncio.timeout(SECONDS), consumer:
            values = [(await consumer.getone()).value for _ in VALUES]
            await consumer.commit()
        return values

    return asyncio.run(main())


CLIENTS: Final[dict[str, Callable[[str, str], list[bytes]]]] = {
    "kafka-python": kafka_python,
    "librdkafka": librdkafka,
    "librdkafka in transactions": in_transactions,
    "librdkafka without acks": without_acks,
    "aiokafka": aio,
}


def admin(bootstrap: str, groups: set[str]) -> None:
    """Groups, the cluster and its broker, as an admin client finds them through the relay."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    listed = {group.group_id for group in client.list_consumer_groups().result(SECONDS).valid}
    assert groups <= listed, groups - listed
    described = client.describe_cluster().result(SECONDS)
    addresses = {f"{node.host}:{node.port}" for node in described.nodes}
    assert addresses == {bootstrap}, addresses
    for group_id, described_group in client.describe_consumer_groups(sorted(groups)).items():
        assert described_group.result(SECONDS).group_id == group_id


def run(upstream: str) -> None:
    with RelayProcess(BROKER_ID, upstream) as relay:
        groups = set()
        for name, client in CLIENTS.items():
            topic = f"relay-{uuid4().hex[:8]}"
            with WireClient(relay.bootstrap) as wire:
                wire.create_topic(topic)
            values = client(relay.bootstrap, topic)
            assert values == VALUES, f"{name}: records differ"
            groups.add(f"group-{topic}")
            print(f"{name}: {len(values)} records produced and consumed", flush=True)
        admin(relay.bootstrap, groups)
        print(f"admin: {len(groups)} groups, the cluster and its broker")


def main() -> None:
    upstream = os.environ.get("BOOTSTRAP")
    if upstream:
        run(upstream)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        RunningKafka(Path(folder), {"group.initial.rebalance.delay.ms": "0"}) as kafka,
    ):
        run(kafka.bootstrap)


if __name__ == "__main__":
    main()
