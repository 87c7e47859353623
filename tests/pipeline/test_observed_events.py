"""What `coordinator watch` appends, in the tables: each event is a row of silver. Of it no generations are made."""

import pytest

from coordinator.audit.schema.observed import encode_observed
from coordinator.pipeline.names import GENERATIONS, REJECTS, SILVER
from coordinator.pipeline.partition_state import PartitionState
from tests.observe.observing import SOURCES, observed
from tests.observe.recordings import Recording
from tests.observe.test_recorded_causes import CASES
from tests.pipeline.test_fold import fold

AT_ONCE = 7


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_was_seen_of_real_brokers_becomes_rows(recording: Recording, group: str, source: str):
    history = observed(recording, group, source)
    values = [encode_observed(each) for each in history.observed.values()]
    state, rows_of_silver = PartitionState(), []
    for first in range(0, len(values), AT_ONCE):
        rows = fold(values[first : first + AT_ONCE], state, first)
        assert not rows[REJECTS]
        assert not rows[GENERATIONS]
        rows_of_silver += rows[SILVER]
    assert [each["seq"] for each in rows_of_silver] == list(history.observed)
    causes = [getattr(each.event, "cause", None) for each in history.observed.values()]
    assert [each["cause"] for each in rows_of_silver] == [None if each is None else str(each) for each in causes]


def test_how_far_a_watcher_has_come_is_none_of_the_groups_and_not_rejected():
    rows = fold([b'{"kind":"coordinator.watched","time_ms":5,"partition":0,"state":"gA=="}'])
    assert not rows[REJECTS]
    assert [each["group_id"] for each in rows[SILVER]] == [None]
