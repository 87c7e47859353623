"""The states of a streams group.

Counterpart in Kafka: `StreamsGroup.StreamsGroupState`.
"""

from typing import Final

from coordinator.core.groups.states import ASSIGNING, DEAD, EMPTY, NOT_READY, RECONCILING, STABLE, GroupState

STATES: Final = (EMPTY, NOT_READY, ASSIGNING, RECONCILING, STABLE, DEAD)
LIVE_STATES: Final = frozenset({EMPTY, NOT_READY, ASSIGNING, RECONCILING, STABLE})
"""All of them are described by the records."""

_WITH_MEMBERS: Final = frozenset({NOT_READY, ASSIGNING, RECONCILING, STABLE})

LEGAL_PREDECESSORS: Final[dict[GroupState, frozenset[GroupState]]] = {
    EMPTY: _WITH_MEMBERS,
    NOT_READY: LIVE_STATES - {NOT_READY},
    ASSIGNING: LIVE_STATES - {ASSIGNING},
    RECONCILING: LIVE_STATES - {RECONCILING},
    STABLE: LIVE_STATES - {STABLE},
    DEAD: frozenset({EMPTY}),
}
