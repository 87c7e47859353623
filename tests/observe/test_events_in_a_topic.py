"""What was seen of groups, as the values of records of a topic: what is written is read again, evidence and all."""

import json

import msgspec
import pytest

from coordinator.audit.schema import GroupCreated, decode_event, decode_observed, encode_event
from coordinator.audit.schema.observed import encode_observed
from coordinator.client.audit_topic import audit_record
from coordinator.explain.story import story_of
from coordinator.explain.words import utc_clock
from coordinator.observe.history import ObservedHistory
from tests.observe.observing import SOURCES, observed
from tests.observe.recordings import Recording
from tests.observe.test_recorded_causes import CASES, GROUPS


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("recording", "group"), CASES)
def test_what_is_written_is_read_again(recording: Recording, group: str, source: str):
    history = observed(recording, group, source)
    values = {seq: encode_observed(each) for seq, each in history.observed.items()}
    assert {seq: decode_observed(value) for seq, value in values.items()} == history.observed
    again = ObservedHistory(group)
    for value in values.values():
        record = audit_record(0, 0, group.encode(), value)
        assert record.observed is not None
        assert record.event == record.observed.event
        again.add(record.observed)
    again.reasons_are_seen = history.reasons_are_seen
    assert _stories(again) == _stories(history)


def _stories(history: ObservedHistory) -> list[object]:
    return [story_of(history, generation, utc_clock) for generation in history.generations]


def test_a_reader_of_a_coordinators_events_takes_no_observed_one_for_such():
    recording, group = next(iter(GROUPS.values()))
    for each in observed(recording, group, "both").observed.values():
        value = encode_observed(each)
        assert json.loads(value)["coordinator_epoch"] is None
        with pytest.raises(msgspec.ValidationError):
            decode_event(value)


def _created(**other: object) -> dict[str, object]:
    event = GroupCreated(
        group_id="g",
        seq=1,
        created_seq=1,
        time_ms=5,
        node_id=1,
        coordinator_epoch=1,
        generation_id_before=0,
        generation_id=0,
        state_before="",
        state="Empty",
        group_type="classic",
    )
    fields: dict[str, object] = json.loads(encode_event(event))
    return fields | other


def test_an_event_of_a_coordinator_has_no_evidence():
    assert audit_record(0, 0, b"g", json.dumps(_created()).encode()).observed is None


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "group.praised"},
        {"places": [{"source": "hearsay", "name": "x", "time_ms": 1}]},
        {"places": 7},
        {"seq": "one"},
        {"is_inferred": None},
    ],
)
def test_what_is_no_observed_event_is_not_taken_for_one(other):
    whole = _created(is_inferred=False, places=[]) | {"coordinator_epoch": None}
    assert decode_observed(json.dumps(whole).encode()) is not None
    assert decode_observed(json.dumps(whole | other).encode()) is None
