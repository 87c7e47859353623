"""The metadata log begins with a snapshot of what it says: nothing changes, whatever happens on the way."""

from itertools import count
from pathlib import Path
from typing import Final

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.directory import LogDirectory
from coordinator.metadata import store as store_module
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import QuotaRecord
from coordinator.metadata.store import MetadataStore
from tests.log.compaction.crashing_files import CrashingFiles
from tests.model.memory_files import ProcessKilled

NOW_MS: Final = 1_700_000_000_000
ROOT: Final = Path("/data")


class Server:
    """A data directory and its metadata."""

    def __init__(self, fs: CrashingFiles) -> None:
        ids = count(1)
        self.directory = LogDirectory.open(ROOT, fs=fs)
        self.store = MetadataStore(self.directory.open_metadata_log(LogConfig()), lambda: next(ids).to_bytes(16, "big"))

    def fill(self) -> None:
        store = self.store
        for number in range(30):
            store.create_topic(f"t{number}", 3, {"retention.ms": "5"}, NOW_MS)
        store.remove_topics([f"t{number}" for number in range(5, 30)], NOW_MS)
        store.create_topic("t9", 1, {}, NOW_MS)
        store.add_partitions("t1", 7, NOW_MS)
        store.change_topic_configs({"t2": {"cleanup.policy": "compact"}}, NOW_MS)
        store.change_quotas(
            [QuotaRecord({"client-id": None}, "x", "inf"), QuotaRecord({"user": "u"}, "y", "0.1")], NOW_MS
        )
        store.allocate_producer_id(NOW_MS)

    def compact(self, bytes_max: int = 1) -> bool:
        return self.store.compact(bytes_max, self.directory.write_log_start_offsets, NOW_MS)


def facts(image: MetadataImage) -> tuple[object, ...]:
    return (
        dict(image.topics),
        dict(image.topics_by_id),
        dict(image.names_by_collision_key),
        image.partitions,
        image.next_producer_id,
        {entity: dict(quotas) for entity, quotas in image.quotas.items()},
    )


def test_a_snapshot_says_what_the_log_said() -> None:
    fs = CrashingFiles()
    server = Server(fs)
    server.fill()
    before, size_bytes = facts(server.store.image), server.store._log.size_bytes
    assert server.compact()
    assert server.store._log.size_bytes < size_bytes / 4
    server.store.create_topic("later", 1, {}, NOW_MS)
    again = Server(fs.after_kill())
    again.store.remove_topics(["later"], NOW_MS)
    assert facts(again.store.image) == before
    assert len(again.store._log.segments) == 1
    assert again.store._log.log_start_offset == again.store._log.segments[0].base_offset > 0


def test_a_log_that_is_not_large_enough_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(CrashingFiles())
    server.fill()
    assert not server.compact(server.store._log.size_bytes)
    monkeypatch.setattr(store_module, "SNAPSHOT_FRACTION", 100)
    assert not server.compact()
    assert server.store._log.log_start_offset == 0


def test_an_image_that_a_snapshot_repeats_stays_as_it_is() -> None:
    server = Server(CrashingFiles())
    server.fill()
    before = facts(server.store.image)
    records = list(server.store.image.snapshot())
    for record in records:
        server.store.image.apply(record)
    assert facts(server.store.image) == before


def test_a_snapshot_may_have_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SNAPSHOT_BATCH_BYTES", 200)
    fs = CrashingFiles()
    server = Server(fs)
    server.fill()
    before = facts(server.store.image)
    assert server.compact()
    log = server.store._log
    assert len(list(log.batches(log.log_start_offset))) > 3
    assert facts(Server(fs.after_kill()).store.image) == before


@pytest.mark.parametrize("keep", range(4))
def test_a_snapshot_that_a_crash_cut_off_changes_nothing(keep: int) -> None:
    number = 0
    while True:
        fs = CrashingFiles()
        server = Server(fs)
        server.fill()
        expected = facts(server.store.image)
        fs.dies_at = fs.operations + number
        try:
            server.compact()
            break
        except ProcessKilled:
            number += 1
        state = min(keep, fs.states_after_power_loss() - 1)
        for disk in (fs.after_kill(), fs.after_power_loss(state)):
            found = Server(disk)
            assert facts(found.store.image) == expected
            found.compact()
            assert facts(Server(disk.after_kill()).store.image) == expected
    assert number > 10
