"""Logs to be cleaned, and their cleaning from the start to the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _wire.control_records import EndTxnMarker
from _wire.records import Record, build_batch
from coordinator.log.compaction.cleanable import cleanable_log
from coordinator.log.compaction.cleaner import CleanerSettings, CleaningStats, clean
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from tests.model.compaction import ModelBatch, parsed
from tests.model.memory_files import MemoryFileSystem

FOLDER = Path("/data")
START_MS = 1_700_000_000_000
SECRET = bytes(range(16))
SETTINGS = CleanerSettings(dedupe_buffer_bytes=1 << 20, producer_expiration_ms=86_400_000, new_secret=lambda: SECRET)
CONFIG = LogConfig(
    segment_bytes=4_000,
    index_interval_bytes=300,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=1_000,
    min_cleanable_dirty_ratio=0.0,
)

Pair = tuple[bytes | None, bytes | None]


def new_log(fs: FileSystem | None = None, config: LogConfig = CONFIG, **options: Any) -> PartitionLog:
    return PartitionLog.open(fs or MemoryFileSystem(), FOLDER, "topic", 0, config, **options)


def append(log: PartitionLog, *pairs: Pair, timestamp_ms: int = START_MS, **options: Any) -> None:
    """One batch; `options` are those of build_batch."""
    batch = build_batch(
        [(key, value, []) for key, value in pairs],
        base_offset=log.log_end_offset,
        timestamp_ms=timestamp_ms,
        partition_leader_epoch=0,
        **options,
    )
    log.append_prebuilt([PrebuiltBatch(batch, log.log_end_offset + len(pairs) - 1)], timestamp_ms)


def append_data(log: PartitionLog, producer_id: int, *pairs: Pair, epoch: int = 0, **options: Any) -> None:
    """One batch of a transaction."""
    options = {"base_sequence": 0, "is_transactional": True} | options
    append(log, *pairs, producer_id=producer_id, producer_epoch=epoch, **options)


def append_marker(log: PartitionLog, producer_id: int, *, committed: bool, epoch: int = 0, **options: Any) -> None:
    """The end of a transaction."""
    record = EndTxnMarker(committed, 0).as_record()
    append(
        log,
        (record[0], record[1]),
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
        **options,
    )


def roll(log: PartitionLog) -> None:
    """Let the next append begin a segment."""
    log.roll()


def clean_now(
    log: PartitionLog,
    fs: FileSystem,
    cleaned_to: int | None = None,
    now_ms: int = START_MS,
    settings: CleanerSettings = SETTINGS,
    last_stable_offset: int | None = None,
) -> int:
    """Clean all but the active segment, if there is anything new; return the offset up to which the log is clean."""
    stable = log.log_end_offset if last_stable_offset is None else last_stable_offset
    target = cleanable_log(log, cleaned_to, stable, now_ms)
    if not target.is_due:
        return target.first_dirty_offset
    return run(clean(fs, target, settings, CleaningStats(), now_ms))


def run(cleaning: Any) -> int:
    while True:
        try:
            next(cleaning)
        except StopIteration as end:
            return int(end.value)


def batches(log: PartitionLog) -> list[ModelBatch]:
    return [parsed(data) for _, data in log.batches(log.log_start_offset)]


def records(log: PartitionLog) -> list[Record]:
    return [record for batch in batches(log) for record in batch.records]


def pairs(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record."""
    return [(record.offset, record.key, record.value) for record in records(log)]


def offsets(found: Sequence[ModelBatch]) -> list[tuple[int, int, int]]:
    """Base offset, last offset and number of records of each batch."""
    return [(batch.base_offset, batch.last_offset, len(batch.records)) for batch in found]
