"""Folding events: in any portions, with doubles and gaps, over restarts and incarnations."""

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.audit.schema import AuditEvent
from coordinator.core.causes import Cause
from coordinator.explain.difference import compare
from coordinator.explain.generation import Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.ownership import owner_spans
from tests.examples import examples
from tests.explain.consumers import Consumers
from tests.simulation.simulation import GROUP_ID


def owners_at(history: GroupHistory, time_ms: int) -> dict[str, dict[int, str]]:
    """Topic → partition → member id at a time."""
    found: dict[str, dict[int, str]] = {}
    for (topic, partition), spans in owner_spans(history, history.generations).items():
        for span in spans:
            if span.from_ms <= time_ms and (span.until_ms is None or time_ms < span.until_ms):
                assert partition not in found.get(topic, {}), "two owners"
                found.setdefault(topic, {})[partition] = span.member_id
    return found


@cache
def eventful() -> tuple[AuditEvent, ...]:
    """Members of both kinds that come, go, hang and vanish; a crash; a deleted group; another incarnation."""
    group = Consumers().group_of("a", "b")
    group.join("c", instance_id="c-1")
    group.settle({"a": 20, "b": 700})
    group.ids.pop("c")
    group.join("c")
    group.vanish("b")
    group.settle()
    group.join("d")
    group.sim.restart()
    group.ids.pop("d")
    group.join("a")
    group.settle()
    for name in ("a", "c"):
        group.sim.leave(group.ids.pop(name), instance_id="c-1" if name == "c" else None)
    group.quiet(70_000)
    group.sim.delete_group()
    group = _again(group)
    return tuple(group.sim.audited())


def _again(group: Consumers) -> Consumers:
    group.ids.clear()
    group.join("z")
    group.settle()
    return group


def state_of(history: GroupHistory) -> dict[str, object]:
    return {name: value for name, value in vars(history).items() if name != "doubles"} | {
        "generations": list(history.generations)
    }


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_any_portions_and_doubles_give_the_same(data):
    events = eventful()
    whole = GroupHistory.of(GROUP_ID, events)
    history = GroupHistory(GROUP_ID)
    at = 0
    while at < len(events):
        back = data.draw(st.integers(0, at))
        at = data.draw(st.integers(at + 1, len(events)))
        for event in events[back:at]:
            history.apply(event)
    assert state_of(history) == state_of(whole)


def test_the_order_of_the_records_does_not_matter():
    events = list(eventful())
    whole = state_of(GroupHistory.of(GROUP_ID, events))
    random.Random(1).shuffle(events)
    assert state_of(GroupHistory.of(GROUP_ID, events + events[:10])) == whole


def test_the_outcomes_of_an_eventful_history():
    history = GroupHistory.of(GROUP_ID, eventful())
    assert not history.begins_in_the_middle
    assert not history.gaps
    assert Outcome.CUT_SHORT in {generation.outcome for generation in history.generations}
    assert len({generation.created_seq for generation in history.generations}) == 2
    assert [
        generation.generation_id for generation in history.generations if generation.created_seq == history.created_seq
    ] == [1]
    assert [member.member.client_id for member in history.members.values()] == ["z"]
    assert history.removals[0].cause is Cause.ADMIN


@pytest.mark.parametrize("missing", [slice(5, 6), slice(3, 12)])
def test_missing_events_are_noticed(missing):
    events = list(eventful())
    lost = events[missing]
    del events[missing]
    history = GroupHistory.of(GROUP_ID, events)
    (gap,) = history.gaps
    assert (gap.first_seq, gap.last_seq) == (lost[0].seq, lost[-1].seq)


def test_another_incarnation_begins_without_members_even_if_the_end_of_the_last_one_is_missing():
    events = list(eventful())
    until = next(number for number, event in enumerate(events) if event.generation_id == 2)
    rest = [event for event in events if event.created_seq != events[0].created_seq]
    history = GroupHistory.of(GROUP_ID, events[: until + 5] + rest)
    assert [member.member.client_id for member in history.members.values()] == ["z"]
    assert history.gaps


