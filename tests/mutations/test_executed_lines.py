"""The tests that are run for a mutant are those that execute what it changes."""

import json
from pathlib import Path

import pytest

from tests import covering
from tests.mutations.executed_lines import RUN, ExecutedLines, changed_lines, statement_lines
from tests.mutations.pytest_runs import RunError, first_failure
from tests.mutations.uses import Uses

SIZES = """from _wire.numbers import one

LIMIT = 3


def grown(size):
    if size > LIMIT:
        return (
            size +
            one()
        )
    return size
"""
SOURCES = {
    "coordinator/sizes.py": SIZES,
    "_wire/numbers.py": "from _wire.scan import one\n",
    "_wire/scan.pyx": "from _wire.digits cimport digit\n",
    "_wire/digits.pyx": "",
    "_wire/other.pyx": "",
}
SCAN = "def one():\n    return 1\n"
"""What the tests import in the place of the extension."""
TESTS = """
from coordinator.sizes import grown

def test_small():
    assert grown(1) == 1

def test_large():
    assert grown(5) == 6

def test_both():
    assert (grown(1), grown(5)) == (1, 6)

def test_without_sizes():
    assert grown
"""


SECONDS = {"test_small": 2.0, "test_large": 1.0, "test_both": 4.0, "test_without_sizes": 0.5}
"""How long they are taken to run."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one module and its tests, and what records them."""
    for file, text in (SOURCES | {"_wire/scan.py": SCAN, "tests/test_sizes.py": TESTS}).items():
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    for used in (Path(__file__).parent, Path(covering.__file__)):
        (tmp_path / "tests" / used.name).symlink_to(used)
    return tmp_path


def recorded(tree: Path) -> ExecutedLines:
    folder = tree / "recording"
    folder.mkdir()
    assert first_failure(tree, ["tests/test_sizes.py"], 60, folder) is None
    run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    assert run["seconds"].keys() == {f"tests/test_sizes.py::{name}" for name in SECONDS}
    run["seconds"] = {f"tests/test_sizes.py::{name}": seconds for name, seconds in SECONDS.items()}
    (folder / RUN).write_text(json.dumps(run), encoding="utf-8")
    executed = ExecutedLines(SOURCES)
    assert executed.add(folder) == sum(SECONDS.values())
    return executed


def test_a_change_is_tested_with_those_that_execute_its_statement_the_fastest_first(tree):
    executed = recorded(tree)

    def tests_of(old: str, new: str) -> list[str]:
        found = executed.tests_of("coordinator/sizes.py", SIZES.replace(old, new))
        return [test.partition("::")[2] for test in found]

    assert tests_of("            one()\n", "            two()\n") == ["test_large", "test_both"]
    assert tests_of("return size\n", "return 0\n") == ["test_small", "test_both"]
    assert tests_of("size > LIMIT", "size < LIMIT") == ["test_large", "test_small", "test_both"]
    assert tests_of("LIMIT = 3", "LIMIT = 4") == ["test_large", "test_small", "test_both"], "it is used there"


def test_a_change_of_an_extension_is_tested_with_those_that_execute_its_uses(tree):
    executed = recorded(tree)
    for file in ("_wire/scan.pyx", "_wire/digits.pyx"):
        assert [test.partition("::")[2] for test in executed.tests_of(file, "")] == ["test_large", "test_both"]
    assert set(Uses("_wire/scan.pyx", SOURCES).lines()) == {("coordinator/sizes.py", 10)}
    assert executed.tests_of("_wire/other.pyx", "") == []


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
    assert statement_lines(SIZES, 10, 10) == range(8, 12)
    assert statement_lines(SIZES, 10, 12) == range(0), "they have no statement of the function in common"
    assert statement_lines(SIZES, 1, 1) == range(0), "it is in no function"
