"""Producer snapshots and transaction indexes, in the bytes of Apache Kafka 4.3.1."""

from pathlib import Path
from typing import Final

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.files import segment_path
from coordinator.log.segments.producer_snapshot import DamagedSnapshot, SnapshotEntry, decode, encode
from coordinator.log.segments.transaction_index import AbortedTransaction, TransactionIndex
from tests.model.memory_files import MemoryFileSystem

SNAPSHOT: Final = bytes.fromhex(
    "0001fb35658d0000000200000000000000070003ffffffffffffffffffffffff00000000000001a203c1c4e000000000ffffffffffffffff"
    "00000000000000080001ffffffffffffffffffffffff00000000000001a203c1c51a00000000ffffffffffffffff"
)
ENTRIES: Final = [
    SnapshotEntry(7, 3, -1, -1, 0, 1795359360224, 0, -1),
    SnapshotEntry(8, 1, -1, -1, 0, 1795359360282, 0, -1),
]
INDEX: Final = bytes.fromhex("00000000000000000007000000000000000700000000000000090000000000000008")
ABORTED: Final = AbortedTransaction(7, 7, 9, 8)
PATH: Final = Path("/data/t-0/00000000000000000000.txnindex")
FOLDER: Final = Path("/data")


def encoded(entries: list[SnapshotEntry]) -> bytes:
    *_, data = encode(entries)
    assert data is not None
    return data


def opened(fs: MemoryFileSystem, *, clean: bool = True) -> PartitionLog:
    return PartitionLog.open(fs, FOLDER, "t", 0, LogConfig(), clean=clean)


def test_a_snapshot_has_kafkas_bytes():
    assert decode(SNAPSHOT) == ENTRIES
    assert encoded(ENTRIES) == SNAPSHOT


@pytest.mark.parametrize("size", [0, 9, len(SNAPSHOT) - 1, len(SNAPSHOT) + 1])
def test_a_snapshot_of_another_size_is_damaged(size):
    with pytest.raises(DamagedSnapshot):
        decode((SNAPSHOT + b"\0")[:size])


@pytest.mark.parametrize("position", [0, 2, 6, 10, len(SNAPSHOT) - 1])
def test_a_changed_byte_is_found(position):
    damaged = bytearray(SNAPSHOT)
    damaged[position] ^= 1
    with pytest.raises(DamagedSnapshot):
        decode(bytes(damaged))


def test_many_producers_are_encoded_in_steps():
    entries = [ENTRIES[0]._replace(producer_id=number) for number in range(2_500)]
    steps = list(encode(entries))
    assert [step is None for step in steps] == [True, True, False]
    assert decode(steps[-1] or b"") == entries


def test_the_newest_snapshot_that_is_whole_counts():
    fs = MemoryFileSystem()
    log = opened(fs)
    for offset in (0, 5, 7, 9):
        log.log_end_offset = 8
        log.save_producer_snapshot(offset, SNAPSHOT)
    folder = Path("/data/t-0")
    assert [path.name for path in fs.paths() if path.suffix == ".snapshot"] == [
        f"{offset:020d}.snapshot" for offset in (5, 7, 9)
    ]
    fs.content(folder / f"{7:020d}.snapshot")[20] ^= 1
    assert log.newest_producer_snapshot() == (5, ENTRIES)
    assert [path.name for path in fs.paths() if path.suffix == ".snapshot"] == [f"{5:020d}.snapshot"]


def test_a_transaction_index_has_kafkas_bytes():
    fs = MemoryFileSystem()
    fs.content(PATH).extend(INDEX)
    index = TransactionIndex(PATH)
    assert index.load(fs, 0)
    assert index.entries == [ABORTED]
    fs.remove(PATH)
    written = TransactionIndex(PATH)
    written.append(ABORTED)
    written.save(fs)
    assert fs.content(PATH) == INDEX


@pytest.mark.parametrize("data", [INDEX[:-1], b"\0\1" + INDEX[2:], INDEX + INDEX], ids=["torn", "version", "order"])
def test_a_damaged_transaction_index_is_not_used(data):
    fs = MemoryFileSystem()
    fs.content(PATH).extend(data)
    assert not TransactionIndex(PATH).load(fs, 0)


def test_without_aborted_transactions_there_is_no_file():
    fs = MemoryFileSystem()
    TransactionIndex(PATH).save(fs)
    log = opened(fs)
    log.finish()
    assert not fs.exists(PATH)


def test_a_segment_with_a_damaged_index_is_rebuilt_and_its_snapshots_are_not_used():
    fs = MemoryFileSystem()
    log = opened(fs)
    log.save_producer_snapshot(3, SNAPSHOT)
    log.finish()
    fs.content(segment_path(Path("/data/t-0"), 0, ".txnindex")).extend(INDEX[:-1])
    again = opened(fs)
    assert again.indexed_transactions_end == 0
    assert [path for path in fs.paths() if path.suffix == ".snapshot"] == []
