"""The targets that Apache Kafka's server-side assignors gave, and the orders in which it goes through its topics."""

import pytest

from coordinator.core.consumer.assignors.orders import members_in_order, topics_in_order
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
