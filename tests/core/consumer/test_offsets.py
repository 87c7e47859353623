"""Offsets of consumer groups: by member epoch."""

import pytest

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.offsets import OFFSET_RULES
from tests.core.consumer.world import World


def moved() -> World:
    """A group in which `a` has kept two partitions since epoch 2 and is in epoch 3."""
    world = World()
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.beat("a", 2, owned=world.assigned("a"))
    assert world.epoch("a") == 3
    return world


def test_the_epoch_of_the_member_commits_any_partition() -> None:
    world = moved()
    assert world.commit_offsets("a", 3, {0: 1, 1: 1, 2: 1}) == {NONE}
    assert world.commit_offsets("a", 4, {0: 1}) == {ErrorCode.STALE_MEMBER_EPOCH}
    assert world.commit_offsets("x", 3, {0: 1}) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert world.commit_offsets("", -1, {0: 1}) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert world.commit_offsets("a", 3, {0: 1}, version=8) == {ErrorCode.UNSUPPORTED_VERSION}


def test_an_earlier_epoch_commits_what_the_member_has_kept() -> None:
    world = moved()
    (kept,) = world.assigned("a").values()
    (given,) = {0, 1, 2} - set(kept)
    assert world.commit_offsets("a", 2, dict.fromkeys(kept, 5)) == {NONE}
    assert world.commit_offsets("a", 1, {kept[0]: 5}) == {ErrorCode.STALE_MEMBER_EPOCH}
    stale = world.commit_offsets("a", 2, {kept[0]: 6, given: 6})
    assert stale == {ErrorCode.STALE_MEMBER_EPOCH}
    assert world.offsets.by_topic["t"][kept[0]].offset == 5, "one bad partition fails the whole commit"


def test_a_pending_partition_may_be_committed() -> None:
    world = World()
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    (pending,) = world.pending_of("a")["t"]
    assert world.commit_offsets("a", 2, {pending: 9}) == {NONE}


def test_anybody_may_commit_while_there_is_no_member() -> None:
    world = World()
    world.enter("a")
    world.depart("a")
    assert world.commit_offsets("", -1, {0: 3}, version=8) == {NONE}
    assert world.commit_offsets("a", 2, {0: 3}) == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_a_fetch_of_a_member_is_strict() -> None:
    world = moved()
    assert world.fetch_error(None, -1) is NONE
    assert world.fetch_error("a", 3) is NONE
    assert world.fetch_error("a", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert world.fetch_error("", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.fetch_error(None, 3) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        ("", -1, NONE),
        ("a", 3, NONE),
        ("a", 4, ErrorCode.ILLEGAL_GENERATION),
        ("a", -1, ErrorCode.ILLEGAL_GENERATION),
        ("x", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_commit_in_a_transaction_tells_a_stale_epoch_as_a_generation(
    member_id: str, epoch: int, error: ErrorCode
) -> None:
    world = moved()
    committed = [_Topic("t", [0, 1, 2])]
    found = OFFSET_RULES.validate_transactional_commit(world.consumer, member_id, None, epoch, committed, world.fixed)
    assert found is error


class _Partition:
    def __init__(self, index: int) -> None:
        self.partition_index = index


class _Topic:
    def __init__(self, name: str, indexes: list[int]) -> None:
        self.name = name
        self.partitions = [_Partition(index) for index in indexes]
