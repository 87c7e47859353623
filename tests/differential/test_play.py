"""The comparison itself: what counts as a difference, and what does not."""

import asyncio
from typing import Any

import pytest

from tests.differential.play import Player, Retelling
from tests.differential.sides import RecordedSide
from tests.differential.steps import History, Outcome, Send, Step, history_from_record, history_from_text

GROUP = {"group_id": "g", "group_state": "Stable", "members": [{"member_id": "a-1"}, {"member_id": "b-1"}]}


def history(*outcomes: dict[str, Any], groups: list[Any] | None = None) -> History:
    """One JoinGroup a step, with these answers after each."""
    steps = [Send(f"s{n}", "a", "JoinGroup", 5, {"group_id": "g"}) for n in range(1, len(outcomes) + 1)]
    return History("default", 1, list(steps), [Outcome(answers, groups or [GROUP]) for answers in outcomes])


def compare(kafka: History, ours: History) -> History:
    async def play() -> History:
        sides = (RecordedSide(kafka), RecordedSide(ours))
        # What a recorded side answers, it answers at once: no need to wait for it.
        return await Player(sides, asyncio.Semaphore(1), patience_seconds=0).play(Retelling(kafka))

    return asyncio.run(play())


def test_the_same_answers_are_no_difference() -> None:
    one = history({}, {"s1": {"error_code": 0}, "s2": {"error_code": 0}})
    assert compare(one, one).difference == ""


def test_another_value_is_named_with_its_place() -> None:
    kafka, ours = history({"s1": {"error_code": 0}}), history({"s1": {"error_code": 25}})
    assert compare(kafka, ours).difference == "s1.error_code: 0 ≠ 25"


def test_who_is_answered_must_be_the_same_at_each_step() -> None:
    kafka, ours = history({}, {"s1": {}, "s2": {}}), history({"s1": {}}, {"s2": {}})
    assert compare(kafka, ours).difference == "answered by us alone: s1 {}"
    assert compare(ours, kafka).difference == "answered by Kafka alone: s1 {}"


def test_the_groups_must_be_the_same_at_each_step() -> None:
    ours = history({}, groups=[GROUP | {"group_state": "Empty"}])
    assert compare(history({}), ours).difference == 'groups: [0].group_state: "Stable" ≠ "Empty"'


@pytest.mark.parametrize(
    ("former", "kafkas", "members", "is_free"),
    [
        ("c-1", "a-1", [], True),
        ("c-1", "d-1", [{"member_id": "d-1"}], True),
        ("a-1", "a-1", [], False),
        ("c-1", "d-1", [], False),
    ],
)
def test_which_member_follows_a_leader_that_is_gone_is_free(
    former: str, kafkas: str, members: list[Any], is_free: bool
) -> None:
    first = {"s1": {"leader": former, "members": []}}
    kafka, ours = (history(first, {"s2": {"leader": leader, "members": members}}) for leader in (kafkas, "b-1"))
    compared = compare(kafka, ours)
    assert bool(compared.difference) is not is_free
    assert bool(compared.ended) is is_free


def test_that_we_answer_the_sync_of_a_removed_member_is_meant() -> None:
    steps: list[Step] = [Send("s1", "a", "SyncGroup", 3, {"group_id": "g"})]
    kafka = History("default", 1, steps, [Outcome({}, [GROUP])])
    removed = History("default", 1, steps, [Outcome({"s1": {"error_code": 25}}, [GROUP])])
    assert "decision 006" in compare(kafka, removed).ended
    too_early = History("default", 1, steps, [Outcome({"s1": {"error_code": 0}}, [GROUP])])
    assert compare(kafka, too_early).difference


def test_a_history_is_the_same_when_it_was_written_and_read() -> None:
    one = history({"s1": {"error_code": 0}})
    assert history_from_text(one.text()).steps == one.steps
    assert history_from_record(one.recorded()) == one
