"""Fills a server with topics of all sorts, and reads all that a client can see of them."""

import base64
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.eos.topics import COMMITTED, SECONDS, UNCOMMITTED, Topics
from tests.waiting import wait_for

CODECS: Final = ("gzip", "snappy", "lz4", "zstd")
SMALL_SEGMENTS: Final = {"segment.bytes": "1048576"}
COMPACTED: Final = SMALL_SEGMENTS | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
TOPICS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    **{f"compressed-{codec}": {} for codec in CODECS},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "idempotent": {},
    "transactional": {},
    "segments": SMALL_SEGMENTS,
    "deleted-records": SMALL_SEGMENTS,
    "compacted": COMPACTED,
    "compacted-zstd": COMPACTED,
    "compacted-transactional": COMPACTED,
}
COMPACTED_TOPICS: Final = frozenset(name for name, configs in TOPICS.items() if configs is COMPACTED) | {
    "__consumer_offsets",
    "__transaction_state",
}
PARTITIONS: Final = 2
GROUP: Final = "swapped"
TRANSACTIONAL_ID: Final = "swapped"
DELETED_BEFORE: Final = 700
CLEANED_SECONDS: Final = 60
NOT_FOUND: Final = -1
"""The answer to ListOffsets by timestamp when there is no such record."""
TIMES: Final = 12
"""How many timestamps are looked up in each partition."""

Record = tuple[int, tuple[int, int], bytes | None, bytes | None, tuple[tuple[Any, ...], ...]]
"""Offset, type and ms of the timestamp, key, value, headers."""


