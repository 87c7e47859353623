"""Which assignor computes a target when two have as many votes: what Kafka's hash maps give, seen on Kafka 4.3.1."""

import pytest

from coordinator.core.consumer.events import TargetAssignmentComputed
from tests.core.consumer.world import World


def last_assignor(world: World) -> str:
    computed = [event for event in world.events if isinstance(event, TargetAssignmentComputed)]
    return str(computed[-1].assignor)


@pytest.mark.parametrize(("first", "second"), [("uniform", "range"), ("range", "uniform")])
def test_the_assignor_that_a_request_brings_in_wins_a_tie(first: str, second: str) -> None:
    world = World()
    world.enter("a", assignor=first)
    assert last_assignor(world) == first
    world.enter("b", assignor=second)
    assert last_assignor(world) == second


def test_the_only_vote_of_the_member_that_asks_wins_a_tie() -> None:
    world = World()
    world.enter("a", assignor="uniform")
    epoch = world.enter("b", assignor="range").member_epoch
    world.beat("b", epoch, names=["t", "u"])
    assert last_assignor(world) == "range"
    world.beat("a", 2, owned={})
    world.beat("a", 4, names=["t", "u"])
    assert last_assignor(world) == "uniform"


def test_uniform_wins_a_tie_in_which_the_member_that_asks_has_no_vote() -> None:
    world = World()
    world.enter("a", assignor="uniform")
    world.enter("b", assignor="range")
    world.enter("c")
    assert last_assignor(world) == "uniform"


def test_a_vote_of_two_members_is_no_newcomer() -> None:
    world = World()
    world.enter("a", assignor="uniform")
    world.enter("b", assignor="uniform")
    world.enter("c", assignor="range")
    world.enter("d", assignor="range")
    assert last_assignor(world) == "uniform"
