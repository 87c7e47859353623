"""The order of the test files for the workers of pytest-xdist."""

from pathlib import Path
from types import SimpleNamespace

from tests.slowest_first import ROOT, SLOWEST, slowest_first


def item(file: str, name: str) -> SimpleNamespace:
    return SimpleNamespace(path=ROOT / file, name=name)


def test_the_slowest_files_are_there():
    assert [file for file in SLOWEST if not Path(ROOT, file).is_file()] == []
    assert len(set(SLOWEST)) == len(SLOWEST)


def test_tests_of_slow_files_come_first_and_others_keep_their_order():
    items = [item("tests/a.py", "1"), item(SLOWEST[1], "2"), item("tests/b.py", "3"), item(SLOWEST[0], "4")]
    items.append(item(SLOWEST[1], "5"))
    assert [each.name for each in slowest_first(items)] == ["4", "2", "5", "1", "3"]
