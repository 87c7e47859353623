"""The assignments that Apache Kafka's own assignors gave, case by case."""

from collections.abc import Mapping
from typing import Any

import pytest

from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic
from coordinator.core.assignors.registry import ASSIGNORS, COOPERATIVE_STICKY
from tests.core.assignors.questions import assert_valid, from_vector, kept, owners_of, sizes
from tests.golden_vectors import golden_vectors

VECTORS = [
    pytest.param(name, vector, id=f"{name}/{vector['case']}")
    for name in ASSIGNORS
    for vector in golden_vectors(f"assignors/client-{name}.jsonl.gz")
]


@pytest.mark.parametrize(("name", "vector"), VECTORS)
def test_the_answer_is_kafkas(name: str, vector: Mapping[str, Any]):
    members, topics = from_vector(vector)
    assignment = ASSIGNORS[name].assign(members, topics)
    if vector["compare"] == "exact":
        assert assignment == vector["assignment"]
        return
    assert_valid(members, topics, assignment, whole=name != COOPERATIVE_STICKY.name)
    assert_as_sticky_and_even_as(vector["measures"], members, assignment)
    if name == COOPERATIVE_STICKY.name:
        assert_nothing_changes_hands(members, topics, assignment)


@pytest.mark.parametrize(("name", "vector"), VECTORS)
def test_the_answer_does_not_depend_on_the_order_of_the_members(name: str, vector: Mapping[str, Any]):
    members, topics = from_vector(vector)
    assign = ASSIGNORS[name].assign
    assert assign(members[::-1], topics) == assign(members, topics)


def assert_as_sticky_and_even_as(
    measures: Mapping[str, int], members: list[MemberSubscription], assignment: Assignment
) -> None:
    if len({member.topics for member in members}) == 1:
        assert max(sizes(assignment)) - min(sizes(assignment)) <= measures["max"] - measures["min"]
    assert kept(members, assignment) >= measures["kept"]


def assert_nothing_changes_hands(
    members: list[MemberSubscription], topics: Mapping[str, Topic], assignment: Assignment
) -> None:
    latest = max(member.generation_id for member in members)
    before = {
        (name, number): member.member_id
        for member in members
        if member.generation_id == latest
        for name, numbers in member.owned_partitions.items()
        for number in numbers
    }
    for partition, member_id in owners_of(assignment).items():
        assert before.get(partition, member_id) == member_id
