"""The list of mutants is true: each can still be made."""

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.mutations.anchors import Sources
from tests.mutations.mutant import Mutant
from tests.mutations.mutants import MUTANTS

ROOT: Final = Path(__file__).parents[2]


@cache
def sources() -> Sources:
    return Sources(ROOT)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_what_a_mutant_replaces_stands_in_its_definition_once(mutant: Mutant) -> None:
    file, text = sources().mutate(mutant)
    assert text != sources().texts[file]
    if file.endswith(".py"):
        compile(text, file, "exec")


def test_mutants_have_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
