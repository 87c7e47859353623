"""The files in memory keep what a FileSystem promises."""

from pathlib import Path

import pytest

from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import read_file, write_file_atomically
from coordinator.log.memory_files import MemoryFileSystem

ROOT = Path("memory")


def test_a_file_is_written_read_cut_and_renamed():
    fs = MemoryFileSystem()
    fs.make_directory(ROOT / "a")
    file = fs.open(ROOT / "a" / "f")
    file.write_at(b"later", 3)
    assert file.read_at(0, 100) == b"\0\0\0later" and file.size() == 8
    file.truncate(4)
    file.close()
    assert read_file(fs, ROOT / "a" / "f") == b"\0\0\0l"
    write_file_atomically(fs, ROOT / "a" / "f", b"new")
    assert (fs.names(ROOT / "a"), read_file(fs, ROOT / "a" / "f")) == (["f"], b"new")
    fs.rename(ROOT / "a", ROOT / "b")
    assert not fs.exists(ROOT / "a") and fs.names(ROOT) == ["b"] and fs.names(ROOT / "b") == ["f"]
    fs.remove(ROOT / "b" / "f")
    with pytest.raises(FileNotFoundError):
        fs.remove(ROOT / "b" / "f")
    fs.remove_tree(ROOT / "b")
    assert fs.names(ROOT) == []


def test_a_directory_has_one_owner_until_it_is_closed():
    fs = MemoryFileSystem()
    first = LogDirectory.open(ROOT, fs=fs)
    with pytest.raises(DataDirectoryError, match="is in use by another process"):
        LogDirectory.open(ROOT, fs=fs)
    first.close(clean=False)
    second = LogDirectory.open(ROOT, fs=fs)
    assert (second.cluster_id, second.had_clean_shutdown) == (first.cluster_id, False)
    second.close()
    assert LogDirectory.open(ROOT, fs=fs).had_clean_shutdown
