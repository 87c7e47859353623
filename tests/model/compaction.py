"""The rules of compaction on lists of records, slowly: a twin of coordinator/log/compaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from _wire.control_records import read_end_txn_marker
from _wire.records import Record, parse_batch


@dataclass(frozen=True)
class ModelBatch:
    """A batch; `delete_horizon_ms` is None if it has none."""

    base_offset: int
    last_offset: int
    producer: tuple[int, int, int]  # id, epoch, base sequence
    is_transactional: bool
    is_control: bool
    compression: str
    timestamp_type: str
    max_timestamp_ms: int
    delete_horizon_ms: int | None
    leader_epoch: int
    records: tuple[Record, ...]


def parsed(data: bytes) -> ModelBatch:
    header, records = parse_batch(data)
    return ModelBatch(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        producer=(header.producer_id, header.producer_epoch, header.base_sequence),
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        compression=header.compression,
        timestamp_type=header.timestamp_type,
        max_timestamp_ms=header.max_timestamp_ms,
        delete_horizon_ms=header.delete_horizon_ms,
        leader_epoch=header.partition_leader_epoch,
        records=tuple(records),
    )


def marker_of(batch: ModelBatch) -> bool | None:
    """Whether the marker commits; None if the batch has none (any more)."""
    return read_end_txn_marker(batch.records[0]).committed if batch.is_control and batch.records else None


def transactions(batches: Sequence[ModelBatch]) -> list[tuple[int, int, int, bool]]:
    """Producer id, first offset, offset of the marker, and whether it commits."""
    began: dict[int, int] = {}
    ended = []
    for batch in batches:
        producer_id = batch.producer[0]
        if batch.is_control:
            committed = marker_of(batch)
            if committed is not None and producer_id in began:
                ended.append((producer_id, began.pop(producer_id), batch.last_offset, committed))
        elif batch.is_transactional:
            began.setdefault(producer_id, batch.base_offset)
    return ended


def aborted_batches(batches: Sequence[ModelBatch]) -> set[int]:
    """The base offsets of the batches that belong to aborted transactions."""
    aborted = [transaction[:3] for transaction in transactions(batches) if not transaction[3]]
    return {
        batch.base_offset
        for batch in batches
        if batch.is_transactional
        and not batch.is_control
        and any(batch.producer[0] == pid and first <= batch.base_offset <= last for pid, first, last in aborted)
    }


def visible(batches: Sequence[ModelBatch]) -> list[Record]:
    """What a consumer that reads committed records sees."""
    aborted = aborted_batches(batches)
    return [
        record
        for batch in batches
        if not batch.is_control and batch.base_offset not in aborted
        for record in batch.records
    ]


def last_values(records: Sequence[Record]) -> dict[bytes, tuple[int, bytes | None]]:
    """Key → offset and value of its last record."""
    return {record.key: (record.offset, record.value) for record in records if record.key is not None}


def last_batches(batches: Sequence[ModelBatch], live_after_ms: int) -> set[int]:
    """The base offsets of the batches that tell of a live producer what its next batch must be."""
    state: dict[int, tuple[int, int | None, list[int]]] = {}
    latest: dict[int, int] = {}
    for batch in batches:
        producer_id, epoch, _ = batch.producer
        if producer_id < 0:
            continue
        latest[producer_id] = batch.max_timestamp_ms
        known = state.get(producer_id)
        if not batch.is_control:
            state[producer_id] = (epoch, batch.base_offset, [])
        elif known is None or epoch > known[0]:
            state[producer_id] = (epoch, None, [batch.base_offset])
        elif known[1] is None and epoch == known[0]:
            known[2].append(batch.base_offset)
    found: set[int] = set()
    for producer_id, (_, data, markers) in state.items():
        if latest[producer_id] > live_after_ms:
            found.update([data] if data is not None else markers)
    return found


def cleaned(
    batches: Sequence[ModelBatch],
    dirty_from: int,
    end_offset: int,
    segment_ends: set[int],
    now_ms: int,
    delete_retention_ms: int,
    live_after_ms: int,
) -> list[ModelBatch]:
    """The batches of a log whose records before `end_offset` are cleaned.

    Those from `dirty_from` on were never cleaned before. `segment_ends` are the next offsets of the new segments.
    """
    aborted, kept_empty = aborted_batches(batches), last_batches(batches, live_after_ms)
    dirty = [record for record in visible(batches) if dirty_from <= record.offset < end_offset]
    last = {key: offset for key, (offset, _) in last_values(dirty).items()}
    result = []
    for batch in batches:
        if batch.base_offset >= max(segment_ends):
            result.append(batch)
            continue
        records, horizon = _stays(batch, aborted, last, end_offset, now_ms, batches), batch.delete_horizon_ms
        if horizon is None and records and _starts_horizon(batch, records, batches):
            horizon = now_ms + delete_retention_ms
        if records:
            result.append(_with_records(batch, records, horizon))
        elif batch.base_offset in kept_empty or batch.last_offset + 1 in segment_ends:
            result.append(replace(batch, records=(), delete_horizon_ms=None, compression="none"))
    return result


def _with_records(batch: ModelBatch, records: tuple[Record, ...], horizon: int | None) -> ModelBatch:
    if records == batch.records and horizon == batch.delete_horizon_ms:
        return batch
    latest_ms = max(record.timestamp_ms for record in records)
    return replace(batch, records=records, delete_horizon_ms=horizon, max_timestamp_ms=latest_ms)


def _is_finished(batch: ModelBatch, batches: Sequence[ModelBatch]) -> bool:
    """Whether no batch of a marker's transaction is left."""
    ours = [each for each in batches if each.producer[0] == batch.producer[0] and each.base_offset < batch.base_offset]
    for before in reversed(ours):
        if before.is_control and before.records:
            return True
        if before.is_transactional and not before.is_control:
            return False
    return True


def _stays(
    batch: ModelBatch,
    aborted: set[int],
    last: dict[bytes, int],
    end_offset: int,
    now_ms: int,
    batches: Sequence[ModelBatch],
) -> tuple[Record, ...]:
    is_due = batch.delete_horizon_ms is not None and batch.delete_horizon_ms <= now_ms
    if batch.is_control:
        return () if is_due and _is_finished(batch, batches) else batch.records
    if batch.base_offset in aborted:
        return ()
    return tuple(
        record
        for record in batch.records
        if record.offset >= end_offset
        or (
            record.key is not None
            and record.offset >= last.get(record.key, -1)
            and (record.value is not None or not is_due)
        )
    )


def _starts_horizon(batch: ModelBatch, records: tuple[Record, ...], batches: Sequence[ModelBatch]) -> bool:
    if batch.is_control:
        return _is_finished(batch, batches)
    return any(record.value is None for record in records)
