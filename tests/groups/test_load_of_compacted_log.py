"""A load of __consumer_offsets gives the same offsets before and after compactions, at any time between them."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.offsets.records import CommittedOffset, offset_records, offset_tombstones
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.offsets_stream import GroupReplay
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import StoreError
from tests.examples import examples
from tests.groups.stores import group_store
from tests.log.compaction.cleaning import START_MS, clean_now
from tests.model.memory_files import MemoryFileSystem

ROOT = Path("/data")
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0, delete_retention_ms=500)
GROUPS = st.sampled_from(["g1", "g2"])
PARTITIONS = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), GROUPS, PARTITIONS),
        st.tuples(st.just("delete"), GROUPS, PARTITIONS),
        st.tuples(st.just("pending"), GROUPS, PARTITIONS, st.integers(0, 1)),
        st.tuples(st.just("end"), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("compact"), st.sampled_from([0, 400])),
    ),
    min_size=3,
    max_size=40,
)


class Partition:
    def __init__(self, compression: str) -> None:
        self.fs = MemoryFileSystem()
        self.log = self._open(OFFSETS_TOPIC)
        self.store = group_store(self.log, self._open(AUDIT_TOPIC), compression=compression)
        self.cleaned_to: int | None = None
        self.now_ms = START_MS
        self.number = 0

    def _open(self, topic: str) -> PartitionLog:
        return PartitionLog.open(self.fs, ROOT, topic, 0, CONFIG, lazy=True)

    def append(self, *stored: Any) -> None:
        problems: list[StoreError | None] = []
        self.store.append([], list(stored), self.now_ms, problems.append)
        assert problems == [None]

    def take(self, step: tuple[Any, ...]) -> None:
        self.number += 1
        self.now_ms += 100
        match step:
            case ("commit", group, partition):
                self.append(StoredBatch(None, self._commit(group, partition)))
            case ("delete", group, partition):
                self.append(StoredBatch(None, offset_tombstones(group, [("t", partition)])))
            case ("pending", group, partition, producer_id):
                self.append(StoredBatch(Producer(producer_id, 0), self._commit(group, partition)))
            case ("end", producer_id, committed):
                self.append(TransactionMarker(Producer(producer_id, 0), committed, 0))
            case ("compact", wait_ms):
                self.now_ms += wait_ms
                before = self.loaded()
                self.log.roll()
                self.cleaned_to = clean_now(self.log, self.fs, self.cleaned_to, self.now_ms)
                assert self.loaded() == before

    def _commit(self, group: str, partition: int) -> list[tuple[bytes, bytes | None]]:
        return offset_records(group, {"t": {partition: CommittedOffset(self.number, 0, "", self.now_ms)}})

    def loaded(self) -> dict[tuple[str, str, int], tuple[int, bool]]:
        """What each group has committed, and whether more is pending."""
        groups = StoredGroups()
        for _ in self.store.replay(GroupReplay(groups)):
            continue
        found = {}
        for name, group in groups.groups.items():
            for tp in group.offsets.partitions_with_any():
                position = group.offsets.get(tp)
                found[name, *tp] = (-1 if position is None else position.offset, group.offsets.has_pending(tp))
        return found


@settings(max_examples=examples(120), deadline=None)
@given(steps=STEPS, compression=st.sampled_from(["none", "zstd"]))
def test_a_compacted_log_loads_as_before(steps: list[tuple[Any, ...]], compression: str) -> None:
    partition = Partition(compression)
    for step in steps:
        partition.take(step)
    partition.take(("compact", 1_000))
    for producer_id in (0, 1):
        partition.take(("end", producer_id, True))
    partition.take(("compact", 0))
    partition.take(("compact", 1_000))
