"""What docs/explain.md lists is what the code says."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinator import explain
from coordinator.explain.claims.findings import Kind

PAGE: Final = Path(explain.__file__).parents[2] / "docs" / "explain.md"
LEFT_OUT: Final = "…"


def rows(title: str) -> list[list[str]]:
    """The cells of all tables of a section."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [cells for line in lines if (cells := [cell.strip() for cell in line])[0] not in ("finding", "sentence")]


def texts() -> Iterator[str]:
    """The literal texts of the package; of an f-string, those between its values."""
    for path in Path(explain.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_each_finding_is_listed():
    assert {name for name, *_ in rows("Findings")} == {kind.value.replace("_", " ") for kind in Kind}


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in rows("Group epochs")])
def test_each_sentence_of_group_epochs_is_said(sentence):
    said = list(texts())
    parts = [part.strip(" .,") for part in sentence.split(LEFT_OUT)]
    missing = [part for part in parts if not any(part in each for each in said)]
    assert not missing


def test_the_ways_in_which_an_epoch_ends_or_goes_on_are_listed():
    listed = " ".join(sentence for sentence, _ in rows("Group epochs"))
    tree = ast.parse((Path(explain.__file__).parent / "epoch_story.py").read_text(encoding="utf-8"))
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]
    constants = [each for value in returned for each in ast.walk(value) if isinstance(each, ast.Constant)]
    sentences = [each.value for each in constants if isinstance(each.value, str) and each.value.endswith(".")]
    assert sentences
    assert [each for each in sentences if each.strip(" .") not in listed] == []
