"""Nodes in front of a Kafka, and beside them a Kafka alone with the same topics, records and groups.

What a tool or an admin client is told by both is compared: `compare_admin.py`, `compare_tools.py`.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.structs import OffsetAndMetadata

from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.config.cluster_keys import CLUSTER_NODE_ID_BASE
from tests.cluster.running import SETTINGS, WATCHES_ALL, RunningNodes
from tests.differential.kafka import RunningKafka
from tests.servers import QUICK_GROUPS
from tests.waiting import wait_for

NODES: Final = 2
SECONDS: Final = 30
POLL_MS: Final = 100
TOPIC, OTHER = "orders", "payments"
PARTITIONS: Final = 4
RECORDS: Final = 10
RECORD_TIME_MS: Final = 1_700_000_000_000
LIVE: Final = "live"
"""A group with a member, which the nodes own."""
IDLE: Final = tuple(f"idle-{number}" for number in range(6))
"""Groups without members, with committed offsets, which the nodes own."""
TRANSACTIONAL_ID: Final = "tool-transactions"
STAYS: Final = "stays"
"""A group with a member that stays with the cluster."""
ADOPTED: Final = f"{LIVE},idle-*,tool-*,modern*"
LONG_SESSIONS: Final = {
    "group.consumer.max.session.timeout.ms": "1800000",
    "group.consumer.session.timeout.ms": "1800000",
}
"""Of consumer groups, whose members are made by a tool that sends no heartbeats."""
KAFKA_SETTINGS: Final = {name: value for name, value in QUICK_GROUPS.items() if name != "group.audit.linger.ms"} | {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # The records are older than the retention of a topic.
    "log.retention.ms": "-1",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    **LONG_SESSIONS,
}
WATCHING: Final = WATCHES_ALL | {
    "membership.topic.num.partitions": KAFKA_SETTINGS["offsets.topic.num.partitions"],
}
NODES_ONLY: Final = re.compile(r"__group_[\w-]+")
"""Topics, transactional ids and the group of the nodes themselves, which a Kafka alone does not have."""


@dataclass(frozen=True)
class Sides:
    """The addresses of both sides, and of the Kafka behind the nodes."""

    front: str
    alone: str
    behind: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.front, self.alone))


@contextmanager
def front_beside_kafka(
    folder: Path, kafka_settings: Mapping[str, str] | None = None, *, is_watched: bool = False
) -> Iterator[Sides]:
    """Start both sides, and have the same on both. Raises KafkaMissing.

    `is_watched`: the nodes own no groups, and watch all.
    """
    settings = {**KAFKA_SETTINGS, **(kafka_settings or {})}
    with ExitStack() as stack:
        addresses = []
        for name in ("behind", "alone"):
            place = folder / name
            place.mkdir()
            addresses.append(stack.enter_context(RunningKafka(place, settings, {})).bootstrap)
        behind, alone = addresses
        of_nodes = WATCHING if is_watched else {"cluster.adopt": ADOPTED}
        nodes = RunningNodes(folder, behind, NODES, {**SETTINGS, **LONG_SESSIONS, **of_nodes})
        sides = Sides(stack.enter_context(nodes).bootstrap, alone, behind)
        for bootstrap in sides:
            _prepare(bootstrap)
            for group_id in (LIVE, STAYS):
                stack.enter_context(_member(bootstrap, group_id))
        yield sides


def _prepare(bootstrap: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1), NewTopic(OTHER, 1, 1)])
    wait_for(lambda: _have_leaders(admin, (TOPIC, OTHER)), SECONDS, "the topics to have leaders", every_ms=100)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for partition in range(PARTITIONS):
        for number in range(RECORDS):
            time_ms = RECORD_TIME_MS + number
            producer.send(TOPIC, b"%d" % number, partition=partition, timestamp_ms=time_ms).get(SECONDS)
    producer.close()
    # The first transaction makes __transaction_state, as nodes have by then.
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": TRANSACTIONAL_ID})
    transactional.init_transactions(SECONDS)
    for group_id in IDLE:
        offsets = {TopicPartition(TOPIC, index): OffsetAndMetadata(index + 1, "note", -1) for index in range(2)}
        offsets[TopicPartition(OTHER, 0)] = OffsetAndMetadata(0, "", -1)
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group_id, enable_auto_commit=False)
        consumer.assign(list(offsets))
        consumer.commit(offsets)
        consumer.close()
    admin.close()


def _have_leaders(admin: KafkaAdminClient, names: Sequence[str]) -> bool:
    topics = admin.describe_topics(list(names))
    return all(part["leader_id"] >= 0 for topic in topics for part in topic["partitions"])


@contextmanager
def _member(bootstrap: str, group_id: str) -> Iterator[None]:
    """A member that reads TOPIC and has committed offsets, in a thread."""
    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id=group_id,
        client_id=f"{group_id}-client",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    read: set[tuple[int, int]] = set()
    ended, ready = threading.Event(), threading.Event()

    def poll() -> None:
        while not ended.is_set():
            for records in consumer.poll(POLL_MS).values():
                read.update((record.partition, record.offset) for record in records)
            if len(read) >= PARTITIONS * RECORDS and not ready.is_set():
                consumer.commit()
                ready.set()
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        assert ready.wait(SECONDS), (
            f"{group_id} at {bootstrap}: {len(read)} of {PARTITIONS * RECORDS} records were read"
        )
        yield
    finally:
        ended.set()
        thread.join()


# ---- what is the same on both sides if it differs only in what no two servers have in common

UUID: Final = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
REPLACED: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (re.compile(r"\bconsole-consumer-\d{1,5}\b"), "console-consumer-N"),
    (re.compile(UUID), "UUID"),
    (re.compile(r"/?127\.0\.0\.1:\d+|localhost:\d+"), "HOST:PORT"),
    (re.compile(r"\b1[6-9]\d{11}\b"), "TIME"),
    (re.compile(r"\b(?=[\w-]*[A-Z_-])(?=[\w-]*\d)[\w-]{22}\b"), "ID"),
    (re.compile(r"/\S*/data\b"), "DATA"),
)
VARYING: Final = frozenset(
    {
        "port",
        "finalized_epoch",
        "high_watermark",
        "log_end_offset",
        "partition_size",
        "producer_id",
        "total_bytes",
        "usable_bytes",
    }
)
"""Fields of responses that no two clusters have in common."""
NODE_IDS: Final = range(CLUSTER_NODE_ID_BASE.default + 1, CLUSTER_NODE_ID_BASE.default + 1 + NODES)
"""As clients know them."""


def normalised_text(text: str) -> str:
    """Without addresses, times, and identifiers that are made at random."""
    for pattern, replacement in REPLACED:
        text = pattern.sub(replacement, text)
    return text


def normalised(value: Any, leave_out: Callable[[Any], bool] = lambda value: False) -> Any:
    """A result of an admin client as plain values in a fixed order, without what `leave_out` says."""
    if isinstance(value, Mapping):
        items = [(key, each) for key, each in value.items() if not leave_out(key) and not leave_out(each)]
        found = {
            str(normalised(key)): "VARIES" if key in VARYING else normalised(each, leave_out) for key, each in items
        }
        return dict(sorted(found.items()))
    if isinstance(value, list | set | frozenset):
        return sorted((normalised(each, leave_out) for each in value if not leave_out(each)), key=repr)
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return [normalised(each, leave_out) for each in value]
    if hasattr(value, "_asdict"):
        return normalised(value._asdict(), leave_out)
    if isinstance(value, str):
        return normalised_text(value)
    if value is None or isinstance(value, bool | int | float):
        return "TIME" if isinstance(value, int) and value > RECORD_TIME_MS + RECORDS else value
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {normalised_text(str(value))}"
    return normalised_text(repr(value))
