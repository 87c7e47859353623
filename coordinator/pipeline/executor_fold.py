"""The fold of a batch as a function for Spark's Python workers, and what it sends to the driver.

A task has whole partitions of the topic: the connector reads a partition in one task, and coalescing puts tasks
together, it divides none. The driver makes sure of it. All that a task writes is what it returns, so a task that fails,
runs again or runs twice at the same time leaves no traces; Spark takes the result of one of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import pyarrow as pa

import coordinator
from coordinator.garbage import no_collections
from coordinator.pipeline.columns import BRONZE_COLUMNS, TABLES, arrow_table
from coordinator.pipeline.folder import Rows
from coordinator.pipeline.names import BRONZE
from coordinator.pipeline.partition_folds import Changes, MakeFold, fold_records
from coordinator.pipeline.partition_state import decode_state, encode_state
from coordinator.pipeline.state_broadcasts import StateChain

STATE: Final = "state"
"""In place of the name of a table."""

RESULT_SCHEMA: Final = "name string, partition int, content binary"
"""Of what a task returns: the rows of a table as a stream of Arrow, or what has changed of the state of a partition."""

_RESULT: Final = pa.schema([("name", pa.string()), ("partition", pa.int32()), ("content", pa.binary())])
_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class FoldFailed(RuntimeError):
    """What the executors returned cannot be used. The message is one line."""


@dataclass(frozen=True)
class ExecutorFold:
    """Takes records of bronze, and returns what RESULT_SCHEMA says. Made by the driver, called in a worker."""

    in_arrow: Callable[[pa.Table], pa.Table]
    make_fold: MakeFold
    states: StateChain
    returns_bronze: bool
    """Whether the driver writes bronze, so that it needs the records too."""

    version: str = coordinator.__version__
    """Of the driver's package."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.version != coordinator.__version__:
            raise FoldFailed(
                f"an executor has version {coordinator.__version__} of this package, the driver has {self.version}"
            )
        parts = list(batches)
        if not parts:
            return
        records = pa.Table.from_batches(parts)
        with no_collections():
            rows, changes = fold_records(self.in_arrow(records), self.states.before, self.make_fold)
            found = {table: arrow_table(table, of_table) for table, of_table in rows.items()}
        if self.returns_bronze:
            found[BRONZE] = records.select(BRONZE_COLUMNS.names).cast(BRONZE_COLUMNS)
        for table, content in found.items():
            yield _result(table, None, _stream_of(content))
        for partition, changed in changes.items():
            yield _result(STATE, partition, encode_state(changed))


def _result(name: str, partition: int | None, content: bytes) -> pa.RecordBatch:
    columns = [[name], [partition], [content]]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, _RESULT, strict=True)], schema=_RESULT
    )


def _stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


class Folded(msgspec.Struct, frozen=True):
    """What the tasks of a batch returned, together."""

    rows: Rows
    """Of all tables but bronze."""
    bronze: pa.Table
    changes: Changes


def combine(results: pa.Table) -> Folded:
    """Put together what the tasks returned.

    Raises:
        FoldFailed: two tasks had records of the same partition.
    """
    changes: Changes = {}
    tables: dict[str, list[pa.Table]] = {}
    names, partitions = (results.column(place).to_pylist() for place in range(2))
    for name, partition, content in zip(names, partitions, results.column(2), strict=True):
        if name != STATE:
            tables.setdefault(name, []).append(pa.ipc.open_stream(content.as_buffer()).read_all())
        elif partition in changes:
            raise FoldFailed(f"partition {partition} was read by two tasks; its events must come in order")
        else:
            changes[partition] = decode_state(content.as_buffer())
    whole: Mapping[str, pa.Table] = {name: pa.concat_tables(parts) for name, parts in tables.items()}
    bronze = whole.get(BRONZE, BRONZE_COLUMNS.empty_table())
    return Folded({name: whole[name] for name in TABLES if name in whole}, bronze, changes)
