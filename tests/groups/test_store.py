"""The log behind a shard: the audit first, both or none acknowledged, and whatever was written read again."""

from pathlib import Path
from typing import Any, Final

import pytest
from crc32c import crc32c
from msgspec.structs import replace

from _wire.embedded import encode_versioned
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from _wire.records import BATCH_HEADER_BYTES, batch_headers, build_batch
from coordinator.audit.schema import Record as AuditRecord
from coordinator.core.classic import records as group_records
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.offsets_stream import GroupReplay, OffsetsStream
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT, CheckpointFile
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.store import LogStore
from tests.groups.stores import group_store
from tests.model.memory_files import MemoryFile, MemoryFileSystem
from tests.model.stored_log import stored_in

NOW_MS: Final = 1_700_000_000_000
ROOT: Final = Path("/data")
AUDIT: Final[list[AuditRecord]] = [(b"g", b"event", (("ce_id", b"g/1"),))]
RECORDS: Final = [(b"key", b"value"), (b"gone", None)]
STORED: Final = [StoredBatch(None, RECORDS)]
PRODUCER: Final = Producer(4_711, 3)


class Disk(MemoryFileSystem):
    """Remembers which logs were written to, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.broken: set[str] = set()

    def open(self, path: Path) -> MemoryFile:
        return WatchedFile(self, path)


class WatchedFile(MemoryFile):
    def __init__(self, fs: Disk, path: Path) -> None:
        super().__init__(fs, path)
        self._disk = fs

    def write_at(self, data: Any, position: int) -> None:
        if self._path.suffix == ".log":
            if self._path.parent.name in self._disk.broken:
                raise OSError(5, "Input/output error")
            self._disk.written.append(self._path.parent.name)
        super().write_at(data, position)


class Stage:
    """A store on a disk; `store` opens it anew."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.grown: list[str] = []
        self.open()

    def open(self, **config: int) -> None:
        self.offsets = self._log("__consumer_offsets", **config)
        self.audit = self._log("__group_audit", **config)
        self.checkpoints = AuditCheckpoints(CheckpointFile(self.disk, ROOT / GROUP_AUDIT))
        self.stream = AuditStream(self.audit, 0, checkpoints=self.checkpoints)
        self.store = LogStore(
            OffsetsStream(self.offsets, 0), self.stream, appended=lambda log: self.grown.append(log.name)
        )

    def _log(self, topic: str, **config: Any) -> PartitionLog:
        return PartitionLog.open(self.disk, ROOT, topic, 0, LogConfig(**config), lazy=True)

    def append(self, audit: list[Any], stored: list[Any]) -> None:
        """Raises what the store reports."""
        outcome: list[StoreError | None] = []
        self.store.append(audit, stored, NOW_MS, outcome.append)
        (problem,) = outcome
        if problem is not None:
            raise problem

    def log_contents(self) -> list[bytearray]:
        """The content of each segment on the disk; changing it changes the disk."""
        return [self.disk.content(path) for path in self.disk.paths() if path.suffix == ".log"]

    def read(self) -> tuple[list[Any], list[Any]]:
        start = self.audit.log_start_offset
        audit = [record for records in self.stream.replay(start) for record in records]
        return audit, stored_in(self.offsets)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_what_was_appended_is_replayed(stage):
    stage.append(AUDIT, STORED)
    more = StoredBatch(None, [(b"more", b"")])
    stage.append([], [more])
    assert stage.read() == (AUDIT, [*STORED, more])
    stage.open()
    assert stage.read() == (AUDIT, [*STORED, more])


def test_an_empty_log_replays_nothing_and_has_no_files(stage):
    assert stage.read() == ([], [])
    assert stage.disk.written == []


def test_the_audit_is_written_first(stage):
    stage.append(AUDIT, STORED)
    assert stage.disk.written == ["__group_audit-0", "__consumer_offsets-0"]


