"""Consumer groups on the simulation whose audit knows the names of topics."""

from typing import Any

from coordinator.audit.world import NoCluster
from tests.core.consumer.world import World


class TopicsOf(NoCluster):
    """The topics of the world by name and id; their logs are not here."""

    def __init__(self, world: World) -> None:
        self._fixed = world.fixed

    def partition_count(self, topic: str) -> int:
        return self._fixed.partition_count(topic)

    def topic_id(self, topic: str) -> bytes:
        return self._fixed.topic_id(topic)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._fixed.topic_name(topic_id)


def named(world: World) -> World:
    """With the names of topics in its audit, as a node has them. A restart begins without."""
    projection: Any = world.shard.projection
    projection.world.cluster = TopicsOf(world)
    return world
