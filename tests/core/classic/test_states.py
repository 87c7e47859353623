import pytest

from coordinator.core.classic.states import LEGAL_PREDECESSORS, REBALANCES_FROM, STATES, check_transition, diagram
from coordinator.core.groups.states import GroupState


def test_every_state_is_in_the_table():
    assert set(LEGAL_PREDECESSORS) == set(STATES)


def test_the_table_is_kafkas():
    assert LEGAL_PREDECESSORS[GroupState.EMPTY] == {GroupState.PREPARING_REBALANCE}
    assert LEGAL_PREDECESSORS[GroupState.COMPLETING_REBALANCE] == {GroupState.PREPARING_REBALANCE}
    assert LEGAL_PREDECESSORS[GroupState.STABLE] == {GroupState.COMPLETING_REBALANCE}
    assert {GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY} == REBALANCES_FROM


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("after", STATES)
def test_the_guard_lets_through_what_the_table_holds(before, after):
    if before in LEGAL_PREDECESSORS[after]:
        check_transition("orders", before, after)
    else:
        with pytest.raises(AssertionError, match=f"orders: {before} cannot become {after}"):
            check_transition("orders", before, after)


def test_the_diagram_shows_every_transition():
    lines = diagram().splitlines()
    for after, predecessors in LEGAL_PREDECESSORS.items():
        for before in predecessors:
            assert f"    {before} --> {after}" in lines
