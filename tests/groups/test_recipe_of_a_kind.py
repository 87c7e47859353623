"""A new kind of group needs its own modules, and a line in each table of kinds: nothing else names it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import coordinator
from tests.groups.epochs.recipe import RECIPE

ROOT: Final = Path(coordinator.__file__).parents[1]
PAGE: Final = ROOT / "docs" / "architecture.md"
FILES_MAX: Final = 3


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """What came of a group of the kind, in a process that has the kind by its recipe alone."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.groups.epochs.play"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def test_the_recipe_names_no_more_files_than_the_page_allows() -> None:
    assert len(RECIPE) <= FILES_MAX
    (row,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| a kind of group |")]
    for module in RECIPE:
        assert module.removeprefix("coordinator.").replace(".", "/") + ".py" in row, module


def test_a_coordinator_with_these_lines_coordinates_groups_of_the_kind(played: dict[str, Any]) -> None:
    assert played["kinds"] == ["classic", "consumer", "epochs", "share", "streams"]
    assert played["committed"] == "NONE"
    assert played["listed"] == [["orders", "epochs", "Stable"]]


def test_work_beside_its_requests_is_done_by_its_row(played: dict[str, Any]) -> None:
    assert played["counted"] == 2


def test_its_groups_are_loaded_with_their_sessions(played: dict[str, Any]) -> None:
    assert played["members"] == played["sessions"] == ["a", "b"]


def test_its_groups_are_audited_explained_shown_and_counted(played: dict[str, Any]) -> None:
    assert played["audit"] == ["group.created", "member.joined", "member.joined"]
    assert (played["group_type"], played["generation"]) == ("epochs", "epoch 2")
    assert played["in_words"].startswith("it is Stable in generation 2 with 2 partitions assigned to 2 members")
    assert played["metric"].endswith("_epochs_group_count")
