"""A checkpoint file has Kafka's bytes, and what is damaged in it is noticed."""

import pytest
from crc32c import crc32c

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import read_checkpoint, write_checkpoint
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DiskFileSystem
from tests.log.faulty_files import FaultyFileSystem

CONFIG = LogConfig(segment_bytes=1_000)


def test_a_checkpoint_has_kafkas_bytes(tmp_path):
    path = tmp_path / "checkpoint"
    offsets = {("b", 0): 2**63 - 1, ("a", 10): 5, ("a", 2): 0}
    write_checkpoint(DiskFileSystem(), path, offsets)
    kafkas = b"0\n4\na 2 0\na 10 5\nb 0 9223372036854775807\n"
    assert path.read_bytes() == kafkas + b"__checksum 0 %d\n" % crc32c(kafkas)
    assert read_checkpoint(DiskFileSystem(), path) == offsets
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


def test_a_checkpoint_without_a_checksum_is_read(tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(b"0\n1\na 2 7\n")
    assert read_checkpoint(DiskFileSystem(), path) == {("a", 2): 7}


def test_each_flipped_bit_of_a_checkpoint_is_detected(tmp_path):
    """But for those of the word in its last line: then it is a checkpoint without a checksum."""
    path = tmp_path / "checkpoint"
    offsets = {("a", 2): 7, ("topic", 10): 1234}
    write_checkpoint(DiskFileSystem(), path, offsets)
    content = path.read_bytes()
    for position in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                found = read_checkpoint(DiskFileSystem(), path)
            except DataDirectoryError:
                continue
            assert position >= content.index(b"__checksum")
            assert {key: offset for key, offset in found.items() if key in offsets} == offsets


def test_a_checkpoint_that_cannot_be_written_keeps_the_old_one(tmp_path):
    fs, path = FaultyFileSystem(), tmp_path / "checkpoint"
    write_checkpoint(fs, path, {("a", 0): 1})
    with fs.full_after(4), pytest.raises(OSError, match="No space left"):
        write_checkpoint(fs, path, {("a", 0): 2})
    assert read_checkpoint(fs, path) == {("a", 0): 1}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0\n",
        b"1\n0\n",
        b"0\n2\na 0 1\n",
        b"0\n1\na 0\n",
        b"0\n1\na x 1\n",
        b"0\n1\na 0 -1\n",
        b"0\nx\n",
        b"\xff\n0\n",
    ],
)
def test_an_invalid_checkpoint_file_is_rejected(tmp_path, content):
    path = tmp_path / "checkpoint"
    path.write_bytes(content)
    with pytest.raises(DataDirectoryError, match=f"{path} is not a checkpoint"):
        read_checkpoint(DiskFileSystem(), path)
