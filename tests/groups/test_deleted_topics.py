"""Committed offsets go with their topic, whatever its partition of `__consumer_offsets` is doing at the time."""

import pytest

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.audit import schema
from coordinator.core.stored import Producer
from coordinator.core.topic_partition import TopicPartition
from coordinator.groups.deleted_topics import DeletedTopics
from coordinator.runtime import coordinator_runtime, shard
from coordinator.runtime.shard import ShardState
from tests.simulation.simulation import Simulation

LOAD_RETRY_MS = shard.LOAD_RETRY_MS_AT_FIRST
PRODUCER = Producer(7, 0)


def committed(sim):
    """The offset in the topic of `Simulation.commit`, None where there is none."""
    offset = sim.offsets.get(TopicPartition("t", 0))
    return None if offset is None else offset.offset


@pytest.fixture
def slow_loads(monkeypatch):
    """A load takes several turns of the loop."""
    monkeypatch.setattr(coordinator_runtime, "LOAD_SECONDS_AT_ONCE", 0)


def begin_load(sim):
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.coordinator.drain(sim.now_ms)
    assert sim.shard.state is ShardState.LOADING


def end_load(sim):
    while sim.shard.state is ShardState.LOADING:
        sim.coordinator.drain(sim.now_ms)
    assert sim.shard.state is ShardState.ACTIVE


def test_offsets_go_with_their_topic_and_stay_away():
    sim = Simulation()
    sim.commit(offset=5)
    sim.delete_topic("other")
    assert committed(sim) == 5
    sim.delete_topic("t")
    assert committed(sim) is None
    sim.create_topic("t")
    sim.restart()
    assert committed(sim) is None


def test_a_commit_that_was_queued_before_goes_and_one_after_the_topic_is_back_stays():
    sim = Simulation()
    with sim.one_turn():
        sim.commit(offset=5)
        sim.delete_topic("t")
    assert committed(sim) is None
    with sim.one_turn():
        sim.commit(offset=6)
        sim.delete_topic("t")
        sim.create_topic("t")
        sim.commit(offset=7)
    assert committed(sim) == 7


def test_pending_transactional_offsets_go_too():
    sim = Simulation()
    sim.commit_in_transaction(PRODUCER, offset=5)
    sim.delete_topic("t")
    sim.end_transaction(PRODUCER)
    assert committed(sim) is None


def test_a_partition_that_is_being_loaded_forgets_at_its_end(slow_loads):
    sim = Simulation()
    sim.commit(offset=5)
    begin_load(sim)
    sim.delete_topic("t")
    end_load(sim)
    assert committed(sim) is None


def test_it_forgets_also_when_the_topic_is_there_again_but_not_what_is_committed_to_that(slow_loads):
    sim = Simulation()
    sim.commit(offset=5)
    begin_load(sim)
    sim.delete_topic("t")
    sim.create_topic("t")
    while sim.shard.state is ShardState.LOADING:
        with sim.one_turn():
            # The last one is queued before the load ends, and decided after it.
            sim.commit(offset=6)
    assert committed(sim) == 6
    sim.restart()
    assert committed(sim) == 6


def test_a_topic_that_was_deleted_before_a_crash_is_forgotten_when_loaded():
    """The deletion is durable before the offsets are gone."""
    sim = Simulation()
    sim.commit(offset=5)
    sim.topics.missing.add("t")
    sim.start()
    assert committed(sim) is None
    sim.create_topic("t")
    sim.start()
    assert committed(sim) is None


def test_a_topic_that_was_deleted_before_a_load_and_created_during_it_is_forgotten(slow_loads):
    sim = Simulation()
    sim.commit(offset=5)
    sim.topics.missing.add("t")
    begin_load(sim)
    sim.create_topic("t")
    end_load(sim)
    assert committed(sim) is None


def test_a_disk_that_refuses_the_tombstones_only_delays_them():
    sim = Simulation()
    sim.commit(offset=5)
    sim.disk.is_full = True
    sim.delete_topic("t")
    sim.create_topic("t")
    assert sim.shard.state is ShardState.FAILED
    sim.disk.is_full = False
    sim.advance(LOAD_RETRY_MS)
    assert sim.shard.state is ShardState.ACTIVE
    assert committed(sim) is None


def test_a_partition_that_failed_forgets_what_was_deleted_meanwhile():
    sim = Simulation()
    sim.commit(offset=5)
    sim.disk.is_full = True
    sim.commit(offset=6)
    assert sim.shard.state is ShardState.FAILED
    sim.delete_topic("t")
    sim.create_topic("t")
    sim.disk.is_full = False
    sim.advance(LOAD_RETRY_MS)
    assert committed(sim) is None
    sim.commit(offset=7)
    assert committed(sim) == 7


def test_what_was_forgotten_is_not_remembered():
    """A later load of the partition keeps what was committed since the topic is back."""
    sim = Simulation()
    sim.delete_topic("t")
    sim.create_topic("t")
    sim.commit(offset=5)
    sim.coordinator.load([0])
    end_load(sim)
    assert committed(sim) == 5


def test_a_load_that_is_tried_again_goes_by_the_topics_of_the_first():
    existing = {"a"}
    deleted = DeletedTopics(lambda: frozenset(existing))
    deleted.load_begins([3])
    existing.add("created since")
    deleted.load_begins([3])
    gone = deleted.gone_for(3)
    assert [gone.has(topic) for topic in ("a", "created since")] == [False, True]
    deleted.forgotten(3)
    deleted.load_begins([3])
    assert not deleted.gone_for(3).has("created since")


def test_a_group_that_read_a_topic_is_told_of_its_end_though_nothing_was_committed():
    sim = Simulation()
    sim.make_stable([sim.join("a", metadata=encode_versioned(ConsumerProtocolSubscription(topics=["t", "u"]), 0))])
    sim.delete_topic("other")
    assert "offsets.deleted" not in sim.kinds()
    sim.delete_topic("t")
    (told,) = [each for each in sim.audited() if isinstance(each, schema.OffsetsDeleted)]
    assert (told.cause, told.partitions) == ("topic_deleted", {"t": []})


def test_a_group_without_members_is_not_told_of_topics_without_offsets():
    sim = Simulation()
    sim.commit(offset=5)
    sim.delete_topic("u")
    assert "offsets.deleted" not in sim.kinds()
