"""Batches of records of `__consumer_offsets`, decoded in Spark's Python workers (`DataFrame.mapInArrow`).

Committed offsets are counted, per group and minute. The records of a group itself are few: each goes to the driver. A
damaged record becomes a `Rejected`; records of types that are not known here (share and streams groups) are counted.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from _wire.embedded import decode_versioned, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from coordinator.observe.records.stored import (
    MALFORMED,
    Commits,
    Decoded,
    Rejected,
    Skipped,
    encode,
    group_record,
)

COMMITS_WINDOW_MS: Final = 60_000
COMMIT_TYPES: Final = frozenset({0, 1})
"""0 is what Kafka wrote before 0.9."""

KEYS_REMEMBERED_MAX: Final = 50_000
"""The same few keys of committed offsets come again and again."""

SCHEMA: Final = pa.schema(
    [("value", pa.binary()), ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp_ms", pa.int64())]
)
SPARK_SCHEMA: Final = "value binary, partition int, offset bigint, timestamp_ms bigint"

Place = tuple[int, int, int]
"""Partition, offset, and when the record was appended (ms since the epoch)."""


def decode_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Records (key, value, partition, offset, timestamp_ms) → what the driver needs, with the columns of SCHEMA."""
    for batch in batches:
        reduced = _Reduced()
        columns = (batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset", "timestamp_ms"))
        for key, value, *place in zip(*columns, strict=True):
            reduced.add(key, value, (place[0], place[1], place[2] or 0))
        yield reduced.batch()


class _Reduced:
    """What is left of a batch of Arrow."""

    def __init__(self) -> None:
        self._found: list[tuple[Decoded, Place]] = []
        self._commits: dict[tuple[int, str, int], tuple[Commits, Place, set[tuple[str, int]]]] = {}
        self._skipped: dict[tuple[int, int], tuple[Skipped, Place]] = {}
        self._keys: dict[bytes, tuple[str, tuple[str, int]]] = {}

    def add(self, key: bytes | None, value: bytes | None, place: Place) -> None:
        try:
            record_type = prefix_of(key or b"")
            if record_type in COMMIT_TYPES:
                self._add_commit(key or b"", value, place)
                return
            found = group_record(record_type, key or b"", value)
        except KeyError:
            self._skip(record_type, place)
        except MALFORMED as problem:
            self._found.append((Rejected(_why(key, problem), value), place))
        else:
            if found is not None:
                self._found.append((found, place))

    def _add_commit(self, key: bytes, value: bytes | None, place: Place) -> None:
        named = self._keys.get(key)
        if named is None:
            if len(self._keys) >= KEYS_REMEMBERED_MAX:
                self._keys.clear()
            decoded = decode_versioned(OffsetCommitKey, key)
            named = self._keys[key] = decoded.group, (decoded.topic, decoded.partition)
        if value is None:  # the offset was deleted, or has expired
            return
        decode_versioned(OffsetCommitValue, value)
        group_id, topic_partition = named
        partition, offset, timestamp_ms = place
        window_ms = timestamp_ms // COMMITS_WINDOW_MS * COMMITS_WINDOW_MS
        entry = self._commits.get((partition, group_id, window_ms))
        if entry is None:
            commits = Commits(group_id, window_ms, 0, [], offset, offset)
            entry = self._commits[partition, group_id, window_ms] = commits, place, set()
        entry[0].commits += 1
        entry[0].last_offset = offset
        entry[2].add(topic_partition)

    def _skip(self, record_type: int, place: Place) -> None:
        entry = self._skipped.get((place[0], record_type))
        if entry is None:
            entry = self._skipped[place[0], record_type] = Skipped(record_type, 0, place[1], place[1]), place
        entry[0].records += 1
        entry[0].last_offset = place[1]

    def batch(self) -> pa.RecordBatch:
        found = [*self._found, *self._skipped.values()]
        for commits, place, partitions in self._commits.values():
            commits.partitions = sorted(partitions)
            found.append((commits, place))
        values = [encode(classic_group) for classic_group, _ in found]
        places = ([place[number] for _, place in found] for number in range(3))
        columns = [values, *places]
        return pa.record_batch(
            [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
        )


def _why(key: bytes | None, problem: Exception) -> str:
    if not key:
        return "no key"
    what = f"{problem.message}: {problem.why}" if isinstance(problem, MalformedMessage) else str(problem)
    return f"no valid record: {what}"
