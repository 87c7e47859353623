"""One flipped bit anywhere in a data folder: the same is served, or a line names the file and the rest is served."""

import random
from pathlib import Path
from typing import Final

import pytest

from coordinator.log.data_dirs.directory import LogDirectory
from tests.log.recovery.damaged_folders import BOOT, RECORDS, ROOT, TOPICS, Folder, Start, problems, written

CLEAN: Final = written(clean=True)
KILLED: Final = written(clean=False)
BITS_OF_A_TEST: Final = 400


def test_the_folders_are_served_whole():
    for folder in (CLEAN, KILLED):
        start = Start(folder)
        assert not start.refused
        assert [line for line in start.lines if line["log_level"] != "info"] == []
        assert len(start.served) == sum(TOPICS.values())
        lost = {key: sorted(value for value in values if values[value] is None) for key, values in start.served.items()}
        assert lost == {("one", 0): [], ("one", 1): [], ("two", 0): [0, 1, 2, 3]}
        assert start.served["one", 1][RECORDS - 1] == b"one-1 35"
    assert {path.name for path in CLEAN.files} >= {
        "meta.properties",
        "partition.metadata",
        "log-start-offset-checkpoint",
    }
    assert (ROOT / ".kafka_cleanshutdown" in CLEAN.files, ROOT / ".kafka_cleanshutdown" in KILLED.files) == (
        True,
        False,
    )


@pytest.mark.parametrize("folder", [CLEAN, KILLED], ids=["clean stop", "kill"])
def test_a_flipped_bit_costs_no_more_than_its_batch(folder: Folder):
    whole = Start(folder)
    random_bits = random.Random()
    positions = folder.positions()
    for _ in range(BITS_OF_A_TEST):
        path, position = random_bits.choice(positions)
        bit = random_bits.randrange(8)
        found = problems(Start(folder.with_flipped(path, position, bit)), whole, path)
        assert not found, f"{path} byte {position} bit {bit}: {found}"


def test_each_kind_of_file_is_tried():
    """The choice above is by size, so the small files get each of their bits here."""
    whole = Start(CLEAN)
    small = [path for path in CLEAN.files if len(CLEAN.files[path]) < 120 and path.suffix != ".log"]
    assert {path.name for path in small} >= {"partition.metadata", "group-coordinator-epoch"}
    for path in small:
        for position in range(len(CLEAN.files[path])):
            bit = (position * 5) % 8
            found = problems(Start(CLEAN.with_flipped(path, position, bit)), whole, path)
            assert not found, f"{path} byte {position} bit {bit}: {found}"


def test_a_folder_of_another_topic_of_the_same_name_is_set_aside():
    disk = CLEAN.disk()
    directory = LogDirectory.open(ROOT, fs=disk, boot_id=BOOT)
    assert directory.belongs_to("one", 0, Start(CLEAN).topics["one"])
    assert not directory.belongs_to("one", 0, b"\xa7" * 16)
    assert Path("one-0").name in disk.names(ROOT)
