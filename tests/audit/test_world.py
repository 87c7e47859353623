"""What is told of topics, where the cluster has not told of all of them yet."""

from coordinator.audit.world import NO_TOPIC, NoCluster, Topic, World

ORDERS = "orders"
PAYMENTS = "payments"
TOPIC_ID = b"0123456789abcdef"


class Metadata(NoCluster):
    """Knows of these names, and the partitions of those that exist."""

    def __init__(self, **partitions: int) -> None:
        self.partitions = partitions

    def is_known(self, topic: str) -> bool:
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
