"""The metadata log begins with a snapshot of what it says: nothing changes, whatever happens on the way."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Final, cast, get_args

import pytest

from _wire.records import parse_records
from coordinator.log.compaction import rewrite
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.disk_threads import Done, InLine
from coordinator.metadata import compaction as compaction_module
from coordinator.metadata.compaction import AtOnce, MetadataCompaction
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import (
    AclBinding,
    LeaderEpochRecord,
    LogDirectoriesRecord,
    MetadataRecord,
    PartitionDirectoriesRecord,
    ProducerIdsRecord,
    QuotaRecord,
    RemoveScramCredentialRecord,
    ScramCredentialRecord,
    decode_record,
)
from coordinator.metadata.store import MetadataStore
from tests.captured_logs import capture_logs
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
        store.change_group_configs({"g1": {"consumer.heartbeat.interval.ms": "5000"}, "g2": {"x": "y"}}, NOW_MS)
        store.change_group_configs({"g2": {}}, NOW_MS)
        store.change_broker_configs({"": {"log.retention.ms": "5"}, "1": {"x": "y"}, "2": {"x": "z"}}, NOW_MS)
        store.change_broker_configs({"2": {}}, NOW_MS)
        store.change_quotas(
            [QuotaRecord({"client-id": None}, "x", "inf"), QuotaRecord({"user": "u"}, "y", "0.1")], NOW_MS
        )
        credentials = [ScramCredentialRecord(name, 1, 4096, b"salt", b"stored", b"server") for name in ("u", "v")]
        store.change_scram_credentials(credentials, NOW_MS)
        store.change_scram_credentials([RemoveScramCredentialRecord("v", 1)], NOW_MS)
        acls: list[AclBinding] = [
            (2, "t", 3, "User:u", "*", 3, 3),
            (2, "t", 3, "User:v", "*", 3, 3),
            (3, "g", 4, "User:*", "1.2.3.4", 2, 2),
        ]
        store.change_acls([store.created_acl(acl) for acl in acls], NOW_MS)
        store.change_acls([store.deleted_acl(acls[1])], NOW_MS)
        store.change_features({"transaction.version": 1}, NOW_MS)
        store.change_features({"transaction.version": 0}, NOW_MS)
        directories: list[MetadataRecord] = [
            LogDirectoriesRecord({"A": "/data", "B": "/more"}),
            PartitionDirectoriesRecord("t2", ["A", "B", "A"]),
            LeaderEpochRecord(7),
        ]
        store.append_all(directories, NOW_MS)
        store.reserve_producer_ids(1000, NOW_MS, lambda ids: None)

    def compaction(self, bytes_max: int, threads: "InLine | Thread") -> MetadataCompaction:
        return MetadataCompaction(
            self.store, self.directory.files, bytes_max, AtOnce(), cast(InLine, threads), lambda: NOW_MS
        )

    def compact(self, bytes_max: int = 1) -> bool:
        """As a start does; whether it did anything."""
        before = self.store.log.size_bytes
        self.compaction(bytes_max, InLine()).check()
        return self.store.log.size_bytes < before


class Thread:
    """A thread that does its work, and tells of it, when the test says so."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []
        self.done: Done = lambda problem: None

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        self.work, self.done = [*self.work, *work], done

    def go(self) -> None:
        work, self.work = self.work, []
        InLine().run(work, self.done)


def facts(image: MetadataImage) -> dict[str, object]:
    """All that it knows, as values that do not change with it; not how often it changed."""
    known = deepcopy(vars(image))
    del known["topics_version"], known["created_version"], known["acls_version"], known["version"]
    return known


def test_the_filled_log_has_records_of_all_kinds() -> None:
    """Else the tests below say nothing about the kind that is missing."""
    server = Server(CrashingFiles())
    server.fill()
    values = [record.value for _, batch in server.store.log.batches(0, 1 << 20) for record in parse_records(batch)]
    assert {type(decode_record(value or b"")) for value in values} == set(get_args(MetadataRecord))


def test_a_snapshot_says_what_the_log_said() -> None:
    fs = CrashingFiles()
    server = Server(fs)
    server.fill()
    before, size_bytes = facts(server.store.image), server.store._log.size_bytes
    end_offset = server.store.end_offset
    assert server.compact()
    assert server.store._log.size_bytes < size_bytes / 4
    server.store.create_topic("later", 1, {}, NOW_MS)
    again = Server(fs.after_kill())
    again.store.remove_topics(["later"], NOW_MS)
    assert facts(again.store.image) == before
    assert [segment.base_offset for segment in again.store.log.segments] == [0, end_offset]
    assert again.store.log.log_end_offset == end_offset + 2


