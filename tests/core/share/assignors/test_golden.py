"""The targets that the simple assignor of Apache Kafka gave."""

from typing import Any, Final, NamedTuple
from uuid import UUID

import pytest

from coordinator.core.consumer.assignors.orders import members_in_order
from coordinator.core.consumer.assignors.registry import result_of
from coordinator.core.share.assignors.simple import ShareSubscriber, Target, assignment_steps
from tests.golden_vectors import golden_vectors


class Vector(NamedTuple):
    name: str
    members: list[ShareSubscriber]
    initialized: dict[bytes, list[int]]
    is_homogeneous: bool
    answer: Target


def _id(text: str) -> bytes:
    return UUID(text).bytes


def _vector(line: dict[str, Any]) -> Vector:
    members = [
        ShareSubscriber(
            member["id"],
            [_id(topic) for topic in member["topics"]],
            {_id(part["topic"]): part["partitions"] for part in member["target"]},
        )
        for member in line["members"]
    ]
    assigned = {
        member_id: {_id(topic): tuple(partitions) for topic, partitions in by_topic.items() if partitions}
        for member_id, by_topic in line["assignment"].items()
    }
    return Vector(
        f"{line['subscription_type']}/{line['case']}",
        members,
        {_id(topic["id"]): topic["initialized"] for topic in line["topics"]},
        line["subscription_type"] == "homogeneous",
        {member.member_id: {} for member in members} | assigned,
    )


VECTORS: Final = [_vector(line) for line in golden_vectors("share-assignors/simple.jsonl.gz")]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_the_target_is_kafkas(vector: Vector) -> None:
    assert result_of(assignment_steps(vector.members, vector.initialized, vector.is_homogeneous)) == vector.answer


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_members_come_in_kafkas_order(vector: Vector) -> None:
    ids = [member.member_id for member in vector.members]
    assert members_in_order(ids) == ids


def test_there_are_vectors_of_both_kinds_of_subscriptions_with_shared_and_lost_partitions() -> None:
    assert {vector.is_homogeneous for vector in VECTORS} == {True, False}
    assert any(len(vector.members) > sum(map(len, vector.initialized.values())) > 0 for vector in VECTORS), (
        "more members than partitions"
    )
    assert any(member.target for vector in VECTORS for member in vector.members)
