from collections.abc import Sequence

from _wire.batch_reader import Record

_Headers = Sequence[tuple[str, bytes | None]]

def build_batch(
    records: Sequence[Record]
    | Sequence[tuple[bytes | None, bytes | None]]
    | Sequence[tuple[bytes | None, bytes | None, _Headers]],
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_ms: int = -1,
    compression: str = "none",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    partition_leader_epoch: int = -1,
    log_append_time: bool = False,
) -> bytes:
    """Build a batch of format 2.

    A tuple is (key, value) or (key, value, headers): its offset follows the one before, and `timestamp_ms` is its time.
    A Record brings its own offset and time. `base_offset` is the first record's (0 for tuples) and `last_offset` the
    last one's, unless compaction left a gap there. With `log_append_time` all records are read back with
    `timestamp_ms` as theirs.

    Raises:
        ValueError: no records, offsets that do not ascend, an unknown compression, or a batch of 2 GiB.
        TypeError: a record that is neither, or a key, value or header of another type.
    """