def test_a_log_that_is_not_large_enough_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    fs = CrashingFiles()
    server = Server(fs)
    server.fill()
    before = server.store.log.size_bytes, server.store.end_offset
    assert not server.compact(server.store._log.size_bytes)
    monkeypatch.setattr(compaction_module, "SNAPSHOT_FRACTION", 100)
    assert not server.compact()
    assert (server.store.log.size_bytes, server.store.end_offset) == before
    assert facts(Server(fs.after_kill()).store.image) == facts(server.store.image)


def test_an_image_that_a_snapshot_repeats_stays_as_it_is() -> None:
    server = Server(CrashingFiles())
    server.fill()
    before = facts(server.store.image)
    records = list(server.store.image.snapshot())
    for record in records:
        server.store.image.apply(record)
    assert facts(server.store.image) == before


def test_a_snapshot_may_have_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, "BATCH_BYTES", 200)
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


Change = Callable[[MetadataStore], object]
CHANGES: Final[tuple[Change, ...]] = (
    lambda store: store.create_topic("new", 2, {}, NOW_MS),
    lambda store: store.remove_topics(["t3"], NOW_MS),
    lambda store: store.add_partitions("t0", 9, NOW_MS),
    lambda store: store.change_topic_configs({"t2": {}}, NOW_MS),
    lambda store: store.change_quotas([QuotaRecord({"user": "u"}, "y", None)], NOW_MS),
    lambda store: store.create_topic("t3", 2, {}, NOW_MS),
    lambda store: store.remove_topics(["new"], NOW_MS),
    lambda store: store._append([ProducerIdsRecord(5000)], NOW_MS),
)


@pytest.mark.parametrize("keep", range(3))
@pytest.mark.parametrize("written_after", [0, 4, len(CHANGES)])
def test_changes_while_a_snapshot_is_written_survive_a_crash(written_after: int, keep: int) -> None:
    """It is written in a thread, beside them. Wherever the process dies: what was acknowledged is there."""
    server = Server(CrashingFiles())
    server.fill()
    states = [facts(server.store.image)]
    for change in CHANGES:
        change(server.store)
        states.append(facts(server.store.image))
    number = 0
    while True:
        fs, thread = CrashingFiles(), Thread()
        server = Server(fs)
        server.fill()
        fs.dies_at = fs.operations + number
        done = 0
        try:
            server.compaction(1, thread).check()
            for position, change in enumerate(CHANGES):
                if position == written_after:
                    thread.go()
                change(server.store)
                done += 1
            if written_after == len(CHANGES):
                thread.go()
            break
        except ProcessKilled:
            number += 1
        known, after = states[done], states[min(done + 1, len(CHANGES))]
        state = min(keep, fs.states_after_power_loss() - 1)
        for disk in (fs.after_kill(), fs.after_power_loss(state)):
            found = facts(Server(disk).store.image)
            assert found in (known, after)
    assert number > 20
    again = Server(fs.after_kill())
    assert facts(again.store.image) == states[-1]
    assert again.store.log.segments[0].size_bytes < 2200, "the snapshot"


def test_the_log_is_bounded_while_topics_come_and_go() -> None:
    fs = CrashingFiles()
    server = Server(fs)
    server.fill()
    server.store.add_commit_listener(server.compaction(20_000, InLine()).check)
    for number in range(1000):
        server.store.create_topic(f"topic-{number}", 1, {}, NOW_MS)
        server.store.remove_topics([f"topic-{number}"], NOW_MS)
        assert server.store.log.size_bytes <= 20_500
    assert server.store.end_offset > 2000
    expected = facts(server.store.image)
    assert facts(Server(fs.after_kill()).store.image) == expected


def test_a_large_image_is_not_written_again_with_each_change() -> None:
    server = Server(CrashingFiles())
    for number in range(200):
        server.store.create_topic(f"topic-{number}", 1, {}, NOW_MS)
    written: list[int] = []
    thread = Thread()
    compaction = server.compaction(100, thread)
    for number in range(200):
        server.store.add_partitions("topic-0", number + 2, NOW_MS)
        compaction.check()
        written += [number] * len(thread.work)
        thread.go()
    assert 1 <= len(written) <= 4


def test_a_disk_that_is_full_is_told_once_and_the_log_grows() -> None:
    server = Server(CrashingFiles())
    server.fill()
    thread = Thread()
    compaction = server.compaction(3000, thread)

    def full() -> None:
        raise OSError(28, "No space left on device")

    with capture_logs() as lines:
        for number in range(10):
            compaction.check()
            thread.work = [full] if thread.work else []
            if thread.work:
                thread.go()
            server.store.create_topic(f"n{number}", 1, {}, NOW_MS)
    assert [line["event"] for line in lines] == ["cannot write a snapshot of the metadata log; it grows"]
    assert not [name for name in server.directory.files.names(server.store.log.folder) if name.endswith(".cleaned")]
    assert server.compact()
