"""Plays a history by its seed, to its end: faults first, then a while without any, in which all must recover."""

import asyncio
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from _wire.batch_reader import parse_records
from coordinator.audit.schema import decode_event
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC
from tests.cluster.simulation.cluster import PARTITIONS
from tests.cluster.simulation.consumers import SimulatedConsumer
from tests.cluster.simulation.faults import Faults
from tests.cluster.simulation.reports import RuleBroken
from tests.cluster.simulation.world import World
from tests.simulation.audit_reader import AuditReader
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible

FAULTS: Final = 30
RECOVERS_WITHIN_MS: Final = 60_000
"""Longer than a lease, a session, a rebalance, and the longest pause and wait of a client together."""
QUIET_MS: Final = 30_000
"""How long it is looked that everything goes on."""
RECENT_MS: Final = 12_000


class HistoryFailed(AssertionError):
    """A rule was broken. The message has the seed, and what happened before."""


def play(seed: int, faults: int = FAULTS) -> World:
    """Returns what became of it. Raises HistoryFailed."""
    defects: list[BaseException] = []
    with defects_of(defects), reproducible(), seeded(seed):
        world = World(seed)
        try:
            _play(world, faults, defects)
        except Exception as problem:
            lines = "\n".join(world.history)
            raise HistoryFailed(f"seed {seed}\n{lines}\n{type(problem).__name__}: {problem}") from problem
        finally:
            abandon(world)
    return world


def _play(world: World, faults: int, defects: list[BaseException]) -> None:
    for _ in range(world.random.randrange(1, 4)):
        world.add_node()
    for _ in range(world.random.randrange(3, 7)):
        world.add_client()
    world.run(2_000)
    chance = Faults(world)
    for _ in range(faults):
        chance.happen()
        if defects:
            raise defects[0]
    chance.end()
    world.run(RECOVERS_WITHIN_MS)
    check_served(world)
    acknowledged = dict(world.reports.acknowledged_commits)
    world.run(QUIET_MS)
    check_served(world)
    check_commits(world, acknowledged)
    check_audit(world)
    if defects:
        raise defects[0]
    world.seen["success"] = world.reports.successes
    world.seen["takeover"] = len(world.cluster.takeovers)
    for client in world.clients:
        if isinstance(client, SimulatedConsumer) and client.has_got_partitions:
            world.seen["partitions by a pattern" if client.subscribes_by_pattern else "partitions by name"] += 1


def check_served(world: World) -> None:
    """Each partition has one node that serves it, and each client is a member that is answered."""
    for partition in range(PARTITIONS):
        leads = [process.host for process in world.nodes if partition in process.led()]
        if len(leads) != 1:
            raise RuleBroken(f"partition {partition} is served by {leads or 'nobody'} without a fault")
    now_ms = world.clock.now_ms()
    generations: dict[str, int] = {}
    for client in world.clients:
        if client.has_ended or client.is_leaving:
            continue
        if now_ms - client.last_success_ms > RECENT_MS or client.generation < 0:
            raise RuleBroken(f"{client.name} of {client.group_id} is not served without a fault")
        generation = generations.setdefault(client.group_id, client.generation)
        if generation != client.generation:
            raise RuleBroken(f"members of {client.group_id} are in generations {generation} and {client.generation}")
    for group_id in generations:
        members = [client for client in world.clients if client.group_id == group_id and not client.has_ended]
        owned = sorted(partition for member in members for partition in member.owned)
        if owned != list(range(len(owned))) or not owned:
            raise RuleBroken(f"the members of {group_id} own {owned}")


def check_commits(world: World, before: dict[str, int]) -> None:
    """Members of each group go on committing, and its sentinel is noted for the next node."""
    for group_id in {client.group_id for client in world.clients if not client.has_ended}:
        if world.reports.acknowledged_commits[group_id] <= before.get(group_id, 0):
            raise RuleBroken(f"no commit of {group_id} is acknowledged without a fault")
        partition = partition_for(group_id, PARTITIONS)
        (leader,) = (process for process in world.nodes if partition in process.led())
        assert leader.node is not None
        if not leader.node.home.ownership.is_owned(group_id):
            raise RuleBroken(f"{group_id} has a sentinel, and no note of it")


def check_audit(world: World) -> None:
    """The audit of each group can be read from its beginning, by the rules of its schema."""
    readers: dict[str, AuditReader] = {}
    for partition in range(PARTITIONS):
        for base_offset, batch in world.cluster.log.partition(AUDIT_TOPIC, partition).batches:
            for offset, record in enumerate(parse_records(batch), base_offset):
                if record.key is not None and record.value:
                    event: Any = decode_event(record.value)
                    readers.setdefault(event.group_id, AuditReader(lambda: True)).apply(event, offset)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block, what the product draws by chance follows from the seed, and so do its ids."""
    system, uuid4 = random.SystemRandom, uuid.uuid4
    chance = random.Random(seed)
    random.SystemRandom = lambda: chance  # type: ignore[misc,assignment]
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128))
    try:
        yield
    finally:
        random.SystemRandom, uuid.uuid4 = system, uuid4  # type: ignore[misc]


def abandon(world: World) -> None:
    """End what runs, so that nothing of a history is left for the next one."""
    for loop in world._loops:
        loop.is_dead = True
    asyncio._set_running_loop(None)
