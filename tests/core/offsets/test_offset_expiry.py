import pytest

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.causes import Cause
from coordinator.core.classic.group import Member, Protocol
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.offsets.expiry import MS_PER_MINUTE, expire
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.topic_partition import TopicPartition
from tests.core.deciding import context, group_with

RETENTION_MS = 10 * MS_PER_MINUTE
SETTINGS = {"offsets.retention.minutes": "10"}
COMMITTED_MS = 1_000_000
READ = encode_versioned(ConsumerProtocolSubscription(topics=["read"]), 0)


def position(expire_timestamp_ms=None):
    return CommittedOffset(42, -1, "", COMMITTED_MS, expire_timestamp_ms)


def group_in(state, protocol_type, topics=("t",), **fields):
    group = group_with("g", state=state, protocol_type=protocol_type, **{"subscriptions": ()} | fields)
    for topic in topics:
        group.offsets.put(topic, {0: position()})
    return group


def expired(group, now_ms):
    """The partitions whose offsets go, and whether the group goes."""
    events = expire(group, None, context(now_ms, settings=SETTINGS)).events
    deleted = [event for event in events if isinstance(event, OffsetsDeleted)]
    assert all(event.cause is DeletionCause.EXPIRED for event in deleted)
    gone = tuple(where for event in deleted for where in event.partitions)
    return gone, any(isinstance(event, GroupRemoved) for event in events)


def goes_at(group, since_ms, topic="t"):
    """Nothing goes a millisecond before; then the topic's offset does."""
    assert expired(group, since_ms + RETENTION_MS - 1) == ((), False)
    gone, removed = expired(group, since_ms + RETENTION_MS)
    return gone == (TopicPartition(topic, 0),), removed


def test_offsets_of_an_empty_group_age_from_the_day_it_became_empty():
    group = group_in(GroupState.EMPTY, "consumer", state_since_ms=COMMITTED_MS + 5)
    assert goes_at(group, COMMITTED_MS + 5) == (True, True)


def test_and_from_the_commit_where_that_day_is_not_known():
    assert goes_at(group_in(GroupState.EMPTY, "consumer"), COMMITTED_MS) == (True, True)


def test_offsets_without_a_consumer_group_age_from_the_commit():
    group = group_in(GroupState.EMPTY, None, state_since_ms=COMMITTED_MS + 5)
    assert goes_at(group, COMMITTED_MS) == (True, True)


def test_in_a_stable_consumer_group_only_topics_that_nobody_reads_age():
    group = group_in(GroupState.STABLE, "consumer", ("t", "read"), subscriptions=(READ,))
    assert goes_at(group, COMMITTED_MS) == (True, False)


@pytest.mark.parametrize("state", [GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE])
def test_nothing_ages_during_a_rebalance(state):
    group = group_in(state, "consumer", subscriptions=(READ,))
    assert expired(group, COMMITTED_MS + 10 * RETENTION_MS) == ((), False)


def test_nothing_ages_in_a_group_with_members_of_another_type():
    group = group_in(GroupState.STABLE, "connect", subscriptions=(b"",))
    assert expired(group, COMMITTED_MS + 10 * RETENTION_MS) == ((), False)


def test_nothing_ages_where_a_subscription_cannot_be_read():
    group = group_in(GroupState.STABLE, "consumer", subscriptions=(READ, b""))
    assert expired(group, COMMITTED_MS + 10 * RETENTION_MS) == ((), False)


def test_an_expiry_time_of_its_own_wins_over_retention():
    group = group_in(GroupState.EMPTY, "consumer", (), state_since_ms=COMMITTED_MS)
    group.offsets.put("t", {0: position(expire_timestamp_ms=COMMITTED_MS + 3)})
    group.offsets.put("late", {0: position(expire_timestamp_ms=COMMITTED_MS + 9 * RETENTION_MS)})
    assert expired(group, COMMITTED_MS + 2) == ((), False)
    assert expired(group, COMMITTED_MS + 3) == ((TopicPartition("t", 0),), False)
    assert expired(group, COMMITTED_MS + 8 * RETENTION_MS) == ((TopicPartition("t", 0),), False)


def test_what_an_open_transaction_has_a_position_for_stays_and_so_does_the_group():
    group = group_in(GroupState.EMPTY, "consumer", ("t", "held"), state_since_ms=COMMITTED_MS)
    group.offsets.put_pending(7, "held", {0: position()})
    assert expired(group, COMMITTED_MS + RETENTION_MS) == ((TopicPartition("t", 0),), False)


def test_an_empty_group_without_offsets_goes_at_once():
    group = group_with("g", protocol_type="consumer", state_since_ms=COMMITTED_MS)
    (removed,) = expire(group, None, context(COMMITTED_MS, settings=SETTINGS)).events
    assert removed == GroupRemoved(group_id="g", at_ms=COMMITTED_MS, cause=Cause.NO_OFFSETS)
    group.offsets.put_pending(7, "held", {0: position()})
    assert expire(group, None, context(COMMITTED_MS, settings=SETTINGS)).events == ()


def test_a_group_with_members_stays_without_offsets():
    group = group_with("g", state=GroupState.STABLE, protocol_type="consumer", subscriptions=(READ,))
    group.membership.add_member(Member("m", None, "c", "/", 1, 1, (Protocol("range", READ),)))
    assert expire(group, None, context(COMMITTED_MS + 10 * RETENTION_MS, settings=SETTINGS)).events == ()


def test_there_is_nothing_to_expire_in_a_group_that_is_not_there():
    assert expire(None, None, context(COMMITTED_MS, settings=SETTINGS)).events == ()