def test_each_log_gets_one_batch(stage):
    stage.append(AUDIT * 3, [StoredBatch(None, RECORDS * 3)])
    for log, records in ((stage.audit, 3), (stage.offsets, 6)):
        (header,) = batch_headers(log.read(0, 1 << 20))
        assert (header.record_count, header.max_timestamp_ms) == (records, NOW_MS)


def test_nothing_is_written_to_a_log_there_is_nothing_for(stage):
    stage.append(AUDIT, [])
    assert (stage.audit.log_end_offset, stage.offsets.log_end_offset) == (1, 0)
    stage.append([], STORED)
    assert (stage.audit.log_end_offset, stage.offsets.log_end_offset) == (1, 2)


def test_readers_are_told_of_each_log_that_grew(stage):
    stage.append(AUDIT, STORED)
    assert stage.grown == ["__group_audit-0", "__consumer_offsets-0"]


def test_on_a_full_disk_nothing_is_stored_and_nobody_told(stage):
    stage.append(AUDIT, STORED)
    stage.grown.clear()
    stage.disk.is_full = True
    with pytest.raises(StoreError, match=r"__group_audit-0.*No space left"):
        stage.append(AUDIT, STORED)
    stage.disk.is_full = False
    assert stage.read() == (AUDIT, STORED)
    assert stage.grown == []
    stage.append(AUDIT, STORED)
    assert stage.read() == (AUDIT * 2, STORED * 2)


def test_events_may_be_told_of_a_batch_that_is_then_not_stored(stage):
    """The reverse never happens; the next load says that they are void."""
    stage.disk.broken = {"__consumer_offsets-0"}
    with pytest.raises(StoreError, match="__consumer_offsets-0"):
        stage.append(AUDIT, STORED)
    assert stage.read() == (AUDIT, [])


def test_a_single_record_of_the_audit_may_be_larger_than_what_clients_may_produce(stage):
    stage.open(max_message_bytes=1000)
    large = [(b"g", bytes(5000), ())]
    stage.append(large, STORED)
    assert stage.read() == (large, STORED)


def test_an_audit_that_outgrows_a_segment_goes_into_several_batches(stage):
    stage.open(segment_bytes=1000)
    audit = [(b"g", bytes([index]) * 300, ()) for index in range(10)]
    stage.append(audit, [])
    assert len(stage.audit.segments) > 3
    assert stage.read()[0] == audit


def test_the_largest_batch_is_that_of_the_topic_and_of_a_segment(stage):
    assert stage.store.batch_bytes_max == 1_048_588
    stage.open(max_message_bytes=5000, segment_bytes=2000)
    assert stage.store.batch_bytes_max == 2000


def test_a_change_of_the_largest_batch_takes_effect_at_once(stage):
    stage.offsets.configure(replace(stage.offsets.config, max_message_bytes=2_000_000))
    assert stage.store.batch_bytes_max == 2_000_000


def test_batches_that_together_outgrow_a_segment_go_into_several(stage):
    stage.open(segment_bytes=2000)
    stored = [StoredBatch(None, [(b"key", bytes(1500))]), StoredBatch(PRODUCER, [(b"key", bytes(1500))])]
    stage.append([], stored)
    assert stage.read()[1] == stored
    assert len(stage.offsets.segments) == 2


def test_what_outgrows_a_segment_by_itself_cannot_be_stored(stage):
    stage.open(segment_bytes=2000)
    with pytest.raises(StoreError, match=r"segment\.bytes"):
        stage.append([], [StoredBatch(None, [(b"key", bytes(5000))])])
    assert stage.read() == ([], [])


@pytest.mark.parametrize("bytes_left", [0, 1, 100, 200, 300])
def test_a_disk_that_fills_up_between_the_batches_leaves_none_of_them(stage, bytes_left):
    stage.append([], STORED)
    held_back = StoredBatch(PRODUCER, [(b"key", b"in the transaction")])
    stage.disk.bytes_left = bytes_left
    with pytest.raises(StoreError, match="No space left"):
        stage.append([], [*STORED, held_back, *STORED, TransactionMarker(PRODUCER, True, 0)])
    stage.disk.heal()
    assert stage.read() == ([], STORED)
    stage.open()
    assert stage.read() == ([], STORED)


