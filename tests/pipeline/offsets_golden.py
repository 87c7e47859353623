"""The records that a real Kafka kept of a history of real consumers, and what the consumers said.

python -m tests.pipeline.offsets_golden      # plays the history on Kafka again and writes the file
"""

import base64
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from coordinator.pipeline.fold import Position
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.stored_batches import decode_batches
from coordinator.pipeline.stored_fold import StoredFold
from tests.differential.kafka import VERSION, RunningKafka
from tests.pipeline.offsets_history import KAFKA_SETTINGS, Said, play
from tests.pipeline.records import NamedRows, named

FILE: Final = Path(__file__).parent.parent / "golden" / "consumer_offsets" / f"kafka-{VERSION}.json"
TOPICS: Final = ("orders", "payments")


class StoredRecord(NamedTuple):
    """A record of `__consumer_offsets`. `timestamp_ms` is when it was appended."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Golden(NamedTuple):
    records: list[StoredRecord]
    said: Said
    topic_ids: dict[str, str]


def golden() -> Golden:
    """The recorded history. `topic_ids` is id (hex) → name."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    records = [_record(*each) for each in document["records"]]
    said = document["said"]
    generations = {int(number): held for number, held in said.pop("generations").items()}
    return Golden(records, Said(generations=generations, **said), document["topic_ids"])


def _record(partition: int, offset: int, timestamp_ms: int, key: str | None, value: str | None) -> StoredRecord:
    return StoredRecord(partition, offset, timestamp_ms, _bytes(key), _bytes(value))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def decoded(records: list[StoredRecord]) -> list[tuple[bytes, Position]]:
    """What Spark's workers make of records, in the order in which the driver folds it."""
    types = (pa.int32(), pa.int64(), pa.int64(), pa.binary(), pa.binary())
    columns = [pa.array([record[number] for record in records], kind) for number, kind in enumerate(types)]
    batch = pa.record_batch(columns, names=list(StoredRecord._fields))
    rows = [row for part in decode_batches(iter([batch])) for row in part.to_pylist()]
    found = [(row["value"], Position(row["partition"], row["offset"], row["timestamp_ms"])) for row in rows]
    return sorted(found, key=lambda each: (each[1].partition, each[1].offset))


def folded(
    records: list[StoredRecord],
    state: PartitionState | None = None,
    topic_ids: dict[str, str] | None = None,
) -> NamedRows:
    """The rows of one batch."""
    names, state, rows = topic_ids or {}, state or PartitionState(), NewRows()
    fold = StoredFold(state, rows, lambda topic_id: names.get(topic_id, topic_id))
    found = decoded(records)
    fold.add_records([value for value, _ in found], [position for _, position in found])
    state.update(fold.finish())
    return named(rows)


def read_topic(bootstrap: str, partitions: int) -> list[StoredRecord]:
    """All records of `__consumer_offsets`."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, exclude_internal_topics=False, auto_offset_reset="earliest")
    places = [TopicPartition("__consumer_offsets", index) for index in range(partitions)]
    consumer.assign(places)
    ends = consumer.end_offsets(places)
    records = []
    while any(consumer.position(place) < ends[place] for place in places):
        for place, found in consumer.poll(1_000).items():
            index = place.partition
            records += [StoredRecord(index, each.offset, each.timestamp, each.key, each.value) for each in found]
    consumer.close()
    return sorted(records)


def main() -> None:
    from coordinator.pipeline.cluster import TopicNames

    with tempfile.TemporaryDirectory() as name, RunningKafka(Path(name), KAFKA_SETTINGS, {}) as kafka:
        said = play(Path(name), kafka.bootstrap)
        records = read_topic(kafka.bootstrap, int(KAFKA_SETTINGS["offsets.topic.num.partitions"]))
        known = TopicNames(kafka.bootstrap).read()
        topic_ids = {topic_id: name for topic_id, name in known.items() if name in TOPICS}
    document = {
        "records": [[*record[:3], _text(record.key), _text(record.value)] for record in records],
        "said": asdict(said),
        "topic_ids": topic_ids,
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