def test_a_history_without_its_begin_says_so():
    assert GroupHistory.of(GROUP_ID, eventful()[4:]).begins_in_the_middle


@given(st.sets(st.integers(0, 200)))
@settings(max_examples=examples(60), deadline=None)
def test_no_loss_of_events_breaks_it(lost):
    kept = [event for number, event in enumerate(eventful()) if number not in lost]
    history = GroupHistory.of(GROUP_ID, kept)
    for time_ms in {event.time_ms for event in kept}:
        owners_at(history, time_ms)


def test_it_keeps_the_newest_generations_only():
    history = GroupHistory.of(GROUP_ID, eventful(), generations_max=2)
    assert len(history.generations) == 2
    assert history.latest == GroupHistory.of(GROUP_ID, eventful()).latest


def test_who_joined_when_and_who_was_slowest():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.settle({"a": 200, "b": 900})
    latest = group.history().latest
    assert latest is not None and latest.slowest_join is not None
    assert {part.member.client_id: part.join_ms for part in latest.members.values()} == {"a": 200, "b": 1_100, "c": 0}
    member, ms = latest.slowest_join
    assert (member.client_id, ms) == ("b", 1_100)


def test_who_owned_what_at_a_time():
    group = Consumers(partitions=2).group_of("a", "b")
    stable_ms = group.sim.now_ms
    group.quiet(5_000)
    group.leave("b")
    group.quiet(500)
    group.settle()
    history = group.history()
    b = next(m for m in history.generations[1].members if m[0] == "b")
    assert owners_at(history, stable_ms + 1) == {"t": {0: group.ids["a"], 1: b}}
    during = owners_at(history, stable_ms + 5_200)
    assert during == {"t": {0: group.ids["a"]}}, "who has not learned of the rebalance goes on until it rejoins"
    assert owners_at(history, group.sim.now_ms) == {"t": {0: group.ids["a"], 1: group.ids["a"]}}
    assert owners_at(history, 0) == {}


def test_a_group_that_never_rebalanced_has_no_owners():
    assert owner_spans(GroupHistory(GROUP_ID), []) == {}


def test_a_member_that_was_killed_owns_nothing_from_its_last_sign_on():
    group = Consumers(partitions=2).group_of("a", "b")
    group.quiet(3_000)
    heard_ms = group.sim.now_ms
    a, b = group.ids["a"], group.ids["b"]
    group.vanish("b")
    group.settle()
    history = group.history()
    assert owners_at(history, heard_ms - 1) == {"t": {0: a, 1: b}}
    assert owners_at(history, heard_ms + 2_000) == {"t": {0: a}}
    assert owners_at(history, group.sim.now_ms) == {"t": {0: a, 1: a}}


def test_a_replaced_static_member_owns_what_it_owned():
    group = Consumers(partitions=2)
    group.join("s", instance_id="s-1")
    group.settle()
    old, before_ms = group.ids.pop("s"), group.sim.now_ms
    group.quiet(1_000)
    group.join("s")
    group.quiet(1_000)
    group.join("b")
    group.settle()
    history = group.history()
    assert set(owners_at(history, before_ms)["t"].values()) == {old}
    assert set(owners_at(history, before_ms + 1_500)["t"].values()) == {group.ids["s"]}


def test_what_changed_between_two_generations():
    group = Consumers(partitions=4).group_of("a", "b")
    group.leave("b")
    group.join("c")
    group.settle()
    history = group.history()
    first, second = history.generation(2), history.generation(3)
    assert first is not None and second is not None
    difference = compare(first, second)
    assert [each.client_id for each in difference.came] == ["c"]
    assert [each.client_id for each in difference.went] == ["b"]
    assert difference.moved == 2
    assert {change.member.client_id: change.kept for change in difference.changes} == {"a": 2, "b": 0, "c": 0}
