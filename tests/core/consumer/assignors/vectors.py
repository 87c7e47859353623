"""The questions of the recorded vectors, and Kafka's answers."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from coordinator.core.consumer.assignors.model import Subscriber, Target
from tests.golden_vectors import golden_vectors

FILES = ("uniform", "range", "random")


class Vector(NamedTuple):
    name: str
    assignor: str
    members: list[Subscriber]
    topics: dict[bytes, int]
    is_homogeneous: bool
    answer: Target


def vectors() -> list[Vector]:
    return [
        _vector(f"{file}/{golden_vector['assignor']}/{golden_vector['case']}", golden_vector)
        for file in FILES
        for golden_vector in golden_vectors(f"consumer-assignors/{file}.jsonl.gz")
    ]


def topic_orders() -> list[list[bytes]]:
    """The orders of topics, as Kafka's HashSet gave them."""
    return [
        [_ids(golden_vector)[name] for name in golden_vector.get("topic_order", ())]
        for file in FILES
        for golden_vector in golden_vectors(f"consumer-assignors/{file}.jsonl.gz")
    ]


def _ids(vector: Mapping[str, Any]) -> dict[str, bytes]:
    return {topic["name"]: UUID(topic["id"]).bytes for topic in vector["topics"]}


def _vector(name: str, vector: Mapping[str, Any]) -> Vector:
    ids = _ids(vector)
    counts = {topic["name"]: topic["partitions"] for topic in vector["topics"] if not topic.get("gone")}
    ordered = [*(topic for topic in vector.get("topic_order", ()) if topic in counts), *counts]
    members = [
        Subscriber(
            each["id"],
            each.get("instance_id"),
            frozenset(ids[topic] for topic in each["topics"] if topic in counts),
            {ids[part["topic"]]: part["partitions"] for part in each["target"]},
        )
        for each in vector["members"]
    ]
    return Vector(
        name,
        vector["assignor"],
        members,
        {ids[topic]: counts[topic] for topic in dict.fromkeys(ordered)},
        vector["subscription_type"] == "homogeneous",
        {
            member_id: {ids[topic]: tuple(partitions) for topic, partitions in by_topic.items()}
            for member_id, by_topic in vector["assignment"].items()
        },
    )
