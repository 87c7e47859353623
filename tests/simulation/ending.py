"""How every history ends: good clients must get to work; then all fall silent, and nothing may be left."""

from typing import Final

from coordinator.core.states import GroupState
from tests.simulation import invariants
from tests.simulation.clients import Client, Phase
from tests.simulation.consumers import PARTITIONS, PROTOCOLS, partitions_of
from tests.simulation.history import Step
from tests.simulation.server import unanswered
from tests.simulation.stage import Stage

HEARTBEAT_MS: Final = 1_000
ROUNDS: Final = 120
"""Of heartbeats: long enough for whoever is gone to be noticed and for every rebalance timeout."""
SILENCE_MS: Final = 400_000
"""Longer than the new member join timeout, the longest that anybody may be silent."""


def play(stage: Stage) -> None:
    stage.play(Step("heal"))
    stage.play(Step("gather", 0, 0))
    everybody_gets_to_work(stage)
    silence_ends_everything(stage)
    nothing_is_left(stage)


def everybody_gets_to_work(stage: Stage) -> None:
    """Clients that do what good clients do become one Stable group, and each partition has one owner."""
    for client in stage.clients:
        stage.reconnect(client, 0)
        client.deaf_until_ms, client.protocols, client.phase = 0, PROTOCOLS[0], Phase.OUT
    for _ in range(ROUNDS):
        for client in stage.clients:
            client.read_answers()
            if not client.is_fenced:
                stage.act(client, 0)
        stage.play(Step("wait", 0, HEARTBEAT_MS))
        if all(_works(stage, group_id) for group_id in stage.group_ids):
            break
    else:
        raise AssertionError("good clients did not get to work")
    for group_id in stage.group_ids:
        _check_shares(_at_work(stage, group_id))


def _at_work(stage: Stage, group_id: str) -> list[Client]:
    return [each for each in stage.clients if each.group_id == group_id and not (each.is_fenced or each.is_refused)]


def _works(stage: Stage, group_id: str) -> bool:
    clients = _at_work(stage, group_id)
    group = stage.server.coordinator.shard_of(group_id).machine.groups.get(group_id)
    if group is None or group.classic.state is not GroupState.STABLE:
        return not clients
    return group.classic.members.keys() == {client.member_id for client in clients} and all(
        client.phase is Phase.WORKING and client.generation_id == group.classic.generation_id for client in clients
    )


def _check_shares(clients: list[Client]) -> None:
    owned = [partition for client in clients for partition in partitions_of(client.assigned)]
    assert len(owned) == len(set(owned)), "a partition has two owners"
    if all(client.instance_id is None for client in clients):
        # A static member that comes back with another subscription takes over its old share, without a rebalance.
        topics = {topic for client in clients for topic in client.topics}
        assert sorted(owned) == sorted((topic, index) for topic in topics for index in range(PARTITIONS[topic]))


def silence_ends_everything(stage: Stage) -> None:
    """Nobody says anything any more: sessions run out, whoever waits is answered, groups become Empty."""
    stage.play(Step("wait", 0, SILENCE_MS))
    for shard in stage.server.coordinator.shards:
        assert shard.is_active
        assert {group.classic.state for group in shard.machine.groups.values()} <= {GroupState.EMPTY}
    assert len(stage.server.sessions) == 0
    coordinator = stage.server.coordinator
    left = len(coordinator.shards) + coordinator.audit.running_timers
    assert stage.server.wheel.pending == left, "only looks at the age of offsets and timers of the audit are left"
    for client in stage.clients:
        stage.crash(client, 0)
    assert not unanswered(stage.server.pending), "a request of a group that is gone"


def nothing_is_left(stage: Stage) -> None:
    for number in range(len(stage.clients)):
        stage.play(Step("delete", number))
    assert all(shard.machine.groups == {} for shard in stage.server.coordinator.shards)
    stage.play(Step("kill"))
    assert all(shard.machine.groups == {} for shard in stage.server.coordinator.shards)
    invariants.check(stage)
