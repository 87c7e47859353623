"""The tests that are run for a mutant are those that execute what it changes."""

from pathlib import Path

import pytest

from tests.mutations.executed_lines import ExecutedLines, changed_lines, statement_lines
from tests.mutations.pytest_runs import RunError, first_failure

SIZES = """LIMIT = 3


def grown(size):
    if size > LIMIT:
        return (
            size +
            1
        )
    return size
"""
TESTS = """
import time
from coordinator.sizes import grown

def test_small():
    time.sleep(0.05)
    assert grown(1) == 1

def test_large():
    assert grown(5) == 6

def test_both():
    time.sleep(0.1)
    assert (grown(1), grown(5)) == (1, 6)

def test_without_sizes():
    assert grown
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one module and its tests, and what records them."""
    for folder in ("coordinator", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "coordinator/sizes.py").write_text(SIZES, encoding="utf-8")
    (tmp_path / "tests/test_sizes.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "tests/mutations").symlink_to(Path(__file__).parent)
    return tmp_path


def recorded(tree: Path) -> ExecutedLines:
    folder = tree / "recording"
    folder.mkdir()
    assert first_failure(tree, ["tests/test_sizes.py"], 60, folder) is None
    executed = ExecutedLines()
    executed.add(folder, tree)
    return executed


def test_a_change_is_tested_with_those_that_execute_its_statement_the_fastest_first(tree):
    executed = recorded(tree)

    def tests_of(old: str, new: str) -> list[str]:
        found = executed.tests_of("coordinator/sizes.py", SIZES, SIZES.replace(old, new))
        return [test.partition("::")[2] for test in found]

    assert tests_of("            1\n", "            2\n") == ["test_large", "test_both"]
    assert tests_of("return size\n", "return 0\n") == ["test_small", "test_both"]
    assert tests_of("size > LIMIT", "size < LIMIT") == ["test_large", "test_small", "test_both"]
    assert tests_of("LIMIT = 3", "LIMIT = 4") == [], "it is executed when the module is imported"
    assert executed.tests_of("coordinator/sizes.pyx", SIZES, SIZES.replace("1", "2")) == []


def test_a_test_that_fails_is_named_and_one_that_is_not_there_is_an_error(tree):
    (tree / "tests/test_names.py").write_text(
        "import pytest\n@pytest.mark.parametrize('a', ['one - two'])\ndef test_fails(a):\n    assert not a\n",
        encoding="utf-8",
    )
    assert first_failure(tree, ["tests/test_names.py"], 60) == "tests/test_names.py::test_fails[one - two]"
    with pytest.raises(RunError, match="not found"):
        first_failure(tree, ["tests/test_names.py::test_renamed"], 60)


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc", "a\nx\nc", (2, 2)),
        ("a\nb\nc\nd", "a\nd", (2, 3)),
        ("a\nd", "a\nb\nc\nd", (2, 2)),
        ("a\na\nb", "a\nb", (2, 2)),
    ],
)
def test_the_changed_lines_are_those_that_differ(before, after, lines):
    assert changed_lines(before, after) == lines


def test_a_statement_has_all_its_lines():
    assert statement_lines(SIZES, 8, 8) == range(6, 10)
    assert statement_lines(SIZES, 8, 10) == range(0), "they have no statement of the function in common"
    assert statement_lines(SIZES, 1, 1) == range(0), "it is in no function"
