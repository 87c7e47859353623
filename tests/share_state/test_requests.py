"""Requests about states of share partitions: what they may add to the memory, and how many are asked about at once."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages import initialize_share_group_state as initializing
from _wire.messages import write_share_group_state as writing
from coordinator.node.handlers import share_state
from coordinator.node.handlers.share_state import NO_MEMORY, STATE_APIS, ShareStateHandlers
from coordinator.share_state.share_states import ASKED_AT_ONCE
from tests.share_state.world import World


@pytest.fixture
def world() -> World:
    return World()


def handled(world: World, request: Any) -> list[Any]:
    """The answers for the partitions of one topic."""
    name = type(request).__name__.removesuffix("Request")
    (api,) = [api for api in STATE_APIS if api.name == name]
    nobody: Any = None
    steps = ShareStateHandlers(world.states)._handler(api)(request, nobody)
    (result,) = world.do(steps).results
    return list(result.partitions)


def initialize(world: World, group_id: str, *partitions: int) -> list[Any]:
    asked = [
        initializing.StatePartition(partition=partition, state_epoch=1, start_offset=0) for partition in partitions
    ]
    topic = initializing.StateTopic(topic_id=world.topic_id, partitions=asked)
    return handled(world, initializing.InitializeShareGroupStateRequest(group_id=group_id, topics=[topic]))


def write(world: World, group_id: str, partition: int) -> ErrorCode:
    batch = writing.StateBatch(first_offset=0, last_offset=1, delivery_state=2, delivery_count=1)
    asked = writing.StatePartition(partition=partition, state_epoch=1, leader_epoch=0, state_batches=[batch])
    topic = writing.StateTopic(topic_id=world.topic_id, partitions=[asked])
    (answer,) = handled(world, writing.WriteShareGroupStateRequest(group_id=group_id, topics=[topic]))
    return ErrorCode(answer.error_code)


def test_requests_add_nothing_once_the_states_take_much_memory(world, monkeypatch):
    monkeypatch.setattr(share_state, "HELD_BYTES_MAX", 100_000)
    errors: list[Any] = []
    while not errors or errors[-1].error_code == ErrorCode.NONE:
        errors += initialize(world, f"group-{len(errors)}", 0)
        assert len(errors) < 1_000, "there is no bound"
    assert (errors[-1].error_code, errors[-1].error_message) == (ErrorCode.INVALID_REQUEST, NO_MEMORY)
    assert world.coordinator.held_bytes < 101_000
    assert write(world, "group-0", 0) is ErrorCode.INVALID_REQUEST
    # What share groups of this node store goes on, and what is deleted makes room.
    assert world.initialize(1) == [ErrorCode.NONE]
    assert world.delete(0, group_id="group-1") == world.delete(0, group_id="group-2") == [ErrorCode.NONE]
    assert write(world, "group-0", 0) is ErrorCode.NONE


def test_of_very_many_partitions_few_are_asked_about_at_a_time(world, monkeypatch):
    asked = []
    original = world.states.ask_all

    def noted(questions):
        asked.append(len(questions))
        return original(questions)

    monkeypatch.setattr(world.states, "ask_all", noted)
    answers = initialize(world, "g", *[0, 1] * ASKED_AT_ONCE)
    assert [answer.partition for answer in answers] == [0, 1]
    assert asked == [ASKED_AT_ONCE] * 2
