"""Random histories: the same seed has the same course, and nothing that is told about them is false."""

import pytest

from tests.world.generator import OFFSET_ACTIONS, PATTERN_ACTIONS, TAKEN_OVER, WEIGHTS, history_of
from tests.world.history import as_code
from tests.world.open_faults import RANDOM
from tests.world.playing import play
from tests.world.shrinking import kind_of
from tests.world.telling import told_in

SEEDS = (*range(1, 401), *RANDOM)
PARTS = 8
"""The seeds are played in so many tests, which can run beside each other."""
COURSES = 40


def test_a_seed_has_one_course():
    for seed in SEEDS[:COURSES]:
        assert play(history_of(seed)).events == play(history_of(seed)).events


def test_all_kinds_of_actions_occur():
    kinds = {action.kind for seed in SEEDS for action in history_of(seed).actions}
    assert kinds == {*WEIGHTS, *OFFSET_ACTIONS, *PATTERN_ACTIONS, *TAKEN_OVER.values()}


def test_a_history_can_be_written_as_code():
    import tests.world.history as names

    for seed in SEEDS[:COURSES]:
        history = history_of(seed)
        assert eval(as_code(history), vars(names).copy()) == history


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_false_is_told_but_what_is_known(part):
    unexpected = []
    for seed in SEEDS[part::PARTS]:
        found = {" ".join(kind_of(each)).strip(): each.contradiction.why for each in told_in(history_of(seed)).false}
        if found.keys() != RANDOM.get(seed, frozenset()):
            unexpected.append(f"seed {seed}: {found or 'nothing'}, and known is {set(RANDOM.get(seed, ()))}")
    assert not unexpected, "\n".join(unexpected)
