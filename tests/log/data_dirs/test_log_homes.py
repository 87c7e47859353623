"""Which directory has a log at a start, whatever a move has left: each combination of folders."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.log_homes import AssignedDirectories
from coordinator.log.data_dirs.partition_metadata import write_topic_id
from coordinator.log.data_dirs.source_metadata import SOURCE_METADATA, read_source, write_source
from coordinator.log.errors import DataDirectoryError
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.log.names import parse_future_folder_name
from tests.log.batches import batch

M: Final = Path("/m")
A: Final = Path("/a")
B: Final = Path("/b")
TOPIC_ID: Final = bytes(15) + b"\x01"
UNIQUE: Final = "0123456789abcdef0123456789abcdef"
FUTURE: Final = f"t-0.{UNIQUE}-future"


class Disks(MemoryFileSystem):
    """t-0 has three records. The metadata log is in M, and neither A nor B has anything yet."""

    def __init__(self) -> None:
        super().__init__()
        directories = LogDirectories.open([M, A, B], fs=self)
        directories.open_metadata_log(LogConfig())
        self.ids = {each.root: each.directory_id for each in directories.online}
        log = directories.open_log("t", 0, LogConfig(), topic_id=TOPIC_ID)
        for _ in range(3):
            log.append(batch("x"), 0, 0)
        directories.close()

    def put(self, folder: Path, *, source: Path | None = None, topic_id: bytes = TOPIC_ID) -> None:
        """Let a folder have the log."""
        for name in self.names(M / "t-0"):
            self.content(folder / name)[:] = self.content(M / "t-0" / name)
        self.make_directory(folder)
        write_topic_id(self, folder, topic_id)
        if source is not None:
            write_source(self, folder, self.ids[source])

    def end(self) -> None:
        """What is in M was only there to be copied."""
        self.remove_tree(M / "t-0")

    def lose(self, root: Path) -> None:
        self.remove_tree(root)
        self.content(root)

    def start(self, assigned: Path | None = None, known: Collection[Path] = (M, A, B)) -> LogDirectories:
        directories = LogDirectories.open([M, A, B], fs=self)
        ids = {self.ids[each] for each in known}
        directories.find_homes(
            lambda directory, topic, partition: topic == "stray",
            AssignedDirectories(lambda topic, partition: self.ids[assigned] if assigned else "", ids.__contains__),
        )
        return directories

    def left(self, root: Path) -> list[str]:
        return [name for name in self.names(root) if name.startswith("t-0")]


@pytest.fixture
def disks() -> Disks:
    return Disks()


def end_offset(directories: LogDirectories) -> int:
    return directories.open_log("t", 0, LogConfig()).log_end_offset


def test_a_log_counts_before_its_copy(disks):
    disks.put(A / "t-0")
    disks.put(B / FUTURE, source=A)
    disks.end()
    directories = disks.start(assigned=B)
    assert directories.stored_id("t", 0) == disks.ids[A]
    ((key, (target, folder)),) = directories.interrupted_moves.items()
    assert (key, target.root, folder) == (("t", 0), B, B / FUTURE)


@pytest.mark.parametrize("source", [A, None], ids=["of this server", "of Kafka"])
def test_a_copy_alone_counts_when_the_directory_of_the_log_is_there(disks, source):
    disks.put(B / FUTURE, source=source)
    disks.end()
    directories = disks.start(assigned=A)
    assert (directories.stored_id("t", 0), end_offset(directories)) == (disks.ids[B], 3)
    assert (disks.left(A), disks.left(B), directories.interrupted_moves) == ([], ["t-0"], {})
    assert not disks.exists(B / "t-0" / SOURCE_METADATA)


@pytest.mark.parametrize("source", [A, None], ids=["of this server", "of Kafka"])
def test_a_copy_alone_waits_for_the_directory_of_the_log(disks, source):
    disks.put(B / FUTURE, source=source)
    disks.end()
    disks.lose(A)
    directories = disks.start(assigned=B if source else A)
    assert (directories.stored_id("t", 0), directories.interrupted_moves) == (disks.ids[A], {})
    assert disks.left(B) == [FUTURE]


def test_a_copy_counts_when_the_directory_of_the_log_was_given_up(disks):
    disks.put(B / FUTURE, source=A)
    disks.end()
    disks.lose(A)
    directories = disks.start(assigned=B, known=(M, B))
    assert (directories.stored_id("t", 0), end_offset(directories)) == (disks.ids[B], 3)


@pytest.mark.parametrize(("target", "source"), [(A, B), (B, A)])
def test_of_two_logs_the_one_counts_that_was_moved(disks, target, source):
    disks.put(source / "t-0")
    disks.put(target / "t-0", source=source)
    disks.end()
    directories = disks.start(assigned=source)
    assert directories.stored_id("t", 0) == disks.ids[target]
    assert (disks.left(source), disks.left(target)) == ([], ["t-0"])
    assert read_source(disks, target / "t-0") is None


@pytest.mark.parametrize(("of_a", "of_b"), [(None, None), (B, A), (None, M), (M, None)])
def test_two_logs_of_which_none_or_both_were_moved_end_the_start(disks, of_a, of_b):
    disks.put(A / "t-0", source=of_a)
    disks.put(B / "t-0", source=of_b)
    disks.end()
    with pytest.raises(DataDirectoryError, match="t-0 is in two log directories, /a/t-0 and /b/t-0: "):
        disks.start(assigned=B)
    assert (disks.left(A), disks.left(B)) == (["t-0"], ["t-0"])


def test_a_log_that_was_moved_remembers_it_until_its_former_directory_is_seen(disks):
    disks.put(A / "t-0")
    disks.put(B / "t-0", source=A)
    disks.end()
    kept = [A / name for name in disks.names(A)] + [A / "t-0" / name for name in disks.names(A / "t-0")]
    contents = {path: bytes(disks.content(path)) for path in kept if not disks.is_directory(path)}
    disks.lose(A)
    without_a = disks.start(assigned=B)
    assert without_a.stored_id("t", 0) == disks.ids[B]
    assert read_source(disks, B / "t-0") == disks.ids[A]
    without_a.close()
    disks.remove(A)
    disks.make_directory(A / "t-0")
    for path, content in contents.items():
        disks.content(path)[:] = content
    assert disks.start(assigned=B).stored_id("t", 0) == disks.ids[B]
    assert (disks.left(A), read_source(disks, B / "t-0")) == ([], None)


def test_a_copy_of_another_topic_of_this_name_is_removed(disks):
    disks.put(A / "t-0")
    disks.put(B / FUTURE, source=A, topic_id=bytes(16))
    disks.end()
    directories = disks.start()
    assert (directories.stored_id("t", 0), directories.interrupted_moves) == (disks.ids[A], {})
    assert disks.left(B) == []


def test_a_copy_in_the_directory_of_the_log_and_a_second_one_are_removed(disks):
    disks.put(A / "t-0")
    for folder in (A / FUTURE, B / FUTURE, B / FUTURE.replace("0123", "4567")):
        disks.put(folder, source=A)
    disks.end()
    directories = disks.start()
    assert list(directories.interrupted_moves) == [("t", 0)]
    assert (disks.left(A), disks.left(B)) == (["t-0"], [FUTURE])


def test_a_copy_alone_of_no_topic_is_set_aside(disks):
    disks.put(B / f"stray-0.{UNIQUE}-future", source=A)
    disks.end()
    directories = disks.start()
    assert directories.stored_id("stray", 0) is None
    assert "stray-0" in disks.names(B), "it has the name of a log when it is asked for"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (FUTURE, ("t", 0)),
        (f"a.b-c-12.{UNIQUE}-future", ("a.b-c", 12)),
        (f"t-00.{UNIQUE}-future", None),
        (f"t-0.{UNIQUE[1:]}-future", None),
        (f"t-0.{UNIQUE.upper()}-future", None),
        (f"t-0.{UNIQUE}-delete", None),
        (f"t.{UNIQUE}-future", None),
        ("t-0", None),
        ("t-0-future", None),
    ],
)
def test_names_of_copies_are_those_of_kafka(name, key):
    assert parse_future_folder_name(name) == key


@pytest.mark.parametrize("content", [b"", b"version: 1\ndirectory.id: x\n", b"version: 0\ndirectory.id: \n", b"\xff\0"])
def test_a_damaged_source_is_none(disks, content):
    disks.put(A / "t-0")
    disks.content(A / "t-0" / SOURCE_METADATA)[:] = content
    disks.end()
    assert read_source(disks, A / "t-0") is None
    assert disks.start().stored_id("t", 0) == disks.ids[A]
    assert not disks.exists(A / "t-0" / SOURCE_METADATA)
