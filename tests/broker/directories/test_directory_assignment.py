"""Which log directory a partition is in, over starts with other directories."""

import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from coordinator.broker.directories.directory_assignment import DirectoryAssignment, place
from coordinator.broker.directories.disk_errors import DiskErrors
from coordinator.broker.directories.strays import set_aside_if_stray
from coordinator.broker.partitions import Partitions
from coordinator.broker.topics import Plan, Topics
from coordinator.config.settings import Config
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.log_homes import AssignedDirectories
from coordinator.log.errors import DataDirectoryError
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import NO_LEADER, SingleNode
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Slices
from tests.captured_logs import capture_logs
from tests.log.batches import batch

A: Final = Path("/a")
B: Final = Path("/b")
C: Final = Path("/c")
NOW_MS: Final = 1_700_000_000_000


class FailingPaths(MemoryFileSystem):
    """`failing` are paths whose disk has failed."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: set[Path] = set()

    def make_directory(self, path: Path) -> None:
        if path in self.failing:
            raise OSError(5, "Input/output error")
        super().make_directory(path)


class Broker:
    """What a node does with its directories when it starts."""

    def __init__(
        self,
        fs: MemoryFileSystem,
        *paths: Path,
        boot_id: str | None = None,
        on_open: Callable[[PartitionLog], None] = lambda log: None,
    ) -> None:
        self.directories = LogDirectories.open(paths, fs=fs, boot_id=boot_id)
        log = self.directories.open_metadata_log(LogConfig())
        self.store = MetadataStore(log, lambda: uuid.uuid4().bytes, place=partial(place, self.directories))
        self.image = self.store.image
        try:
            image = self.image
            assigned = AssignedDirectories(image.directory_id, lambda each: each in image.log_directories)
            self.directories.find_homes(partial(set_aside_if_stray, image), assigned)
            self.assignment = DirectoryAssignment(self.store, self.directories)
            self.assignment.reconcile(NOW_MS)
        except DataDirectoryError:
            self.directories.close_unused()
            raise
        leadership = self.assignment.leadership(SingleNode(1))
        self.leader_of = leadership.leader_of
        slices = Slices(lambda callback: callback())
        self.disk_errors = DiskErrors()
        self.partitions = Partitions(
            self.directories,
            self.image,
            Config(),
            leadership,
            slices,
            disk_errors=self.disk_errors,
            on_open=on_open,
        )
        self.topics = Topics(self.store, self.partitions, Config())

    def create(self, name: str, partitions: int) -> None:
        self.topics.create(name, partitions, 1, {}, NOW_MS)

    def append(self, topic: str, partition: int) -> None:
        self.partitions.get(topic, partition).append(batch("x"), 0, NOW_MS)

    def assigned(self, topic: str) -> list[Path]:
        roots = {each.directory_id: each.root for each in self.directories.online}
        return [roots[directory] for directory in self.image.topics[topic].directories]

    def close(self) -> None:
        self.directories.close()


def test_nothing_is_stored_of_the_only_directory():
    fs = MemoryFileSystem()
    broker = Broker(fs, A)
    broker.create("topic", 3)
    assert (broker.image.topics["topic"].directories, broker.image.log_directories) == ((), {})
    broker.append("topic", 2)
    broker.close()
    assert b"director" not in bytes(fs.content(A / "__cluster_metadata-0" / f"{0:020}.log"))


def test_a_partition_goes_to_the_directory_with_the_fewest():
    broker = Broker(MemoryFileSystem(), A, B, C)
    broker.create("seven", 7)
    assert Counter(broker.assigned("seven")) == {A: 3, B: 2, C: 2}
    broker.create("one", 1)
    assert broker.assigned("one") == [B]
    broker.topics.delete(["seven"], NOW_MS)
    broker.create("two", 2)
    assert broker.assigned("two") == [A, C]
    broker.topics.add_partitions("two", 4, NOW_MS)
    assert broker.assigned("two") == [A, C, A, B]
    for partition in range(4):
        broker.append("two", partition)
    assert [str(broker.partitions.get("two", n).folder) for n in range(4)] == [
        "/a/two-0",
        "/c/two-1",
        "/a/two-2",
        "/b/two-3",
    ]


def test_many_topics_with_many_partitions_are_created_at_once():
    broker = Broker(MemoryFileSystem(), A, B)
    for number in range(8):
        broker.create(f"before-{number}", 1)
    plan = Plan()
    for number in range(9):
        broker.topics.plan(plan, f"topic-{number}", 10_000, 1)
    broker.topics.create_planned(plan, NOW_MS)
    assert broker.image.partitions_by_directory[broker.directories.online[0].directory_id] == 45_004


def test_the_audit_is_where_the_groups_are():
    broker = Broker(MemoryFileSystem(), A, B)
    broker.create("odd", 1)
    broker.topics.create_internal_topics(NOW_MS)
    assert broker.assigned("__group_audit") == broker.assigned("__consumer_offsets")
    assert set(broker.assigned("__consumer_offsets")) == {A, B}


def test_a_directory_is_added_to_an_existing_server():
    fs = MemoryFileSystem()
    first = Broker(fs, A)
    first.create("old", 3)
    first.append("old", 0)
    first.close()
    broker = Broker(fs, A, B)
    # All but the first were never written, so they may be anywhere.
    assert broker.assigned("old") == [A, B, A]
    assert broker.partitions.get("old", 0).log_end_offset == 1
    broker.create("new", 1)
    assert broker.assigned("new") == [B]
    broker.close()
    again = Broker(fs, A, B)
    assert (again.assigned("old"), again.assigned("new")) == ([A, B, A], [B])


def test_a_directory_that_has_partitions_cannot_be_left_out():
    fs = MemoryFileSystem()
    broker = Broker(fs, A, B)
    broker.create("topic", 9)
    for partition in range(9):
        broker.append("topic", partition)
    path_and_id = f"/b \\(directory.id {broker.directories.online[1].directory_id}\\)"
    broker.close()
    found = r"is missing, and has 4 partitions \(topic-1, topic-3, topic-5, …\); list it in log.dirs, or move the part"
    with pytest.raises(DataDirectoryError, match=f"^log directory {path_and_id} {found}"):
        Broker(fs, A)
    for partition in (1, 3, 5, 7):
        fs.rename(B / f"topic-{partition}", A / f"topic-{partition}")
    moved = Broker(fs, A)
    assert moved.assigned("topic") == [A] * 9
    assert [moved.partitions.get("topic", n).log_end_offset for n in range(9)] == [1] * 9


def test_a_new_directory_in_the_place_of_one_that_has_partitions_is_a_disk_that_is_not_mounted():
    fs = MemoryFileSystem()
    broker = Broker(fs, A, B)
    broker.create("topic", 2)
    broker.close()
    fs.rename(B, Path("/elsewhere"))
    fs.make_directory(B)
    for _ in range(2):
        with pytest.raises(DataDirectoryError, match=r"has a partition \(topic-1\); /b is another directory now: "):
            Broker(fs, A, B)
    fs.remove_tree(B)
    fs.rename(Path("/elsewhere"), B)
    assert Broker(fs, A, B).assigned("topic") == [A, B]


def test_a_directory_without_partitions_can_be_left_out():
    fs = MemoryFileSystem()
    Broker(fs, A, B).close()
    broker = Broker(fs, A)
    assert list(broker.image.log_directories.values()) == ["/a"]


def test_the_path_of_a_directory_may_change():
    fs = MemoryFileSystem()
    broker = Broker(fs, A, B)
    broker.create("topic", 2)
    broker.append("topic", 1)
    broker.close()
    fs.rename(B, C)
    moved = Broker(fs, A, C)
    assert moved.assigned("topic") == [A, C]
    assert moved.partitions.get("topic", 1).log_end_offset == 1


def test_nobody_leads_what_is_in_a_failed_directory_and_it_is_not_created_anew():
    fs = FailingPaths()
    broker = Broker(fs, A, B)
    broker.create("topic", 2)
    broker.append("topic", 1)
    broker.close()
    fs.failing = {B}
    with capture_logs() as lines:
        without = Broker(fs, A, B)
    assert [line.get("partitions") for line in lines] == [None, 1]
    assert [without.leader_of("topic", n) for n in range(2)] == [1, NO_LEADER]
    assert [type(without.partitions.locate("topic", n)).__name__ for n in range(2)] == ["PartitionLog", "ErrorCode"]
    without.create("new", 3)
    assert without.assigned("new") == [A, A, A]
    without.topics.add_partitions("topic", 3, NOW_MS)
    without.append("topic", 2)
    without.close()
    assert "topic-1" not in fs.names(A)
    fs.failing = set()
    again = Broker(fs, A, B)
    assert again.assigned("topic") == [A, B, A]
    assert again.partitions.get("topic", 1).log_end_offset == 1


def test_a_topic_that_was_deleted_while_its_directory_had_failed_is_set_aside():
    fs = FailingPaths()
    broker = Broker(fs, A, B)
    broker.create("topic", 2)
    broker.append("topic", 1)
    broker.close()
    fs.failing = {B}
    without = Broker(fs, A, B)
    without.topics.delete(["topic"], NOW_MS)
    without.create("topic", 2)
    without.append("topic", 1)
    without.close()
    fs.failing = set()
    again = Broker(fs, A, B)
    assert [name for name in fs.names(B) if name.endswith("-stray")] != []
    assert again.partitions.get("topic", 1).folder == A / "topic-1"
    assert again.partitions.get("topic", 1).log_end_offset == 1


def test_a_snapshot_of_the_metadata_keeps_the_directories():
    broker = Broker(MemoryFileSystem(), A, B)
    broker.create("topic", 3)
    broker.topics.add_partitions("topic", 4, NOW_MS)
    copy = MetadataImage()
    for record in broker.image.snapshot():
        copy.apply(record)
    assert (copy.log_directories, copy.topics) == (broker.image.log_directories, broker.image.topics)
    assert +copy.partitions_by_directory == +broker.image.partitions_by_directory
