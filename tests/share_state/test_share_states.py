"""The share coordinator on its log: what it answers, and what is there again after a restart."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from _wire.errors import ErrorCode
from _wire.records import batch_headers
from coordinator.core.share_states import PartitionState, StateBatch, Summary
from coordinator.internal_topics import SHARE_STATE_TOPIC
from coordinator.runtime.shard import ShardState
from coordinator.runtime.slices import at_once
from coordinator.share_state.state_machine import held_bytes_of
from tests.share_state.world import PARTITIONS, TOPIC, World

FIVE_MINUTES_MS = 300_000


@pytest.fixture
def world() -> World:
    return World()


def test_the_topic_is_made_when_it_is_needed(world: World):
    image = world.broker.metadata_store.image
    assert image.partition_count(SHARE_STATE_TOPIC) == 0
    assert world.initialize(0) == [ErrorCode.NONE]
    assert image.partition_count(SHARE_STATE_TOPIC) == 2
    topic = image.topics[SHARE_STATE_TOPIC]
    assert topic.is_internal
    assert topic.configs == {"cleanup.policy": "delete", "retention.ms": "-1"}


def test_states_are_read_as_they_were_written(world: World):
    world.initialize(0, 1, start_offset=4)
    assert world.write(0, (4, 9, 2, 1), start_offset=4) is ErrorCode.NONE
    assert world.read(0) == PartitionState(2, 4, -1, (StateBatch(4, 9, 2, 1),))
    assert world.read(1) == PartitionState(2, 4, 0, ())
    assert world.read(2) is ErrorCode.INVALID_REQUEST


def test_summaries_come_in_the_order_of_the_partitions(world: World):
    world.initialize(1, start_offset=7)
    asked = [(world.topic_id, 0, -1), (world.topic_id, 1, -1), (world.topic_id, PARTITIONS, -1)]
    assert world.do(world.states.summary("g", asked)) == [
        Summary(ErrorCode.NONE),
        Summary(ErrorCode.NONE, 2, 0, 7, 0),
        Summary(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_many_partitions_are_asked_about_in_steps(world: World):
    steps = world.states.delete("g", [(world.topic_id, 0)] * 1_000)
    assert world.do(steps) == [ErrorCode.NONE] * 1_000


@pytest.mark.parametrize("clean", [True, False])
def test_all_is_there_again_after_a_restart(world: World, clean: bool):
    world.initialize(0, 1, 2)
    for offset in range(10):
        world.write(0, (offset * 2, offset * 2, 2, 1), start_offset=offset)
    world.read(1, leader_epoch=4)
    world.delete(2)
    before = world.all
    world.restart(clean=clean)
    assert world.all == before
    assert len(before) == 2
    assert world.read(1, leader_epoch=3) is ErrorCode.FENCED_LEADER_EPOCH


def test_what_is_asked_during_a_load_is_answered_when_that_has_ended(world: World):
    world.initialize(0)
    shard = next(shard for shard in world.coordinator.shards if shard.machine.states)
    world.coordinator.unload(shard.partition)
    results = world.begin(world.states.read("g", world.topic_id, 0, 0))
    assert results == []
    world.coordinator.load([shard.partition])
    world.advance(100)
    assert results == [PartitionState(2, -1, -1, ())]


def test_after_some_tries_the_error_is_the_answer(world: World):
    world.initialize(0)
    for shard in world.coordinator.shards:
        world.coordinator.unload(shard.partition)
    results = world.begin_write(0)
    world.advance(3_099)
    assert results == []
    world.advance(1)
    assert results == [ErrorCode.NOT_COORDINATOR]


def test_a_write_that_cannot_be_appended_changes_nothing(world: World):
    world.initialize(0)
    world.write(0, (0, 4, 2, 1))
    before = world.all
    world.fs.is_full = True
    results = world.begin_write(0, start_offset=5)
    assert results == []
    assert ShardState.FAILED in [shard.state for shard in world.coordinator.shards]
    world.fs.heal()
    world.advance(10_000)
    assert results == [ErrorCode.NONE], "it is tried again"
    assert {key: state.batches for key, state in world.all.items()} == {key: b"" for key in before}


# ------------------------------------------------------------------------------------------------------------- deletion


def test_the_states_of_a_deleted_topic_are_forgotten(world: World):
    world.initialize(0, 1)
    world.broker.topics.delete([TOPIC], world.now_ms())
    world.coordinator.topics_deleted(world.now_ms())
    world.advance(10)
    assert world.all == {}
    world.restart()
    assert world.all == {}


def test_the_states_of_a_topic_that_was_deleted_before_a_load_are_forgotten(world: World):
    world.initialize(0, 1)
    world.broker.topics.delete([TOPIC], world.now_ms())
    world.restart()
    world.advance(10)
    assert world.all == {}


# --------------------------------------------------------------------------------------------------- snapshots, pruning


def test_records_before_the_last_snapshots_are_deleted(world: World):
    world.initialize(0)
    for offset in range(4):
        world.write(0, (offset, offset, 2, 1), start_offset=0)
    before, log = world.all, world.log_of(0)
    assert log.log_end_offset == 5
    world.advance(FIVE_MINUTES_MS + 2_000)
    assert log.log_start_offset == 4
    assert world.coordinator.pruned[log.partition] == 4
    world.restart()
    assert {key: state.batches for key, state in world.all.items()} == {
        key: state.batches for key, state in before.items()
    }


def test_nothing_is_deleted_before_it_is_on_stable_storage(world: World):
    world.initialize(0)
    for offset in range(4):
        world.write(0, (offset, offset, 2, 1), start_offset=0)
    log = world.log_of(0)
    world.broker.clock.advance(FIVE_MINUTES_MS)
    for key in world.broker.wheel.advance(world.now_ms()):
        world.coordinator.due(key, world.now_ms())
    assert world.flushes == [log]
    assert log.log_start_offset == 0
    assert world.coordinator.pruned[log.partition] == 0
    assert log.recovery_point == 0


def test_a_deleted_state_does_not_hold_back_the_others(world: World):
    world.initialize(*range(PARTITIONS))
    gone, kept = [each for each in range(PARTITIONS) if world.log_of(each) is world.log_of(0)][:2]
    world.delete(gone)
    tombstone = world.log_of(gone).log_end_offset - 1
    for offset in range(4):
        world.write(kept, (offset, offset, 2, 1), start_offset=0)
    world.advance(FIVE_MINUTES_MS + 2_000)
    assert world.log_of(kept).log_start_offset > tombstone


def test_a_cold_partition_does_not_hold_back_the_others(world: World):
    keys = [partition for partition in range(PARTITIONS) if world.initialize(partition)]
    same = [partition for partition in keys if world.log_of(partition) is world.log_of(0)]
    busy, cold = same[0], same[1]
    for offset in range(12):
        world.write(busy, (offset, offset, 2, 1), start_offset=0)
    log = world.log_of(busy)
    world.advance(FIVE_MINUTES_MS)
    for offset in range(12):
        world.write(busy, (offset, offset, 2, 1), start_offset=0)
    world.advance(FIVE_MINUTES_MS + 2_000)
    assert log.log_start_offset > 12
    world.restart()
    assert world.read(cold) == PartitionState(2, -1, -1, ())


def test_a_topic_in_which_all_is_cold_gets_no_more_records(world: World):
    world.initialize(0, 1, 2)
    world.advance(2 * FIVE_MINUTES_MS + 1_000)
    ends = [world.log(index).log_end_offset for index in range(2)]
    assert sum(ends) == 6
    world.advance(4 * FIVE_MINUTES_MS)
    assert [world.log(index).log_end_offset for index in range(2)] == ends


def test_records_of_one_turn_make_one_batch(world: World):
    world.initialize(0, 1, 2)
    log = world.log_of(0)
    data = at_once(log.read_steps(0, 1 << 20))
    assert [header.next_offset for header in batch_headers(data)] == [log.log_end_offset]


# ---------------------------------------------------------------------------------------------------------- any history


class Histories(RuleBasedStateMachine):
    """Any requests, pauses and restarts: a start finds what was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    partitions = st.integers(0, PARTITIONS - 1)
    groups = st.sampled_from(["g", "h"])

    @rule(partition=partitions, group_id=groups, state_epoch=st.integers(0, 3))
    def initialize(self, partition: int, group_id: str, state_epoch: int) -> None:
        self.world.initialize(partition, group_id=group_id, state_epoch=state_epoch)

    @rule(
        partition=partitions,
        group_id=groups,
        first=st.integers(0, 20),
        count=st.integers(1, 4),
        start_offset=st.integers(-1, 20),
    )
    def write(self, partition: int, group_id: str, first: int, count: int, start_offset: int) -> None:
        self.world.write(partition, (first, first + 2, 2, count), start_offset=start_offset, group_id=group_id)

    @rule(partition=partitions, group_id=groups, leader_epoch=st.integers(-1, 3))
    def read(self, partition: int, group_id: str, leader_epoch: int) -> None:
        self.world.read(partition, leader_epoch, group_id)

    @rule(partition=partitions, group_id=groups)
    def delete(self, partition: int, group_id: str) -> None:
        self.world.delete(partition, group_id=group_id)

    @rule(ms=st.integers(1, FIVE_MINUTES_MS + 2_000))
    def advance(self, ms: int) -> None:
        self.world.advance(ms)

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        before = self.world.all
        self.world.restart(clean=clean)
        # How many updates there were since the last snapshots is known as far as they are there.
        assert {key: told(state) for key, state in self.world.all.items()} == {
            key: told(state) for key, state in before.items()
        }

    @invariant()
    def the_memory_of_the_states_is_known(self) -> None:
        assert self.world.coordinator.held_bytes == sum(map(held_bytes_of, self.world.all.values()))

    @invariant()
    def the_log_begins_at_what_is_needed(self) -> None:
        for shard in self.world.coordinator.shards:
            log = self.world.log(shard.partition)
            assert log.log_start_offset <= log.log_end_offset


def told(state: object) -> object:
    """What readers are told of a state."""
    return tuple(getattr(state, name) for name in ("state_epoch", "start_offset", "delivery_complete_count", "batches"))


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
