"""The marker of a transaction with very many pending offsets: in parts, as one step that nothing else comes between."""

import itertools

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from coordinator.core.kinds import operations, stored
from coordinator.core.kinds.batch_replay import BatchReplay
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.offsets import transactional as transactional_offsets
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST
from tests.groups.failing_groups import break_group
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

PRODUCER, OTHER = Producer(1, 0), Producer(2, 0)
GROUPS = ("a", "b", "c", GROUP_ID)
PARTITIONS = 4


@pytest.fixture
def sim(monkeypatch):
    monkeypatch.setattr(transactional_offsets, "OFFSETS_AT_ONCE", 3)
    monkeypatch.setattr(transactional_offsets, "OFFSETS_PER_GROUP", 0)
    simulation = Simulation()
    for number, group_id in enumerate(GROUPS):
        for partition in range(PARTITIONS):
            commit(simulation, group_id, partition, 10 * number + partition)
    return simulation


def commit(sim, group_id, partition, offset, producer=PRODUCER):
    asked = sim.commit_in_transaction(producer, offset=offset, group_id=group_id, partition=partition)
    assert asked.response.topics[0].partitions[0].error_code == ErrorCode.NONE


def fetch(sim, group_id):
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=list(range(PARTITIONS)))]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group_id, topics=topics)], require_stable=True
    )
    sent = Sent()
    sim.submit(operations.OFFSET_FETCH, group_id, request, sent, "client", 9)
    return sent


def end(sim, producer=PRODUCER):
    sent = sim.end_transaction(producer)
    while not sent.answered:
        sim.end_iteration()
    assert sent.response is ErrorCode.NONE


def offsets_in(sent):
    return [partition.committed_offset for partition in sent.response.groups[0].topics[0].partitions]


def all_offsets(sim):
    return {
        group_id: {partition: each.offset for partition, each in group.offsets.by_topic.get("t", {}).items()}
        for group_id, group in sim.shard.machine.groups.items()
    }


def test_a_marker_takes_several_turns_and_what_comes_after_it_waits(sim):
    sim.is_batching = True
    ended = sim.end_transaction(PRODUCER)
    fetched = fetch(sim, "c")
    end_offset = sim.offsets_log.log_end_offset
    turns = 0
    while not ended.answered:
        assert not fetched.answered
        assert sim.offsets_log.log_end_offset == end_offset, "the marker comes last"
        sim.coordinator.drain(sim.now_ms)
        turns += 1
    assert turns == 6
    assert sim.offsets_log.log_end_offset == end_offset + 1
    assert fetched.answered or sim.coordinator.drain(sim.now_ms) is None
    assert offsets_in(fetched) == [20, 21, 22, 23]


def test_a_crash_between_two_parts_leaves_the_transaction_open(sim):
    sim.is_batching = True
    sim.end_transaction(PRODUCER)
    sim.coordinator.drain(sim.now_ms)
    assert all_offsets(sim)["a"]
    sim.is_batching = False
    sim.restart()
    assert not any(all_offsets(sim).values())
    end(sim)
    assert all_offsets(sim)["c"] == {0: 20, 1: 21, 2: 22, 3: 23}


def test_a_group_is_not_rebuilt_between_two_parts(sim):
    """The log has no marker yet, and the group would not be completed by the last part."""
    break_group(sim, "c")
    sim.is_batching = True
    ended = sim.end_transaction(PRODUCER)
    sim.coordinator.drain(sim.now_ms)
    sim.clock.advance(REBUILD_RETRY_MS_AT_FIRST)
    for _ in range(2):
        sim.end_iteration()
        assert not ended.answered
        assert list(sim.shard.failed_keys.by_key) == ["c"]
    sim.is_batching = False
    while sim.shard.failed_keys.by_key:
        sim.end_iteration()
    assert ended.answered
    assert all_offsets(sim)["c"] == {0: 20, 1: 21, 2: 22, 3: 23}


def test_an_append_that_fails_before_the_last_part_is_answered_once(sim):
    sim.is_batching = True
    ended = sim.end_transaction(PRODUCER)
    sim.coordinator.drain(sim.now_ms)
    sim.shard.unload()
    assert ended.response is ErrorCode.NOT_COORDINATOR
    assert not sim.pending.unanswered


def test_only_groups_of_the_transaction_are_looked_at(sim):
    commit(sim, "other", 0, 1, OTHER)
    index = sim.shard.machine._in_transaction
    assert list(index.of(OTHER.producer_id, sim.shard.machine.groups)) == ["other"]
    assert list(index.of(PRODUCER.producer_id, sim.shard.machine.groups)) == list(GROUPS)
    end(sim, OTHER)
    sim.delete_topic("t")
    assert index._group_ids == {}


def test_a_restart_knows_the_groups_of_open_transactions(sim):
    sim.restart()
    end(sim)
    assert all_offsets(sim)["a"] == {0: 0, 1: 1, 2: 2, 3: 3}


def test_the_replay_of_a_marker_takes_several_steps(sim, monkeypatch):
    monkeypatch.setattr(stored, "OFFSETS_PER_STEP", 2)
    end(sim)
    groups = StoredGroups()
    replay = BatchReplay(groups)
    log = sim.offsets_log
    replay.open(log.read(0, 1 << 20, before_offset=log.log_end_offset), log.log_end_offset)
    completed = []
    while replay.step(1):
        completed.append(sum(len(group.offsets.by_topic.get("t", ())) for group in groups.groups.values()))
    assert max(after - before for before, after in itertools.pairwise(completed)) == 2
    assert completed[-1] == len(GROUPS) * PARTITIONS
    assert {name: group.offsets for name, group in groups.groups.items()} == {
        name: group.offsets for name, group in sim.shard.machine.groups.items()
    }


def test_a_marker_is_stored_once_whatever_its_outcome(sim):
    for committed in (True, False):
        end_offset = sim.offsets_log.log_end_offset
        marker = TransactionMarker(PRODUCER, committed, coordinator_epoch=0)
        sent = Sent()
        sim.submit(operations.COMPLETE_TRANSACTION, GROUP_ID, marker, sent, "coordinator", 1)
        while not sent.answered:
            sim.end_iteration()
        assert sent.response is ErrorCode.NONE
        assert sim.offsets_log.log_end_offset == end_offset + 1
