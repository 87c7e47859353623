"""A stop, or a start that is cancelled, while groups are loaded: nothing goes on in logs that are closed."""

import asyncio

import pytest

from coordinator.config.settings import Config
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.recovery.last_stop import CLEAN_SHUTDOWN
from coordinator.node import node as module
from coordinator.node.node import Node
from coordinator.runtime.shard import ShardState
from tests.front.log_lines import log_lines

ITERATIONS_AFTER = 200


@pytest.fixture
def slow_load(monkeypatch):
    """A load whose first step lets the event loop turn some times."""
    load = GroupStateMachine.load
    steps_left = 1_000_000

    def load_slowly(machine, store):
        nonlocal steps_left
        while steps_left > 0:
            steps_left -= 1
            yield
        yield from load(machine, store)

    def let_it_end():
        nonlocal steps_left
        steps_left = 0

    monkeypatch.setattr(GroupStateMachine, "load", load_slowly)
    monkeypatch.setattr(module, "LOADED_BEFORE_LISTENING_SECONDS", 0.05)
    return let_it_end


def settings(folder) -> Config:
    return Config(
        {"log.dirs": str(folder), "listeners": "PLAINTEXT://127.0.0.1:0", "offsets.topic.num.partitions": "8"}
    )


async def turn(iterations: int) -> None:
    for _ in range(iterations):
        await asyncio.sleep(0)


def test_a_stop_while_groups_are_loaded_is_clean_and_logs_no_error(tmp_path, slow_load):
    async def play() -> None:
        with log_lines() as lines:
            node = Node(settings(tmp_path))
            await node.start()
            assert any(shard.state is ShardState.LOADING for shard in node.groups.coordinator.shards)
            await node.stop()
            slow_load()
            await turn(ITERATIONS_AFTER)
            assert lines.problems == []
            assert not any(shard.is_active for shard in node.groups.coordinator.shards)

    asyncio.run(play())
    assert (tmp_path / CLEAN_SHUTDOWN).exists()


def test_a_start_that_is_cancelled_while_groups_are_loaded_logs_no_error(tmp_path, slow_load, monkeypatch):
    monkeypatch.setattr(module, "LOADED_BEFORE_LISTENING_SECONDS", 60)

    async def play() -> None:
        with log_lines() as lines:
            node = Node(settings(tmp_path))
            starting = asyncio.create_task(node.start())
            while not hasattr(node, "groups"):
                await asyncio.sleep(0)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            slow_load()
            await turn(ITERATIONS_AFTER)
            assert lines.problems == []

    asyncio.run(play())
