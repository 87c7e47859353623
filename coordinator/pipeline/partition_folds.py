"""Folds records of any partitions of the topic, each partition from its own state."""

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from coordinator.pipeline.fold import Fold, Position
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.rows import NewRows

SLICE_RECORDS: Final = 1_000
"""So many values exist at a time: those of a whole batch would be in memory that the system clears first."""

_MILLISECONDS: Final = pa.timestamp("ms", "UTC")

MakeFold = Callable[[PartitionState, NewRows], Fold]

Changes = dict[int, PartitionState]
"""Partition → what a batch has changed of its state."""


def fold_records(
    records: pa.Table, before: Callable[[int], PartitionState], make_fold: MakeFold = Fold
) -> tuple[NewRows, Changes]:
    """Fold records (value, partition, offset, timestamp_ms), in any order, of partitions with these states `before`."""
    # Files are read in any order; those of a partition must be in the order of the topic.
    records = records.sort_by([("partition", "ascending"), ("offset", "ascending")])
    rows, changes = NewRows(), Changes()
    for partition, of_partition in _by_partition(records):
        fold = make_fold(before(partition), rows)
        for first in range(0, of_partition.num_rows, SLICE_RECORDS):
            part = of_partition.slice(first, SLICE_RECORDS)
            columns = (part.column(name).to_pylist() for name in ("partition", "offset", "timestamp_ms"))
            fold.add_records(part.column("value").to_pylist(), map(Position, *columns))
        changes[partition] = fold.finish()
    return rows, changes


def _by_partition(records: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """The records of each partition, of records that are sorted by it."""
    runs = pc.run_end_encode(records.column("partition").combine_chunks())
    first = 0
    for partition, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield partition, records.slice(first, end - first)
        first = end


def audit_records(bronze: pa.Table) -> pa.Table:
    """What the fold takes in of records of bronze, if their values are events."""
    return bronze.select(["value", "partition", "offset"]).append_column("timestamp_ms", timestamps_ms(bronze))


def timestamps_ms(bronze: pa.Table) -> pa.ChunkedArray:
    """When records of bronze were appended, in ms since the epoch."""
    return pc.cast(bronze.column("timestamp"), _MILLISECONDS, safe=False).cast(pa.int64())
