"""The folders of logs: whose they are, and which are left over."""

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.partition_metadata import read_topic_id
from coordinator.log.files import DiskFileSystem
from tests.captured_logs import capture_logs

CONFIG = LogConfig(segment_bytes=1_000)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def test_the_rest_of_a_log_whose_deletion_crashed_is_removed(root):
    leftover = root / "topic-0.0123456789abcdef0123456789abcdef-delete"
    leftover.mkdir(parents=True)
    (leftover / "00000000000000000000.log").write_bytes(b"gone")
    LogDirectory.open(root).close()
    assert not leftover.exists()


def test_the_directory_of_a_partition_has_kafkas_file_with_the_id_of_its_topic(root):
    directory = LogDirectory.open(root)
    folder = directory.open_log("topic", 0, CONFIG, topic_id=bytes(range(16))).folder
    assert (folder / "partition.metadata").read_text() == "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert directory.belongs_to("topic", 0, bytes(range(16)))
    assert not directory.belongs_to("topic", 0, bytes(16))
    directory.close()


@pytest.mark.parametrize("content", [None, b"", b"version: 1\n", b"version: 0\ntopic_id: AAEC\n", b"\xff"])
def test_a_missing_or_damaged_topic_id_is_written_again(root, content):
    directory = LogDirectory.open(root)
    path = directory.open_log("topic", 0, CONFIG, topic_id=bytes(16)).folder / "partition.metadata"
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with capture_logs() as lines:
        assert directory.belongs_to("topic", 0, bytes(16))
    assert [line["file"] for line in lines] == ([] if content is None else [str(path)])
    assert path.read_bytes() == whole
    directory.close()


def test_no_flipped_bit_of_a_topic_id_makes_a_log_a_stray(root):
    topic_id = bytes(range(3, 19))
    directory = LogDirectory.open(root)
    path = directory.open_log("topic", 0, CONFIG, topic_id=topic_id).folder / "partition.metadata"
    whole = path.read_bytes()
    for position in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            assert directory.belongs_to("topic", 0, topic_id)
            assert read_topic_id(DiskFileSystem(), path.parent) == topic_id
    directory.close()
