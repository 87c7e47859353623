"""A write that takes no decision stores and leaves what the operation would, byte for byte."""

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.errors import ErrorCode
from coordinator.core.share_state.decisions import BATCHES_MAX, BATCHES_PER_OPERATION
from coordinator.core.share_state.requests import Write
from coordinator.core.share_state.state import SharePartition
from coordinator.core.share_states import StateBatch
from tests.examples import examples
from tests.share_state.world import PARTITIONS, TOPIC, World


class Update(NamedTuple):
    """A write of a partition; epochs are those of who writes."""

    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: list[StateBatch]


class Both:
    """The same is done in two worlds, in one of them by operations alone."""

    def __init__(self) -> None:
        self.steady, self.decided = World(), World()
        for world in (self.steady, self.decided):
            world.initialize(0, 1)
            world.read(1, leader_epoch=3)

    def write(self, *updates: Update) -> list[ErrorCode]:
        """Write these in one turn; the answers."""
        answers: list[ErrorCode] = []
        expected: list[ErrorCode] = []
        for update in updates:
            self.steady.states.writer("g", self.steady.topic_id, update.partition)(*update[1:], answers.append)
            of = SharePartition("g", self.decided.topic_id, update.partition)
            self.decided.states._ask_to_write(Write(of, *update[1:]), expected.append)
        for world in (self.steady, self.decided):
            world.run()
        self.check()
        assert answers == expected
        return answers

    def check(self) -> None:
        assert self.steady.all == self.decided.all
        for index in range(2):
            one, other = (bytes(world.log(index).read(0, 1 << 20)) for world in (self.steady, self.decided))
            assert one == other
        for one_shard, other_shard in zip(self.steady.coordinator.shards, self.decided.coordinator.shards, strict=True):
            assert one_shard.machine.held_bytes == other_shard.machine.held_bytes
            assert one_shard.machine.writes == other_shard.machine.writes


OFFSETS = st.integers(-1, 12) | st.sampled_from([1 << 40, (1 << 63) - 1])
BATCHES = st.builds(StateBatch, OFFSETS, OFFSETS, st.sampled_from([0, 2, 4]), st.integers(0, 300))
UPDATES = st.builds(
    Update,
    st.integers(-1, PARTITIONS),
    st.integers(-1, 3),
    st.integers(-1, 4),
    st.integers(-1, 8),
    st.integers(-1, 5) | st.just((1 << 31) - 1),
    st.lists(BATCHES, max_size=4),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.lists(UPDATES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_writes_do_the_same_both_ways(turns: list[list[Update]]) -> None:
    """Also those of who is fenced, of partitions that do not exist, with batches that end before they begin."""
    both = Both()
    for updates in turns:
        both.write(*updates)


def accepted(count: int) -> list[StateBatch]:
    return [StateBatch(offset, offset, 2, 1 + offset % 2) for offset in range(count)]


def test_very_many_batches_are_written_both_ways() -> None:
    both = Both()
    for count in (BATCHES_PER_OPERATION - 1, BATCHES_PER_OPERATION, 1_000, BATCHES_MAX + 1):
        both.write(Update(0, 2, 0, 0, count, accepted(count)))


def test_no_update_makes_a_state_too_large() -> None:
    both = Both()
    assert both.write(Update(0, 2, 0, 0, -1, accepted(BATCHES_MAX))) == [ErrorCode.NONE]
    beyond = [StateBatch(BATCHES_MAX, BATCHES_MAX, 2, 1)]
    assert both.write(Update(0, 2, 0, -1, -1, beyond)) == [ErrorCode.INVALID_REQUEST]


def test_the_topic_is_looked_for_again_when_topics_change() -> None:
    world = World()
    world.initialize(0)
    write = world.states.writer("g", world.topic_id, 0)
    answers: list[ErrorCode] = []
    write(2, 0, 0, 1, accepted(1), answers.append)
    world.run()
    world.broker.topics.delete([TOPIC], world.now_ms())
    write(2, 0, 0, 1, accepted(1), answers.append)
    world.run()
    assert answers == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