def test_a_transaction_goes_into_batches_of_its_own_in_order(stage):
    held_back = StoredBatch(PRODUCER, [(b"key", b"in the transaction")])
    marker = TransactionMarker(PRODUCER, committed=True, coordinator_epoch=2)
    stage.append([], [*STORED, held_back, *STORED, marker])
    assert stage.read() == ([], [*STORED, held_back, *STORED, marker])
    headers = batch_headers(stage.offsets.read(0, 1 << 20))
    assert [(header.is_transactional, header.is_control) for header in headers] == [
        (False, False),
        (True, False),
        (False, False),
        (True, True),
    ]
    assert set(stage.grown) == {"__consumer_offsets-0"}


def test_batches_of_groups_are_compressed_as_told(stage):
    store = group_store(stage.offsets, stage.audit, compression="zstd")
    large = StoredBatch(None, [(b"key", bytes(5000))])
    stage.store = store
    stage.append(AUDIT, [large, StoredBatch(PRODUCER, [(b"key", bytes(5000))])])
    headers = batch_headers(stage.offsets.read(0, 1 << 20))
    assert [(header.compression, header.size_in_bytes < 500) for header in headers] == [("zstd", True)] * 2
    assert stage.read()[1][0] == large


def test_control_batches_that_end_no_transaction_are_passed_over(stage):
    control = build_batch([(b"\0\0\0\1", b"", ())], is_control=True, producer_id=1, producer_epoch=0, base_sequence=-1)
    stage.offsets.append(bytearray(control), 0, NOW_MS)
    stage.append([], STORED)
    assert stage.read() == ([], STORED)


def test_a_log_that_cannot_be_read_is_a_store_error(stage):
    stage.append(AUDIT, STORED)
    for content in stage.log_contents():
        content[-1] ^= 0xFF
    with pytest.raises(StoreError, match="__consumer_offsets-0"):
        list(stage.store.replay(GroupReplay(StoredGroups())))
    with pytest.raises(StoreError, match="__group_audit-0"):
        list(stage.stream.replay(0))


@pytest.mark.parametrize("bit", range(32))
def test_a_flipped_bit_in_the_length_of_a_batch_is_a_store_error(stage, bit):
    for _ in range(3):
        stage.append(AUDIT, STORED)
    for content in stage.log_contents():
        second = batch_headers(content)[1].position
        length = int.from_bytes(content[second + 8 : second + 12], "big") ^ 1 << bit
        content[second + 8 : second + 12] = length.to_bytes(4, "big")
    with pytest.raises(StoreError, match="__consumer_offsets-0"):
        list(stage.store.replay(GroupReplay(StoredGroups())))
    with pytest.raises(StoreError, match="__group_audit-0"):
        list(stage.stream.replay(0))


@pytest.mark.parametrize("records", [[(b"\0\0\0\x03", b"no marker")], [(None, b"")]], ids=["another type", "no key"])
def test_a_control_batch_of_a_transaction_that_holds_no_marker_is_a_store_error(stage, records):
    batch = build_batch(
        [(key, value, ()) for key, value in records],
        base_offset=0,
        producer_id=1,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )
    stage.offsets.append(bytearray(batch), 0, NOW_MS)
    with pytest.raises(StoreError, match="__consumer_offsets-0, records from offset 0 on"):
        list(stage.store.replay(GroupReplay(StoredGroups())))


