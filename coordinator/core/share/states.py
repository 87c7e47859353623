"""The states of a share group: whether it has members."""

from typing import Final

from coordinator.core.groups.states import DEAD, EMPTY, STABLE, GroupState

STATES: Final = (EMPTY, STABLE, DEAD)
LIVE_STATES: Final = frozenset({EMPTY, STABLE})
"""Both are described by the records."""

LEGAL_PREDECESSORS: Final[dict[GroupState, frozenset[GroupState]]] = {
    EMPTY: frozenset({STABLE}),
    STABLE: frozenset({EMPTY}),
    DEAD: frozenset({EMPTY}),
}
