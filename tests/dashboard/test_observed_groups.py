"""The live page of groups that `coordinator watch` has seen."""

import msgspec
import pytest

from coordinator.dashboard import views
from coordinator.dashboard.board import Board
from coordinator.dashboard.names import MemberNames
from coordinator.dashboard.responses import encode
from coordinator.observe.history import ObservedHistory
from tests.observe.observing import SOURCES, observed
from tests.observe.recordings import Recording
from tests.observe.test_recorded_causes import CASES


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_was_seen_has_a_page(recording: Recording, group: str, source: str):
    """With nulls where a coordinator would know, and causes that are left open."""
    history = observed(recording, group, source)
    board = Board()
    board.apply(history.observed.values())
    if not history.observed:
        assert not board.groups
        return
    shown = board.groups[group]
    assert isinstance(shown, ObservedHistory)
    names = MemberNames.of_history(shown)
    pages = [
        views.overview(board),
        views.group(board, shown),
        views.ownership(shown),
        views.member_lanes(shown.generations, names),
        *(views.generation(shown, generation) for generation in shown.generations),
        *(views.member(shown, member) for member in shown.members),
        *(views.row_json(row) for row in board.rows()),
    ]
    for page in pages:
        assert msgspec.json.decode(encode(page)) is not None
