"""How many rebalances began, by the states that a group had."""

import pytest

from tests.world.checkers.findings import rebalances_between
from tests.world.truth import StateChange, Truth

CLASSIC, CONSUMER = False, True


def begun(*states: tuple[str, int, int, bool]) -> int:
    """Of states at 10, 20, 30 … ms: how many rebalances began from 20 ms on."""
    truth = Truth()
    truth.states = [
        StateChange(10 * place, state, generation_id, members, "range", is_consumer_group=is_consumer_group)
        for place, (state, generation_id, members, is_consumer_group) in enumerate(states, 1)
    ]
    return rebalances_between(truth, 20, 1_000)


@pytest.mark.parametrize(
    ("states", "count"),
    [
        ([("PreparingRebalance", 4, 2, CLASSIC), ("CompletingRebalance", 5, 2, CLASSIC), ("Stable", 5, 2, CLASSIC)], 1),
        ([("CompletingRebalance", 5, 1, CLASSIC), ("Stable", 5, 1, CLASSIC)], 1),
        ([("PreparingRebalance", 4, 2, CLASSIC), ("Stable", 4, 2, CONSUMER)], 1),
        ([("PreparingRebalance", 4, 2, CLASSIC), ("Assigning", 5, 2, CONSUMER)], 2),
        ([("CompletingRebalance", 5, 2, CLASSIC), ("PreparingRebalance", 5, 2, CLASSIC)], 2),
        ([("PreparingRebalance", 4, 2, CLASSIC), ("PreparingRebalance", 5, 2, CLASSIC)], 2),
        ([("Assigning", 5, 2, CONSUMER), ("Assigning", 6, 2, CONSUMER), ("Stable", 6, 2, CONSUMER)], 2),
        ([("Empty", 4, 0, CLASSIC)], 1),
        ([("PreparingRebalance", 4, 1, CLASSIC), ("Empty", 5, 0, CLASSIC)], 1),
        ([("Empty", 5, 0, CONSUMER), ("CompletingRebalance", 1, 1, CLASSIC)], 2),
        ([("Stable", 3, 2, CLASSIC)], 0),
    ],
    ids=[
        "a join phase and its generation",
        "one that was over at once",
        "one that is dropped",
        "one that is dropped, and an epoch",
        "one that is superseded by a join phase",
        "a join phase after another one",
        "epochs",
        "the last member leaves",
        "the last member leaves a join phase",
        "an empty group is made anew with another type",
        "a load takes a generation back",
    ],
)
def test_how_many_rebalances_began(states, count):
    assert begun(("Stable", 4, 2, CLASSIC), *states) == count
