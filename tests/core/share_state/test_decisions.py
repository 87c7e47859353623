"""What the share coordinator answers, in Kafka's order of checks, and what it stores."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from _wire.embedded import decode_versioned, prefix_of
from _wire.errors import ErrorCode
from _wire.messages.share_snapshot_record import ShareSnapshotValue
from _wire.messages.share_update_record import ShareUpdateValue
from coordinator.core.share_state import operations
from coordinator.core.share_state.batches import count_of, unpacked
from coordinator.core.share_state.decisions import BATCHES_MAX
from coordinator.core.share_state.state import SharePartition, parse_key
from coordinator.core.share_states import StateBatch
from tests.core.share_state.world import MINE, PARTITIONS, TOPIC_ID, UPDATES_PER_SNAPSHOT, World


@pytest.fixture
def world() -> World:
    return World()


def snapshot_of(value: bytes | None) -> ShareSnapshotValue:
    assert value is not None
    return decode_versioned(ShareSnapshotValue, value)


def update_of(value: bytes | None) -> ShareUpdateValue:
    assert value is not None
    return decode_versioned(ShareUpdateValue, value)


def types(world: World) -> list[int]:
    return [prefix_of(key) for key, _ in world.records]


# ----------------------------------------------------------------------------------------------------------- initialize


def test_initialize_begins_with_a_snapshot(world: World):
    assert world.initialize().error is ErrorCode.NONE
    snapshot = snapshot_of(world.records[0][1])
    assert (snapshot.snapshot_epoch, snapshot.state_epoch, snapshot.leader_epoch) == (0, 2, 0)
    assert (snapshot.start_offset, snapshot.delivery_complete_count) == (-1, -1)
    assert (snapshot.create_timestamp, snapshot.write_timestamp) == (world.now_ms, world.now_ms)


def test_an_offset_that_is_set_has_no_records_done_before_it(world: World):
    world.initialize(start_offset=7)
    assert (world.state.start_offset, world.state.delivery_complete_count) == (7, 0)


def test_initialized_again_the_batches_are_gone_and_the_leader_stays_known(world: World):
    world.initialize()
    world.write((0, 4, 2, 1))
    world.read(leader_epoch=5)
    assert world.initialize(state_epoch=3, start_offset=2).error is ErrorCode.NONE
    state = world.state
    assert (state.snapshot_epoch, state.state_epoch, state.leader_epoch, state.batches) == (1, 3, 0, b"")
    assert world.write((2, 4, 2, 1), state_epoch=3, leader_epoch=4).error is ErrorCode.FENCED_LEADER_EPOCH


def test_an_older_state_epoch_is_fenced_and_minus_one_is_not(world: World):
    world.initialize(state_epoch=5)
    assert world.initialize(state_epoch=4).error is ErrorCode.FENCED_STATE_EPOCH
    assert world.initialize(state_epoch=5).error is ErrorCode.NONE
    assert world.initialize(state_epoch=-1).error is ErrorCode.NONE
    assert world.state.highest_state_epoch == 5


# ---------------------------------------------------------------------------------------------------------------- write


def test_a_write_is_an_update_with_what_is_new(world: World):
    world.initialize()
    world.write((0, 4, 2, 1), (5, 9, 2, 1), start_offset=0, done=10)
    world.write((8, 12, 4, 2), start_offset=3, done=10)
    assert types(world) == [0, 1, 1]
    first, second = update_of(world.records[1][1]), update_of(world.records[2][1])
    assert [(b.first_offset, b.last_offset) for b in first.state_batches] == [(0, 9)]
    assert [(b.first_offset, b.last_offset) for b in second.state_batches] == [(8, 12)]
    assert unpacked(world.state.batches) == (StateBatch(3, 7, 2, 1), StateBatch(8, 12, 4, 2))
    assert (world.state.start_offset, world.state.delivery_complete_count) == (3, 10)


def test_without_a_start_offset_that_stays(world: World):
    world.initialize(start_offset=4)
    world.write((6, 6, 2, 1), start_offset=-1)
    assert world.state.start_offset == 4
    assert update_of(world.records[1][1]).start_offset == -1


def test_after_enough_updates_comes_a_snapshot_of_all(world: World):
    world.initialize()
    for offset in range(UPDATES_PER_SNAPSHOT + 2):
        world.write((offset * 2, offset * 2, 2, 1), start_offset=0)
    assert types(world) == [0, *[1] * UPDATES_PER_SNAPSHOT, 0, 1]
    snapshot = snapshot_of(world.records[UPDATES_PER_SNAPSHOT + 1][1])
    assert snapshot.snapshot_epoch == 1
    assert len(snapshot.state_batches) == UPDATES_PER_SNAPSHOT + 1
    assert update_of(world.records[-1][1]).snapshot_epoch == 1


def test_without_updates_each_write_is_a_snapshot():
    world = World({"share.coordinator.snapshot.update.records.per.snapshot": "0"})
    world.initialize()
    world.write((0, 0, 2, 1))
    world.write((1, 1, 2, 1))
    assert types(world) == [0, 0, 0]
    assert world.state.snapshot_epoch == 2


def test_initializing_again_does_not_begin_the_count_of_updates_again(world: World):
    world.initialize()
    world.write((0, 0, 2, 1))
    world.initialize(state_epoch=3)
    for offset in range(UPDATES_PER_SNAPSHOT):
        world.write((offset, offset, 2, 1), state_epoch=3)
    assert types(world) == [0, 1, 0, 1, 1, 0]


def test_the_epochs_of_a_write_are_checked_and_not_taken_over(world: World):
    world.initialize()
    assert world.write((0, 0, 2, 1), leader_epoch=9, state_epoch=9).error is ErrorCode.NONE
    assert world.write((0, 0, 2, 1), leader_epoch=8, state_epoch=8).error is ErrorCode.NONE
    assert (world.state.leader_epoch, world.state.state_epoch) == (0, 2)


def test_the_checks_of_a_write_come_in_kafkas_order(world: World):
    elsewhere = SharePartition("g", bytes(16), 0)
    assert world.write(of=SharePartition("g", TOPIC_ID, -1)).message == "The partition id cannot be a negative number."
    assert world.write().error is ErrorCode.INVALID_REQUEST
    assert world.write().message == "Write operation on uninitialized share partition not allowed."
    assert world.write(of=elsewhere).error is ErrorCode.INVALID_REQUEST
    world.initialize()
    world.read(leader_epoch=3)
    assert world.write(leader_epoch=2, state_epoch=1).error is ErrorCode.FENCED_LEADER_EPOCH
    assert world.write(leader_epoch=-1, state_epoch=1).error is ErrorCode.FENCED_STATE_EPOCH
    world.topics.is_there = False
    assert world.write(leader_epoch=3, state_epoch=1).error is ErrorCode.FENCED_STATE_EPOCH
    assert world.write(leader_epoch=3).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert types(world) == [0, 1]


def test_a_batch_that_ends_before_it_begins_is_refused(world: World):
    world.initialize()
    world.write((0, 100, 2, 1))
    assert world.write((10, 5, 4, 2)).error is ErrorCode.INVALID_REQUEST
    assert len(world.records) == 2


def test_a_state_has_a_bound(world: World):
    world.initialize()
    many = [(2 * each, 2 * each, 2, 1) for each in range(BATCHES_MAX)]
    assert world.write(*many).error is ErrorCode.NONE
    assert world.write((2 * BATCHES_MAX, 2 * BATCHES_MAX, 2, 1)).error is ErrorCode.INVALID_REQUEST
    assert world.write(*many, (-5, -5, 2, 1)).error is ErrorCode.INVALID_REQUEST
    assert count_of(world.state.batches) == BATCHES_MAX


# ----------------------------------------------------------------------------------------------------- read and summary


def test_a_read_by_a_new_leader_stores_its_epoch_once(world: World):
    world.initialize()
    world.write((0, 4, 2, 1), start_offset=0, done=5)
    for _ in range(2):
        outcome = world.read(leader_epoch=6)
        assert outcome.state is not None
        assert unpacked(outcome.state.batches) == (StateBatch(0, 4, 2, 1),)
    assert types(world) == [0, 1, 1]
    update = update_of(world.records[-1][1])
    assert (update.leader_epoch, update.start_offset, update.delivery_complete_count) == (6, 0, 5)
    assert world.read(leader_epoch=5).error is ErrorCode.FENCED_LEADER_EPOCH
    assert world.read(leader_epoch=-1).error is ErrorCode.NONE


def test_a_read_of_what_is_not_initialized_is_refused(world: World):
    assert world.read().message == "Read operation on uninitialized share partition not allowed."
    assert world.read(of=SharePartition("g", TOPIC_ID, -1)).error is ErrorCode.INVALID_REQUEST


def test_the_summary_of_what_is_not_there_is_no_error(world: World):
    assert world.summary() == (ErrorCode.NONE, None, None)
    assert world.summary(SharePartition("g", TOPIC_ID, PARTITIONS)).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.initialize(start_offset=3)
    state = world.summary().state
    assert state is not None
    assert (state.start_offset, state.state_epoch) == (3, 2)
    assert types(world) == [0]


# --------------------------------------------------------------------------------------------------------------- delete


def test_a_deletion_is_a_tombstone_and_nothing_if_it_is_not_there(world: World):
    assert world.delete().error is ErrorCode.NONE
    assert world.records == []
    world.initialize(state_epoch=9)
    assert world.delete().error is ErrorCode.NONE
    assert world.records[1][1] is None
    assert world.records[1][0] == world.records[0][0]
    assert world.initialize(state_epoch=1).error is ErrorCode.NONE, "nothing is known of epochs"


def test_a_deleted_topics_state_is_forgotten(world: World):
    world.initialize()
    world.topics.is_there = False
    assert world.delete().error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.decide(operations.FORGET, MINE, None)
    assert world.states == {} == world.replayed()


# ----------------------------------------------------------------------------------------------------------------- cold


def test_a_cold_state_is_copied(world: World):
    world.initialize()
    made_ms = world.now_ms
    world.now_ms += 299_999
    world.decide(operations.COPY_IF_COLD, MINE, None)
    assert types(world) == [0]
    world.now_ms += 1
    world.decide(operations.COPY_IF_COLD, MINE, None)
    snapshot = snapshot_of(world.records[-1][1])
    assert (snapshot.snapshot_epoch, snapshot.create_timestamp) == (1, made_ms)
    assert snapshot.write_timestamp == world.now_ms
    assert world.state.is_cold


# ----------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize("group_id", ["g", "a:b", ":", "ü"])
def test_a_key_is_read_as_it_was_written(group_id: str):
    of = SharePartition(group_id, TOPIC_ID, 12)
    assert of.key == f"{group_id}:AAECAwQFBgcICQoLDA0ODw:12"
    assert parse_key(of.key) == of


@pytest.mark.parametrize(
    "key", ["", "g", "g:AAECAwQFBgcICQoLDA0ODw", ":AAECAwQFBgcICQoLDA0ODw:1", "g:A:1", "g:AAECAwQFBgcICQoLDA0ODw:x"]
)
def test_what_is_no_key_is_refused(key: str):
    with pytest.raises(ValueError, match=r".*"):
        parse_key(key)


# ---------------------------------------------------------------------------------------------------------- any history


class Histories(RuleBasedStateMachine):
    """Any requests: what is stored describes the states, and each offset is as a plain model has it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.model: dict[int, tuple[int, int]] = {}
        self.start = -1

    @rule(state_epoch=st.integers(-1, 4), start_offset=st.sampled_from([-1, 0, 5]))
    def initialize(self, state_epoch: int, start_offset: int) -> None:
        if self.world.initialize(state_epoch, start_offset).error is ErrorCode.NONE:
            self.model, self.start = {}, start_offset

    @rule(
        raw=st.lists(
            st.tuples(st.integers(0, 20), st.integers(0, 6), st.sampled_from([0, 2, 4]), st.integers(1, 3)), max_size=4
        ),
        start_offset=st.integers(-1, 12),
        state_epoch=st.integers(-1, 4),
        leader_epoch=st.integers(-1, 3),
    )
    def write(
        self, raw: list[tuple[int, int, int, int]], start_offset: int, state_epoch: int, leader_epoch: int
    ) -> None:
        batches = [(first, first + more, state, count) for first, more, state, count in raw]
        outcome = self.world.write(
            *batches, state_epoch=state_epoch, leader_epoch=leader_epoch, start_offset=start_offset
        )
        if outcome.error is ErrorCode.NONE:
            self.start = self.start if start_offset == -1 else start_offset
            for first, last, state, count in batches:
                for offset in range(first, last + 1):
                    self.model[offset] = max(self.model.get(offset, (0, 0)), (count, state))
            self.model = {offset: value for offset, value in self.model.items() if offset >= self.start}

    @rule(leader_epoch=st.integers(-1, 3))
    def read(self, leader_epoch: int) -> None:
        self.world.read(leader_epoch)

    @rule()
    def delete(self) -> None:
        self.world.delete()
        self.model, self.start = {}, -1

    @rule(ms=st.integers(1, 400_000))
    def wait(self, ms: int) -> None:
        self.world.now_ms += ms
        self.world.decide(operations.COPY_IF_COLD, MINE, None)

    @invariant()
    def what_is_stored_describes_the_states(self) -> None:
        assert self.world.replayed() == self.world.states

    @invariant()
    def each_offset_is_as_in_the_model(self) -> None:
        state = self.world.states.get(MINE.key)
        found = {}
        for first, last, delivery_state, count in () if state is None else unpacked(state.batches):
            for offset in range(first, last + 1):
                found[offset] = (count, delivery_state)
        assert found == self.model
        assert state is None or state.start_offset == self.start


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=100, stateful_step_count=20)
