"""Files of which only some have a descriptor at a time."""

import errno
import os
import resource
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.log.files import DiskFileSystem
from coordinator.log.open_files import DiskFile, OpenFiles
from tests.examples import examples


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def files_of(folder: Path, count: int, limit: int | None) -> tuple[OpenFiles, list[DiskFile]]:
    pool = OpenFiles(limit)
    return pool, [DiskFile(folder / str(number), pool) for number in range(count)]


def test_no_more_files_are_open_than_the_limit(tmp_path):
    before = descriptors()
    pool, files = files_of(tmp_path, 20, 3)
    assert (len(pool), descriptors() - before) == (3, 3)
    for file in files:
        file.close()
    assert (len(pool), descriptors()) == (0, before)


def test_without_a_limit_all_stay_open(tmp_path):
    before = descriptors()
    _, files = files_of(tmp_path, 20, None)
    assert descriptors() - before == 20
    for file in files:
        file.close()


def test_files_that_were_pinned_beyond_the_limit_are_closed_when_they_are_let_go(tmp_path):
    pool, files = files_of(tmp_path, 3, 1)
    for file in files[:2]:
        file.pin()
    files[2].write_at(b"x", 0)
    assert len(pool) == 3
    for file in files[:2]:
        file.unpin()
    assert len(pool) == 1
    for file in files:
        assert file.read_at(0, 1) in (b"", b"x")
        file.close()


STEPS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["write", "read", "truncate", "move", "pin", "unpin", "close"])),
    max_size=60,
)


@settings(max_examples=examples(60))
@given(STEPS, st.integers(1, 4))
def test_closed_files_have_what_was_written_to_them(tmp_path_factory, steps, limit):
    folder = tmp_path_factory.mktemp("files")
    before = descriptors()
    _, files = files_of(folder, 6, limit)
    contents, pins, paths = [b""] * 6, [0] * 6, [folder / str(number) for number in range(6)]
    gone: set[int] = set()
    for number, (at, step) in enumerate(steps):
        if at in gone:
            continue
        file = files[at]
        match step:
            case "write":
                file.write_at(b"%d," % number, len(contents[at]))
                contents[at] += b"%d," % number
            case "truncate":
                file.truncate(len(contents[at]) // 2)
                contents[at] = contents[at][: len(contents[at]) // 2]
            case "move":
                target = paths[at].with_suffix(f".{number}")
                paths[at].rename(target)
                file.moved_to(target)
                paths[at] = target
            case "pin":
                file.pin()
                pins[at] += 1
            case "unpin" if pins[at]:
                file.unpin()
                pins[at] -= 1
            case "close" if not pins[at]:
                file.close()
                gone.add(at)
        if at not in gone:
            assert file.read_at(0, 1000) == contents[at]
            assert file.size() == len(contents[at])
        assert descriptors() - before <= limit + sum(map(bool, pins)) + 1
    for at, path in enumerate(paths):
        assert path.read_bytes() == contents[at]
        if at not in gone:
            files[at].close()
    assert descriptors() == before


def test_a_file_that_was_used_lately_stays_open(tmp_path):
    pool, files = files_of(tmp_path, 3, 3)
    DiskFile(tmp_path / "other", pool)  # all were used: the first one goes, the others are on probation
    assert [file._descriptor >= 0 for file in files] == [False, True, True]
    files[1].size()
    DiskFile(tmp_path / "more", pool)
    assert [file._descriptor >= 0 for file in files] == [False, True, False]


def test_a_pinned_file_stays_open(tmp_path):
    pool, files = files_of(tmp_path, 4, 4)
    for file in files:
        file.pin()
    more = [DiskFile(tmp_path / f"more-{number}", pool) for number in range(5)]
    assert all(file._descriptor >= 0 for file in files)
    assert sum(file._descriptor >= 0 for file in more) <= 2


def test_another_thread_closes_no_file_and_opens_some_of_its_own(tmp_path):
    pool, files = files_of(tmp_path, 2, 2)
    found = []

    def work() -> None:
        mine = DiskFile(tmp_path / "mine", pool)
        mine.write_at(b"x", 0)
        found.append(mine)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [file._descriptor >= 0 for file in files] == [True, True]
    (mine,) = found
    assert len(pool) == 2
    mine.pin()
    mine.unpin()
    assert len(pool) == 2, "from now on it counts, and one is closed for it"
    assert [file._descriptor >= 0 for file in (*files, mine)].count(True) == 2


def test_a_file_that_is_gone_is_an_error_and_is_not_made_again(tmp_path):
    _, files = files_of(tmp_path, 3, 1)
    (tmp_path / "0").unlink()
    with pytest.raises(FileNotFoundError):
        files[0].read_at(0, 1)
    assert not (tmp_path / "0").exists()


def test_when_the_process_has_no_descriptor_left_files_are_closed(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fs = DiskFileSystem(None)
    files = [fs.open(tmp_path / str(number)) for number in range(20)]
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 40, hard))
    try:
        with pytest.raises(OSError) as problem:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        assert problem.value.errno == errno.EMFILE
        one_more = fs.open(tmp_path / "one more")
        one_more.write_at(b"x", 0)
        for file in files:
            assert file.size() == 0
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_flush_gives_no_descriptor_to_a_file_that_has_none(tmp_path):
    """A stop flushes all files, of which only some may have one."""
    pool, files = files_of(tmp_path, 5, 2)
    before = descriptors()
    for file in files:
        file.pin(is_open=False)
    for file in files:
        file.flush()
    assert (len(pool), descriptors()) == (2, before)


def test_a_flush_finds_a_file_that_is_renamed_at_this_moment(tmp_path, monkeypatch):
    """It sees that the file has no descriptor, and opens it by its name; in between the other thread renames it."""
    _, (file, _other) = files_of(tmp_path, 2, 1)
    file.pin(is_open=False)
    assert file._descriptor < 0
    opened = []

    def rename_and_open(path: str, *arguments: int) -> int:
        monkeypatch.undo()
        file.pin()
        (tmp_path / "0").rename(tmp_path / "0.deleted")
        file.moved_to(tmp_path / "0.deleted")
        opened.append(path)
        return os.open(path, *arguments)

    monkeypatch.setattr(os, "open", rename_and_open)
    file.flush()
    assert opened == [str(tmp_path / "0")]
    (tmp_path / "0.deleted").unlink()
    file.release_descriptor()
    with pytest.raises(FileNotFoundError):
        file.flush()