def fill(bootstrap: str, seed: int) -> None:
    """Create the topics of all sorts, write them, and wait until those that are compacted have been cleaned."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    made = admin.create_topics([NewTopic(name, PARTITIONS, 1, config=configs) for name, configs in TOPICS.items()])
    for each in made.values():
        each.result(SECONDS)
    choice, now_ms = random.Random(seed), int(time.time() * 1000) - 3_600_000
    for codec in CODECS:
        _produce(_producer(bootstrap, {"compression.type": codec}), f"compressed-{codec}", _small(choice, now_ms, 300))
    _produce(_producer(bootstrap), "plain", _small(choice, now_ms, 500))
    _produce(_producer(bootstrap), "append-time", _small(choice, now_ms, 200))
    _produce(_producer(bootstrap, {"enable.idempotence": True}), "idempotent", _small(choice, now_ms, 300))
    _produce(_producer(bootstrap, {"enable.idempotence": True}), "segments", _large(choice, now_ms, 5000))
    _produce(_producer(bootstrap), "deleted-records", _large(choice, now_ms, 5000))
    _produce(_producer(bootstrap, {"enable.idempotence": True}), "compacted", _overwritten(now_ms))
    _produce(_producer(bootstrap, {"enable.idempotence": True}), "compacted", _large(choice, now_ms, 6000))
    _produce(_producer(bootstrap, {"compression.type": "zstd"}), "compacted-zstd", _large(choice, now_ms, 6000))
    producer = _producer(bootstrap, {"transactional.id": TRANSACTIONAL_ID})
    producer.init_transactions(SECONDS)
    _transactions(producer, "transactional", choice, list(_small(choice, now_ms, 400)))
    _transactions(producer, "compacted-transactional", choice, list(_large(choice, now_ms, 6000)))
    deleted = {TopicPartition("deleted-records", 0, DELETED_BEFORE): None}
    for answer in admin.delete_records(list(deleted)).values():
        answer.result(SECONDS)
    _commit(bootstrap)
    _wait_until_cleaned(bootstrap)


def _producer(bootstrap: str, settings: dict[str, Any] | None = None) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "log_level": 2, "linger.ms": 5, **(settings or {})})


Row = tuple[int, bytes | None, bytes | None, list[tuple[str, str | bytes | None]], int]
"""Partition, key, value, headers, timestamp in ms."""


def _small(choice: random.Random, now_ms: int, count: int) -> Iterator[Row]:
    for number in range(count):
        key = None if number % 7 == 0 else b"key-%d" % number
        value = None if number % 11 == 5 else b"value-%d" % number * choice.randrange(1, 8)
        headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % number), ("null", None), ("", b"")]
        # Out of order now and then, so that the time index matters.
        yield number % PARTITIONS, key, value, headers[: number % 4], now_ms + number * 10 - choice.choice((0, 0, 500))


def _large(choice: random.Random, now_ms: int, count: int) -> Iterator[Row]:
    for number in range(count):
        value = None if number % 50 == 9 else base64.b64encode(choice.randbytes(750))
        yield number % PARTITIONS, b"key-%d" % choice.randrange(60), value, [], now_ms + number * 10


def _overwritten(now_ms: int) -> Iterator[Row]:
    """The records of a producer of which only the empty batch stays that keeps its sequence."""
    for partition in range(PARTITIONS):
        yield partition, b"key-0", b"overwritten", [], now_ms


def _produce(producer: Producer, topic: str, rows: Iterable[Row]) -> None:
    problems: list[object] = []
    for partition, key, value, headers, timestamp_ms in rows:
        producer.produce(
            topic,
            value,
            key,
            partition,
            timestamp=timestamp_ms,
            headers=headers,
            on_delivery=lambda problem, _: problems.append(problem) if problem else None,
        )
        producer.poll(0)
    assert producer.flush(SECONDS) == 0, f"{topic} was not written"
    assert not problems, problems[0]


def _transactions(producer: Producer, topic: str, choice: random.Random, rows: list[Row]) -> None:
    size = max(len(rows) // 20, 1)
    for number, first in enumerate(range(0, len(rows), size)):
        producer.begin_transaction()
        _produce(producer, topic, rows[first : first + size])
        if number % 3 == 1:
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)


def _commit(bootstrap: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    offsets = [
        TopicPartition(topic, index, 10 + 3 * number + index)
        for number, topic in enumerate(TOPICS)
        for index in range(PARTITIONS)
    ]
    wait_for(partial(_is_committed, consumer, offsets), SECONDS, "the group to be loaded")
    consumer.close()


def _is_committed(consumer: Consumer, offsets: list[TopicPartition]) -> bool:
    try:
        consumer.commit(offsets=offsets, asynchronous=False)
    except KafkaException as problem:
        # A coordinator that has only just begun is still loading.
        if problem.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            raise
        return False
    return True


def _wait_until_cleaned(bootstrap: str) -> None:
    topics = Topics(bootstrap)
    for name in sorted(COMPACTED_TOPICS & TOPICS.keys()):
        wait_for(partial(_is_cleaned, topics, name), CLEANED_SECONDS, f"{name} to be cleaned", every_ms=500)


def _is_cleaned(topics: Topics, name: str) -> bool:
    records = topics.read(name, UNCOMMITTED)
    return all(len(record) < 0.6 * end for record, end in zip(records, topics.ends(name, UNCOMMITTED), strict=True))


@dataclass(slots=True)
class Seen:
    """All that a client sees of the topics."""

    records: dict[tuple[str, str, int], list[Record]] = field(default_factory=dict)
    """Topic, isolation level and partition → the records."""
    offsets: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """Topic and partition → the first offset and the end."""
    at_times: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    """Topic and partition → timestamps and what ListOffsets answers for each."""
    committed: dict[str, list[int]] = field(default_factory=dict)
    """Topic → the offsets of GROUP, by partition."""
    topic_ids: dict[str, str] = field(default_factory=dict)

    def count(self) -> int:
        return sum(map(len, self.records.values()))


def look(bootstrap: str, times_of: Seen | None = None) -> Seen:
    """Read everything. The timestamps that are looked up are those of `times_of`."""
    topics, seen = Topics(bootstrap), Seen()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "looks", "log_level": 2})
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for topic in TOPICS:
        for isolation, name in ((COMMITTED, "read_committed"), (UNCOMMITTED, "read_uncommitted")):
            for index, messages in enumerate(topics.read(topic, isolation)):
                seen.records[topic, name, index] = [_record(message) for message in messages]
        seen.committed[topic] = topics.committed(GROUP, topic)
        for index in range(PARTITIONS):
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, index), SECONDS)
            seen.offsets[topic, index] = (low, high)
            times = _times(seen, topic, index) if times_of is None else dict(times_of.at_times[topic, index])
            seen.at_times[topic, index] = [(at, _offset_at(consumer, topic, index, at)) for at in times]
    for topic, answer in admin.describe_topics(TopicCollection(list(TOPICS))).items():
        seen.topic_ids[topic] = str(answer.result(SECONDS).topic_id)
    consumer.close()
    return seen


def _record(message: Message) -> Record:
    offset, headers = message.offset(), message.headers() or []
    assert offset is not None
    return offset, message.timestamp(), message.key(), message.value(), tuple(map(tuple, headers))


def _times(seen: Seen, topic: str, index: int) -> list[int]:
    found = sorted({timestamp for _, (_, timestamp), *_ in seen.records[topic, "read_uncommitted", index]})
    step = max(len(found) // TIMES, 1)
    return [found[0] - 1, *found[::step], found[-1] + 1]


def _offset_at(consumer: Consumer, topic: str, index: int, at_ms: int) -> int:
    (answer,) = consumer.offsets_for_times([TopicPartition(topic, index, at_ms)], SECONDS)
    return int(answer.offset)


def _first_since(seen: Seen, key: tuple[str, int], at_ms: int) -> int:
    topic, index = key
    since = (offset for offset, (_, time_ms), *_ in seen.records[topic, "read_uncommitted", index] if time_ms >= at_ms)
    return next(since, NOT_FOUND)


def differences(before: Seen, after: Seen) -> list[str]:
    """What is not the same, one line each.

    Kafka's cleaner leaves empty segments, and ListOffsets by timestamp finds nothing in those and does not look behind
    them. There the other one may answer what is in the records.
    """
    found = []
    for partition, answers in before.at_times.items():
        for (at, expected), (_, given) in zip(answers, after.at_times[partition], strict=True):
            if given != expected and not (expected == NOT_FOUND and given == _first_since(before, partition, at)):
                found.append(f"the first record of {partition} since {at}: {expected} before, {given} after")
    for name in ("offsets", "committed", "topic_ids"):
        left, right = getattr(before, name), getattr(after, name)
        found += [f"{name} of {key}: {left[key]} before, {right[key]} after" for key in left if left[key] != right[key]]
    for key, records in before.records.items():
        others = after.records[key]
        if records != others:
            pairs = (n for n, (a, b) in enumerate(zip(records, others, strict=False)) if a != b)
            first = next(pairs, min(len(records), len(others)))
            found.append(
                f"records of {key}: {len(records)} before, {len(others)} after; the first that differs: "
                f"{str(records[first : first + 1])[:200]}, {str(others[first : first + 1])[:200]}"
            )
    return found


def go_on(bootstrap: str, before: Seen) -> list[str]:
    """Write to all topics on the other server, with the transactional id of before; what is wrong, one line each."""
    problems = []
    producer = _producer(bootstrap, {"transactional.id": TRANSACTIONAL_ID})
    producer.init_transactions(SECONDS)
    for topic in TOPICS:
        producer.begin_transaction()
        _produce(
            producer, topic, [(index, b"more", b"more", [], int(time.time() * 1000)) for index in range(PARTITIONS)]
        )
        producer.commit_transaction(SECONDS)
        for index, records in enumerate(Topics(bootstrap).read(topic, COMMITTED)):
            end = before.offsets[topic, index][1]
            last = records[-1]
            if (last.offset(), last.value()) != (end, b"more"):
                problems.append(f"{topic}-{index}: a new record at {last.offset()} ({last.value()!r}), not at {end}")
    return problems
