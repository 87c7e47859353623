"""The list of mutants is true: each can still be made."""

from pathlib import Path
from typing import Final

import pytest

from tests.mutations.mutant import Mutant
from tests.mutations.mutants import MUTANTS

ROOT: Final = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_what_a_mutant_replaces_stands_in_its_file_once(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"change the mutant {mutant.name!r} with {mutant.file}"
    if mutant.file.endswith(".py"):
        compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
