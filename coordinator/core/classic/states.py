"""The states of a classic group, and the one guard of their transitions."""

from typing import Final

from coordinator.core.groups.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)

STATES: Final = (EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD)

STORED_STATES: Final = frozenset({EMPTY, STABLE})
"""The states that a record describes. A rebalance is kept in memory alone, as on Kafka."""

GENERATION_STATES: Final = frozenset({COMPLETING_REBALANCE, STABLE})
"""The states in which the members of a generation are fixed, so that a rebalance can be started for no change."""


class IllegalTransition(AssertionError):
    """A change of state that the table does not allow."""


LEGAL_PREDECESSORS: Final[dict[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset({GroupState.EMPTY}),
}

REBALANCES_FROM: Final = LEGAL_PREDECESSORS[GroupState.PREPARING_REBALANCE]
"""The states in which a rebalance can be started; in PreparingRebalance one is under way already."""


def check_transition(group_id: str, before: GroupState, after: GroupState) -> None:
    """Check a change of state, also under `python -O`.

    Raises:
        IllegalTransition: a defect of the coordinator, never a client's.
    """
    if before not in LEGAL_PREDECESSORS[after]:
        raise IllegalTransition(f"group {group_id}: {before} cannot become {after}")


def diagram() -> str:
    """The table above as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {GroupState.EMPTY}"]
    for after in STATES:
        lines += [f"    {before} --> {after}" for before in STATES if before in LEGAL_PREDECESSORS[after]]
    return "\n".join([*lines, f"    {GroupState.DEAD} --> [*]"])
