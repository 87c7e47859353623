"""The targets that Apache Kafka's server-side assignors gave, and the orders in which it goes through its topics."""

import pytest

from coordinator.core.consumer.assignors.orders import members_in_order, target_in_order, topics_in_order
from coordinator.core.consumer.assignors.registry import ASSIGNORS
from tests.core.consumer.assignors.vectors import Vector, topic_orders, vectors

VECTORS = vectors()
HASH_SET_DOUBLES_AT = 12
"""A HashSet made of 12 others has twice the buckets of one that 12 were added to."""


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_the_target_is_kafkas(vector: Vector):
    assignor = ASSIGNORS[vector.assignor]
    assert assignor.assign(vector.members, vector.topics, vector.is_homogeneous) == vector.answer


def test_there_are_vectors_of_both_assignors_and_kinds_of_subscriptions():
    assert {(vector.assignor, vector.is_homogeneous) for vector in VECTORS} == {
        (name, is_homogeneous) for name in ASSIGNORS for is_homogeneous in (True, False)
    }


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_members_come_in_kafkas_order(vector: Vector):
    ids = [member.member_id for member in vector.members]
    assert members_in_order(ids) == ids


def test_topics_come_in_kafkas_order():
    orders = [order for order in topic_orders() if order and len(order) != HASH_SET_DOUBLES_AT]
    assert [topics_in_order(order) for order in orders] == orders
    assert any(topics_in_order(sorted(order)) == order != sorted(order) for order in orders)


def test_targets_come_in_kafkas_order():
    """Of topics in one bucket, Kafka has the one first that was first before; the vectors do not tell which it was."""
    compared = not_ascending = 0
    for target in (member.target for vector in VECTORS for member in vector.members):
        ascending = {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()}
        ordered = target_in_order(ascending)
        if list(ordered) == list(target_in_order(dict(reversed(ascending.items())))):
            compared += 1
            assert list(ordered) == list(target)
        assert {topic_id: list(partitions) for topic_id, partitions in ordered.items()} == target
        not_ascending += any(list(partitions) != sorted(partitions) for partitions in target.values())
    assert compared > 100
    assert not_ascending > 10


def test_a_damaged_log_may_name_partitions_below_0():
    assert target_in_order({bytes(16): (-2, -1), bytes(15) + b"1": (-1, 17)}).keys() == {bytes(16), bytes(15) + b"1"}
