"""What `coordinator watch` appends, in the tables: the same rows as of any events, null where nothing is known."""

import pytest

from coordinator.audit.schema import RebalanceStarted
from coordinator.audit.schema.observed import ObservedEvent, encode_observed
from coordinator.pipeline.names import GENERATIONS, MEMBERSHIPS, REJECTS, SILVER
from coordinator.pipeline.partition_state import PartitionState
from tests.observe.observing import SOURCES, observed
from tests.observe.recordings import Recording
from tests.observe.test_recorded_causes import CASES, GROUPS
from tests.pipeline.test_fold import fold

AT_ONCE = 7


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_was_seen_of_real_brokers_becomes_rows(recording: Recording, group: str, source: str):
    history = observed(recording, group, source)
    values = [encode_observed(each) for each in history.observed.values()]
    state, rows_of_silver = PartitionState(), []
    generations, memberships = [], []
    for first in range(0, len(values), AT_ONCE):
        rows = fold(values[first : first + AT_ONCE], state, first)
        assert not rows[REJECTS]
        rows_of_silver += rows[SILVER]
        generations += rows[GENERATIONS]
        memberships += rows[MEMBERSHIPS]
    assert [row["seq"] for row in rows_of_silver] == list(history.observed)
    causes = [getattr(each.event, "cause", None) for each in history.observed.values()]
    assert [row["cause"] for row in rows_of_silver] == [None if cause is None else str(cause) for cause in causes]
    ended = [generation for generation in history.generations if not generation.is_open]
    assert [(generation["generation_id"], generation["outcome"]) for generation in generations] == [
        (each.generation_id, each.outcome.value) for each in ended
    ]
    assert [generation["cause"] for generation in generations] == [
        None if each.cause is None else str(each.cause) for each in ended
    ]
    assert [generation["partitions_moved"] for generation in generations] == [each.partitions_moved for each in ended]
    began = {each.event.generation_id: each for each in history.observed.values() if is_begin(each)}
    for row in generations:
        found = [each for each in began.values() if each.event.seq == row["first_seq"]]
        if found:
            assert row["cause_is_inferred"] == found[0].is_inferred
        assert row["sentence"] is None
        assert row["unowned_partition_ms"] is None
    present = {membership["member_id"]: membership.get("left_ms") for membership in memberships}
    assert {each for each, left_ms in present.items() if left_ms is None} == set(history.members)


def is_begin(observed: ObservedEvent) -> bool:
    return isinstance(observed.event, RebalanceStarted)


def test_a_classic_generation_that_records_alone_tell_has_no_begin():
    recording, group = next(values for name, values in GROUPS.items() if name.startswith("kill9/3.9.1-classic"))
    rows = {}
    for source in ("records", "logs"):
        values = [encode_observed(each) for each in observed(recording, group, source).observed.values()]
        rows[source] = fold(values)[GENERATIONS]
    assert rows["records"] and rows["logs"]
    assert all(each["rebalance_started_ms"] is None for each in rows["records"])
    assert all(each["rebalance_started_ms"] is not None for each in rows["logs"])


def test_how_far_a_watcher_has_come_is_none_of_the_groups_and_not_rejected():
    rows = fold([b'{"kind":"coordinator.watched","time_ms":5,"partition":0,"state":"gA=="}'])
    assert not rows[REJECTS]
    assert [each["group_id"] for each in rows[SILVER]] == [None]
