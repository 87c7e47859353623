"""Work beside the requests of groups: it is done in slices, and its result comes back only if it is needed."""

from collections.abc import Iterable
from typing import Final

import pytest

from coordinator.core.consumer.large_targets import ComputedTarget
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.target import MEMBERS_AT_ONCE, TargetInput, compute_target
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.core.consumer.workers import COMPUTE_TARGET, RESUME_LOADED
from coordinator.core.kinds.operations import OPERATIONS
from coordinator.core.kinds.table import KINDS, new_group
from coordinator.logger import logger
from tests.core.consumer.world import FixedTopics
from tests.groups.working import HOST, Loop, Working

TOPICS: Final = FixedTopics({"t": 4_000})
LARGE: Final = [f"member-{number}" for number in range(20 * MEMBERS_AT_ONCE)]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


@pytest.fixture
def working(loop: Loop) -> Working:
    return Working(loop, TOPICS)


def started(member_ids: Iterable[str], assignor: str = "uniform") -> TargetComputationStarted:
    members = {member_id: MemberMetadata("client", HOST, topics=("t",)) for member_id in member_ids}
    asked = TargetInput(assignor, members, {}, {}, is_homogeneous=True)
    return TargetComputationStarted(group_id="g", at_ms=0, epoch=2, member_id="", asked=asked)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_a_target_is_computed_in_many_turns_of_the_loop(working: Working, loop: Loop, assignor: str) -> None:
    request = started(LARGE, assignor)
    working.start(COMPUTE_TARGET, request)
    assert loop.finish() > 5
    expected = ComputedTarget(request, compute_target(request.asked, TOPICS))
    assert working.submitted == [("install target", "g", expected)]


def test_without_a_loop_it_is_done_at_once() -> None:
    working = Working(topics=TOPICS)
    request = started(LARGE)
    working.start(COMPUTE_TARGET, request)
    assert working.results == {"g": ComputedTarget(request, compute_target(request.asked, TOPICS))}


def test_work_ends_when_its_group_is_gone(working: Working, loop: Loop) -> None:
    working.start(COMPUTE_TARGET, started(LARGE))
    assert loop.callbacks
    del working.groups["g"]
    loop.next_iteration()
    assert not loop.callbacks
    assert not working.submitted


def test_another_group_of_the_name_gets_no_result(working: Working, loop: Loop) -> None:
    working.start(COMPUTE_TARGET, started(LARGE))
    working.groups["g"] = new_group("g", "consumer")
    loop.finish()
    assert not working.submitted


def test_a_result_that_comes_after_the_group_is_gone_is_dropped(working: Working, loop: Loop) -> None:
    """The last step may take long, and may be what others wait for that end the group."""
    working.start(COMPUTE_TARGET, started(LARGE))
    asked = working.last
    assert asked is not None
    del working.groups["g"]
    working.work.bring_back(asked, ComputedTarget(asked.work.request, {}))
    assert not working.submitted


@pytest.mark.parametrize("has_loop", [True, False])
def test_a_step_that_raises_is_logged_and_its_group_told(
    loop: Loop, has_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(logger, "error", lambda event, **fields: logged.append(event))
    working = Working(loop if has_loop else None, TOPICS)
    request = started(["a"], "no such assignor")
    working.start(COMPUTE_TARGET, request)
    assert working.submitted == [("install target", "g", ComputedTarget(request, None))]
    assert logged == ["a target assignment was not computed"]


def test_work_without_steps_is_an_operation_that_follows(working: Working, loop: Loop) -> None:
    working.start(RESUME_LOADED, None)
    assert working.submitted == [("resume loaded group", "g", None)]
    assert not loop.callbacks


def test_every_worker_has_an_operation_of_its_kind_that_undoes_its_mark() -> None:
    for kind in KINDS.values():
        for name, worker in kind.workers.items():
            operation = OPERATIONS[worker.operation]
            assert worker.operation in kind.handlers, name
            assert (worker.steps is None) == (worker.failed is None), name
            assert (operation.failed is not None) == (worker.steps is not None), name
