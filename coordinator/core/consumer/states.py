"""The states of a consumer group. They follow from members and epochs, so that any but Dead can follow any other."""

from typing import Final

from coordinator.core.groups.states import ASSIGNING, DEAD, EMPTY, RECONCILING, STABLE, GroupState

STATES: Final = (EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD)
LIVE_STATES: Final = frozenset({EMPTY, ASSIGNING, RECONCILING, STABLE})
"""All of them are described by the records."""

LEGAL_PREDECESSORS: Final[dict[GroupState, frozenset[GroupState]]] = {
    **{state: LIVE_STATES - {state} for state in LIVE_STATES},
    DEAD: frozenset({EMPTY}),
}
