"""What docs/explain.md lists is what the code says."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from coordinator import explain
from coordinator.explain.claims.endings import InProgress, Superseded
from coordinator.explain.claims.findings import Kind
from tests.explain import claim_examples as examples

PAGE: Final = Path(explain.__file__).parents[2] / "docs" / "explain.md"
LEFT_OUT: Final = "…"


def rows(title: str) -> list[list[str]]:
    """The cells of all tables of a section."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [cells for line in lines if (cells := [cell.strip() for cell in line])[0] not in ("finding", "sentence")]


def told() -> Iterator[str]:
    """Examples of all sentences: a claim alone, several together, and as the cause in a headline."""
    for claim in (*examples.STORY, *examples.TRIES, *examples.FOUND, *examples.NOTES):
        yield " ".join(examples.told(claim))
    for claims in examples.SEVERAL:
        yield " ".join(examples.told_together(claims))
    yield from examples.headlines()


def test_each_finding_is_listed():
    assert {name for name, *_ in rows("Findings")} == {kind.value.replace("_", " ") for kind in Kind}


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in rows("Group epochs")])
def test_each_sentence_of_group_epochs_is_said(sentence):
    parts = [re.escape(part.strip()) for part in sentence.split(LEFT_OUT)]
    pattern = re.compile(r".*?".join(parts).replace(r"\ \.", r"\."))
    assert any(pattern.search(each) for each in told())


def test_the_ways_in_which_an_epoch_ends_or_goes_on_are_listed():
    listed = " ".join(sentence for sentence, _ in rows("Group epochs"))
    of_epochs = [each for each in examples.STORY if getattr(each, "is_epoch", False)]
    endings = [of_epoch for of_epoch in of_epochs if isinstance(of_epoch, Superseded | InProgress)]
    assert endings
    for ending in endings:
        for sentence in examples.told(ending):
            assert re.split(r"[\d.]+ m?s", sentence)[-1].strip(" .") in listed
