"""What the audit reads of topics and their logs, where clients or the cluster tell it something unusual."""

import pytest

from coordinator.audit.world import LAG_MAX, LAG_MIN, NO_TOPIC, NoCluster, Topic, World, group_lag
from coordinator.core.offsets.records import CommittedOffset

ORDERS = "orders"
PAYMENTS = "payments"
TOPIC_ID = b"0123456789abcdef"


class Metadata(NoCluster):
    """Knows of these names, and the partitions of those that exist."""

    def __init__(self, **partitions: int) -> None:
        self.partitions = partitions

    def has_metadata(self, topic: str) -> bool:
        return topic in self.partitions

    def partition_count(self, topic: str) -> int:
        return self.partitions.get(topic, 0)

    def topic_id(self, topic: str) -> bytes:
        return TOPIC_ID if self.partition_count(topic) else NO_TOPIC.topic_id


def world(**partitions: int) -> World:
    return World(Metadata(**partitions))


def test_topics_of_which_nothing_is_known_are_left_out():
    assert world(orders=4, payments=0).topics({ORDERS, PAYMENTS}) == {ORDERS: Topic(4, TOPIC_ID), PAYMENTS: NO_TOPIC}
    assert world(payments=0).topics({ORDERS, PAYMENTS}) == {PAYMENTS: NO_TOPIC}


def test_a_topic_of_which_nothing_was_known_has_not_appeared():
    before = world().topics({ORDERS})
    assert world(orders=4).topic_changes(before) == {}
    before = world(orders=0).topics({ORDERS})
    assert world(orders=4).topic_changes(before) == {ORDERS: [0, 4]}


def test_a_topic_of_which_nothing_is_known_has_not_vanished():
    before = world(orders=4).topics({ORDERS})
    assert world().topic_changes(before) == {}
    assert world(orders=0).topic_changes(before) == {ORDERS: [4, 0]}


class Logs(NoCluster):
    """All partitions have the same log end offset."""

    def __init__(self, end_offset: int) -> None:
        self.end_offset = end_offset

    def log_end_offset(self, topic: str, partition: int) -> int:
        return self.end_offset


@pytest.mark.parametrize(("end_offset", "committed", "lag"), [(3, LAG_MAX, LAG_MIN), (LAG_MAX, 0, LAG_MAX), (9, 7, 4)])
def test_a_lag_fits_into_the_record_whatever_clients_commit(end_offset: int, committed: int, lag: int):
    """Two commits of the largest offset made each event of the group fail."""
    offsets = {ORDERS: {index: CommittedOffset(committed, -1, "", 0) for index in range(2)}}
    assert group_lag(offsets, Logs(end_offset)) == lag
