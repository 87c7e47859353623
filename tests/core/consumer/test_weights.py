"""As how many operations the requests of consumer groups count: a turn of the event loop has a budget of them."""

from typing import Any, Final

import pytest

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.core.consumer import large_targets
from coordinator.core.consumer.heartbeat import NEW_GROUP_OPERATIONS
from coordinator.core.consumer.member_update import NAMES_LOOKED_UP_PER_OPERATION, OPERATIONS_PER_EVENT
from coordinator.core.consumer.named_topics import NAMES_PER_OPERATION
from coordinator.core.kinds import operations
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID, Sent

MANY: Final = [f"n{number}" for number in range(10 * NAMES_PER_OPERATION)]


class WeighingWorld(World):
    """Keeps the weight of each decision about a request."""

    def start(self, *, clean: bool = False) -> None:
        super().start(clean=clean)
        self.weights: list[int] = []
        machine: Any = self.shard.machine
        decide = machine.decide

        def weighing(queued: Any) -> Any:
            decision = decide(queued)
            self.weights.append(decision.weight)
            return decision

        machine.decide = weighing

    restart = start


@pytest.fixture
def world() -> WeighingWorld:
    made = WeighingWorld()
    made.enter("a")
    made.weights.clear()
    return made


def test_a_heartbeat_that_changes_nothing_is_one_operation(world: WeighingWorld) -> None:
    world.beat("a", 2)
    assert world.weights == [0]


def test_each_event_counts(world: WeighingWorld) -> None:
    before = len(world.events)
    world.enter("b")
    assert world.weights == [(len(world.events) - before) * OPERATIONS_PER_EVENT]


def test_a_new_group_counts_beside_its_member() -> None:
    world = WeighingWorld()
    world.enter("a")
    events_of_member = len(world.events) - 1
    assert world.weights == [NEW_GROUP_OPERATIONS + events_of_member * OPERATIONS_PER_EVENT]


def test_the_names_of_a_subscription_count_more_when_they_are_new(world: WeighingWorld) -> None:
    before = len(world.events)
    world.enter("b", *MANY)
    assert world.weights == [(len(world.events) - before) * OPERATIONS_PER_EVENT + len(MANY) // NAMES_PER_OPERATION]
    world.beat("b", 3)
    assert world.weights[1:] == [len(MANY) // NAMES_LOOKED_UP_PER_OPERATION]


def test_a_target_that_the_request_computes_counts(world: WeighingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_targets, "PARTITIONS_PER_MEMBER", 1)
    monkeypatch.setattr("coordinator.core.consumer.member_update.MEMBERS_PER_OPERATION", 1)
    before = len(world.events)
    world.enter("b")
    members, partitions = 2, 3
    assert world.weights == [(len(world.events) - before) * OPERATIONS_PER_EVENT + members + partitions]


def test_each_member_that_leaves_counts_and_the_names_that_go_with_the_last_one(world: WeighingWorld) -> None:
    for member_id in ("b", "c", "d"):
        world.enter(member_id, *(MANY if member_id == "d" else ("u",)))
    world.weights.clear()
    for leaving in (("b", "c"), ("d",)):
        identities = [MemberIdentity(member_id=each) for each in leaving * 3]
        request = LeaveGroupRequest(group_id=GROUP_ID, members=identities)
        world.submit(operations.LEAVE_GROUP, GROUP_ID, request, Sent(), "admin", 5)
    assert world.weights == [2, 1 + len(MANY) // NAMES_PER_OPERATION]
