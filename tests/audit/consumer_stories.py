"""Consumer groups on the simulation whose audit knows the names of topics."""

from collections.abc import Collection
from typing import Any

from coordinator.audit.world import NoCluster
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.world import World


class TopicsOf(NoCluster):
    """The topics of the world by name and id; their logs are not here."""

    def __init__(self, world: World) -> None:
        self._fixed = world.fixed

    @property
    def topics_version(self) -> int:
        return self._fixed.topics_version

    def partition_count(self, topic: str) -> int:
        return self._fixed.partition_count(topic)

    def topic_id(self, topic: str) -> bytes:
        return self._fixed.topic_id(topic)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._fixed.topic_name(topic_id)

    def existing(self, names: Collection[str]) -> set[str]:
        return self._fixed.existing(names)


def named(world: World) -> World:
    """With the names of topics in its audit, as a node has them. A restart begins without."""
    projection: Any = world.shard.projection
    projection.world.cluster = TopicsOf(world)
    return world


def late_target(world: World, targets: DelayedTargets) -> None:
    """`b` joins `a`, which has all of `t`, in epoch 3; `c` joins in epoch 4 before the target of 3 is there.

    The target of 3 comes 2 s after epoch 3 began, and `a` and `b` reconcile with it; that of 4 is being computed.
    """
    world.enter("a")
    targets.finish()
    world.beat("a", 1)
    world.advance(1_000)
    world.enter("b")
    world.advance(500)
    world.enter("c")
    world.advance(1_500)
    targets.finish()
    world.beat("a", 2)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 2)


def settle(world: World) -> None:
    """All members of epoch 4 get what they shall have."""
    for _ in range(2):
        for member_id in ("a", "b", "c"):
            world.beat(member_id, world.epoch(member_id), owned=world.assigned(member_id))
    for member_id in ("a", "b", "c"):
        world.beat(member_id, world.epoch(member_id), owned=world.assigned(member_id))