def test_a_control_batch_that_compaction_has_emptied_is_passed_over(stage):
    marker = TransactionMarker(PRODUCER, True, 0)
    stage.append([], [marker])
    (content,) = stage.log_contents()
    emptied = content[:BATCH_HEADER_BYTES]
    emptied[8:12] = (BATCH_HEADER_BYTES - 12).to_bytes(4, "big")
    emptied[57:61] = bytes(4)
    emptied[17:21] = crc32c(bytes(emptied[21:])).to_bytes(4, "big")
    content[:] = emptied
    stage.open()
    groups = StoredGroups()
    list(stage.store.replay(GroupReplay(groups)))
    assert groups.groups == {}


# ---- the metadata of groups


def metadata(group, generation):
    key, value = GroupMetadataKey(group=group), GroupMetadataValue(protocol_type="consumer", generation=generation)
    return encode_versioned(key, 2), encode_versioned(value, 3)


def test_only_the_last_metadata_of_a_group_is_decoded(stage, monkeypatch):
    decoded = []
    load_group = group_records.load_group

    def load(group_id, value):
        decoded.append((group_id, value.generation))
        return load_group(group_id, value)

    monkeypatch.setattr(group_records, "load_group", load)
    deleted = (metadata("b", 0)[0], None)
    for generation in range(50):
        stage.append([], [StoredBatch(None, [metadata("a", generation), metadata("b", generation)])])
    stage.append([], [StoredBatch(None, [deleted, metadata("c", 7)])])
    groups = StoredGroups()
    steps = len(list(stage.store.replay(GroupReplay(groups))))
    assert sorted(decoded) == [("a", 49), ("c", 7)]
    assert {group_id: group.membership.generation_id for group_id, group in groups.groups.items()} == {"a": 49, "c": 7}
    assert steps >= len(decoded) + 1, "each of them is a step of its own"


def test_metadata_that_cannot_be_read_counts_if_it_is_the_last(stage):
    damaged = (metadata("a", 1)[0], b"\0\3damaged")
    stage.append([], [StoredBatch(None, [damaged])])
    with pytest.raises(StoreError, match="__consumer_offsets-0"):
        list(stage.store.replay(GroupReplay(StoredGroups())))
    stage.append([], [StoredBatch(None, [metadata("a", 2)])])
    groups = StoredGroups()
    list(stage.store.replay(GroupReplay(groups)))
    assert groups.groups["a"].membership.generation_id == 2


# ---- where a start reads the audit from


def test_a_checkpoint_within_the_log_is_tried_before_its_start(stage):
    for _ in range(5):
        stage.append(AUDIT, [])
    assert stage.stream.replay_offsets() == [0]
    assert stage.stream.note_checkpoint(3)
    assert not stage.stream.note_checkpoint(3), "it is known already"
    assert stage.stream.replay_offsets() == [3, 0]
    assert len(list(stage.stream.replay(3))) == 2


def test_a_checkpoint_beyond_the_end_of_the_log_is_passed_over(stage):
    """A power loss cut the log, but not the file."""
    stage.append(AUDIT, [])
    stage.stream.note_checkpoint(2)
    assert stage.stream.replay_offsets() == [0]


def test_a_checkpoint_in_deleted_segments_is_passed_over(stage):
    stage.open(segment_bytes=1000)
    for _ in range(20):
        stage.append(AUDIT, [])
    first, second = stage.audit.segments[:2]
    stage.stream.note_checkpoint(second.base_offset - 1)
    assert stage.stream.replay_offsets() == [second.base_offset - 1, 0]
    for name in stage.disk.names(stage.audit.folder):
        if name.startswith(f"{first.base_offset:020d}"):
            stage.disk.remove(stage.audit.folder / name)
    stage.checkpoints.write()
    stage.open(segment_bytes=1000)
    assert stage.stream.replay_offsets() == [second.base_offset]
    assert not stage.stream.note_checkpoint(second.base_offset), "the start of the log needs no checkpoint"


def test_without_checkpoints_all_is_read(stage):
    stream = AuditStream(stage.audit, 0)
    stage.append(AUDIT * 2, [])
    assert not stream.note_checkpoint(1)
    assert stream.replay_offsets() == [0]
