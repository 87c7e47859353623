import pytest

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.classic.events import GroupEmptied
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.subscriptions import subscribed_topics, topics_read
from coordinator.core.groups.states import GroupState
from tests.core.deciding import group_with


def subscription(*topics, version=0):
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), version)


def group_of(*metadata, protocol_type="consumer"):
    return ClassicGroup("g", protocol_type=protocol_type, subscriptions=metadata)


def test_the_topics_of_all_members_in_any_version():
    metadata = [subscription("a", "b"), subscription("c", version=1), subscription("b", version=3)]
    assert subscribed_topics(group_of(*metadata)) == topics_read(group_of(*metadata)) == {"a", "b", "c"}


def test_a_later_version_begins_as_the_first_one():
    assert subscribed_topics(group_of(b"\0\x63" + subscription("a")[2:] + b"whatever follows")) == {"a"}


def test_an_empty_group_subscribes_to_nothing():
    assert subscribed_topics(group_of()) == frozenset()


def test_bytes_that_are_no_subscription_leave_it_open_and_then_every_topic_counts():
    for metadata in (b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\5"):
        group = group_of(subscription("a"), metadata)
        assert subscribed_topics(group) is None
        assert "other" in topics_read(group)


def test_before_the_first_generation_a_consumer_group_may_read_anything():
    group = ClassicGroup("g", protocol_type="consumer")
    assert subscribed_topics(group) is None
    assert "other" in topics_read(group)


def test_of_other_protocol_types_no_topics_are_known():
    for protocol_type in ("connect", None):
        group = group_of(subscription("a"), protocol_type=protocol_type)
        assert subscribed_topics(group) is None
        assert "a" not in topics_read(group)


@pytest.mark.parametrize(("former_type", "reads_anything"), [("consumer", False), ("connect", True), (None, True)])
def test_after_a_generation_of_another_protocol_type_a_consumer_group_may_read_anything(former_type, reads_anything):
    whole = group_with("g", state=GroupState.PREPARING_REBALANCE, protocol_type=former_type)
    GroupEmptied(group_id="g", at_ms=0, generation_id=1).apply(whole)
    group = whole.membership
    group.protocol_type = "consumer"
    assert ("other" in topics_read(group)) == reads_anything
