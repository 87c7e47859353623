"""The player of histories of share groups: two groups of one server agree, and what is made to differ is found."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.differential.share_groups.__main__ import SETTINGS, is_possible
from tests.differential.share_groups.generate import Generator
from tests.differential.share_groups.known import (
    OF_DELETED_TOPICS,
    RELEASED_AT_ONCE,
    STILL_LOADING,
    UNKNOWN_TOPIC,
    defect_of,
)
from tests.differential.share_groups.play import Retelling, SharePlayer
from tests.differential.share_groups.side import ShareSide
from tests.differential.share_groups.steps import Step, steps_from_text
from tests.differential.transactions.pair import wait_for_coordinators
from tests.servers import RunningServer

SEED = 1


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with RunningServer(tmp_path_factory.mktemp("share"), SETTINGS) as server:
        wait_for_coordinators(server.bootstrap)
        yield server.bootstrap


class Forgetful(ShareSide):
    """A server that answers the second acknowledgement as if it were not a member's."""

    acknowledgements = 0

    def acknowledge(self, *arguments: Any, **named: Any) -> Any:
        self.acknowledgements += 1
        told = super().acknowledge(*arguments, **named)
        return told | {"error": 122} if self.acknowledgements == 2 else told


def test_a_server_agrees_with_itself_and_the_history_can_be_told_again(bootstrap: str) -> None:
    played = SharePlayer((ShareSide(bootstrap, "a-"), ShareSide(bootstrap, "b-"))).play(Generator(SEED), SEED)
    assert (played.difference, played.ended) == ("", "")
    steps = steps_from_text(played.text().splitlines())
    assert steps == played.steps
    assert {"fetch", "acknowledge", "produce", "heartbeat"} <= {step.kind for step in steps}
    again = SharePlayer((ShareSide(bootstrap, "c-"), ShareSide(bootstrap, "d-"))).play(Retelling(steps), SEED)
    assert (again.difference, again.answers) == ("", played.answers)


def test_an_answer_that_differs_is_found(bootstrap: str) -> None:
    played = SharePlayer((ShareSide(bootstrap, "e-"), Forgetful(bootstrap, "f-"))).play(Generator(SEED), SEED)
    assert "≠ 122" in played.difference
    assert played.steps[-1].kind == "acknowledge"


def test_a_fetch_of_a_deleted_topic_may_differ_and_another_one_may_not() -> None:
    fetch = Step("fetch", {"member": "m1", "epoch": 0, "adds": {"v:0": []}})
    made, deleted = (Step("change_topic", {"topic": "v", "partitions": count}) for count in (1, 0))
    assert defect_of(fetch, {"error": -1}, [made, fetch], ["answer"]) == ""
    assert defect_of(fetch, {"error": -1}, [made, deleted, fetch], ["answer"]) == UNKNOWN_TOPIC
    assert defect_of(fetch, {"error": 0}, [made, deleted, fetch], ["answer"]) == ""


def test_what_a_fetch_releases_itself_may_be_fetched_by_it_and_nothing_else_may() -> None:
    told = {"error": 0, "places": {"u:0": {"acquired": [[3, 4, 2]]}}}
    found = ["answer.places.u:0.acquired: [[3, 4, 2]] ≠ []", "answer.places.u:0.batches: [[3, 7]] ≠ []"]
    released = Step("fetch", {"member": "m3", "epoch": 2, "adds": {"u:0": [[0, 4, [1, 1, 1, 2, 2]]]}})
    accepted = Step("fetch", {"member": "m3", "epoch": 2, "adds": {"u:0": [[0, 4, [1]]]}})
    assert defect_of(released, told, [released], found) == RELEASED_AT_ONCE
    assert defect_of(accepted, told, [accepted], found) == ""
    assert defect_of(released, told, [released], [*found, "answer.places.t:0.acquired: [] ≠ [[0, 0, 1]]"]) == ""
    assert defect_of(released, told, [released], ["answer.places.u:0.acknowledged: 0 ≠ 121"]) == ""


def test_only_the_first_fetch_of_a_place_may_come_before_it_is_loaded() -> None:
    told = {"error": 0, "places": {}}
    fetch = Step("fetch", {"member": "keeper", "epoch": 2, "adds": {"u:0": []}})
    found = ["answer.places.u:0: None ≠ {'error': 0, 'acquired': []}"]
    assert defect_of(fetch, told, [fetch], found) == STILL_LOADING
    assert defect_of(fetch, told, [fetch, fetch], found) == ""


def test_the_partitions_of_members_may_be_others_in_number_once_a_topic_is_deleted() -> None:
    beat = Step("heartbeat", {"member": "m1", "epoch": 0, "names": ["t", "v"]})
    made, deleted = (Step("change_topic", {"topic": "v", "partitions": count}) for count in (1, 0))
    of_member = "state.group.members.m2: [8, ['t', 'v'], 1] ≠ [8, ['t', 'v'], 2]"
    of_epoch = "state.group.members.m2: [8, ['t', 'v'], 1] ≠ [9, ['t', 'v'], 1]"
    assert defect_of(deleted, {}, [made, beat, deleted], [of_member]) == OF_DELETED_TOPICS
    assert defect_of(beat, {}, [made, beat], [of_member]) == ""
    assert defect_of(deleted, {}, [made, beat, deleted], [of_epoch]) == ""
    assert defect_of(deleted, {}, [made, beat, deleted], [of_member, "state.offsets.t:0: [0] ≠ [1]"]) == ""


def test_a_history_without_some_steps_may_be_impossible() -> None:
    made, grown = (Step("change_topic", {"topic": "v", "partitions": count}) for count in (1, 2))
    end = Step("end_transaction", {"commits": True})
    assert is_possible([made, grown])
    assert not is_possible([grown, made])
    assert not is_possible([made, end])
