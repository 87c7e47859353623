"""The targets of large groups, computed in slices beside the requests."""

from collections.abc import Callable, Iterable

import pytest

from coordinator.core.consumer.large_targets import ComputedTarget
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.target import MEMBERS_AT_ONCE, TargetInput, compute_target
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.groups.target_computer import TargetComputer
from coordinator.logger import logger
from coordinator.runtime import slices
from coordinator.runtime.slices import Slices
from tests.core.consumer.world import FixedTopics

HOST = "10.0.0.1"
STEP_SECONDS = 0.0005
TOPICS = FixedTopics({"t": 4_000})


class Loop:
    """Iterations of an event loop, in which each look at the clock takes half a millisecond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.callbacks: list[Callable[[], None]] = []
        self.now = 100.0
        monkeypatch.setattr(slices, "seconds", self._seconds)
        self.slices = Slices(self.callbacks.append)

    def _seconds(self) -> float:
        self.now += STEP_SECONDS
        return self.now

    def turn(self) -> None:
        callbacks, self.callbacks[:] = list(self.callbacks), []
        for callback in callbacks:
            callback()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def started(member_ids: Iterable[str], assignor: str = "uniform") -> TargetComputationStarted:
    members = {member_id: MemberMetadata("client", HOST, topics=("t",)) for member_id in member_ids}
    asked = TargetInput(assignor, members, {}, {}, is_homogeneous=True)
    return TargetComputationStarted(group_id="g", at_ms=0, epoch=2, member_id="", asked=asked)


LARGE = [f"member-{number}" for number in range(20 * MEMBERS_AT_ONCE)]


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_a_target_is_computed_in_many_turns_of_the_loop(loop: Loop, assignor: str) -> None:
    found: list[ComputedTarget] = []
    asked = started(LARGE, assignor)
    TargetComputer(TOPICS, loop.slices.start).compute(asked, HOST, lambda: True, found.append)
    turns = 0
    while not found:
        assert loop.callbacks
        loop.turn()
        turns += 1
    assert turns > 5
    assert found == [ComputedTarget(asked, compute_target(asked.asked, TOPICS))]


def test_nobody_waits_for_the_target_of_a_group_that_is_gone(loop: Loop) -> None:
    found: list[ComputedTarget] = []
    is_there = True
    TargetComputer(TOPICS, loop.slices.start).compute(started(LARGE), HOST, lambda: is_there, found.append)
    assert loop.callbacks
    is_there = False
    loop.turn()
    assert not loop.callbacks
    assert not found


def test_a_failure_is_logged_and_told(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr(logger, "error", lambda event, **fields: logged.append(event))
    found: list[ComputedTarget] = []
    asked = started(["a"], "no such assignor")
    TargetComputer(TOPICS, loop.slices.start).compute(asked, HOST, lambda: True, found.append)
    assert found == [ComputedTarget(asked, None)]
    assert logged == ["a target assignment was not computed"]
