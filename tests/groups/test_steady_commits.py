"""A commit that takes the short way does what the core does, byte for byte; anything unusual is left to the core."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.core.groups.states import GroupState
from coordinator.core.stored import Producer
from tests.examples import examples
from tests.groups.steady_worlds import Answer, SteadyWorld
from tests.simulation.simulation import GROUP_ID

OLDEST = 1
RETENTION_VERSION = 2
LEADER_EPOCH_VERSION = 6
INSTANCE_ID_VERSION = 7
TOPIC_ID_VERSION = 10
VERSIONS = range(OLDEST, OffsetCommitRequest.MAX_VERSION + 1)
METADATA_MAX = 20


class Both:
    """The same is done on both servers."""

    def __init__(self, *, drains_steady: bool = True) -> None:
        limits = {"offset.metadata.max.bytes": str(METADATA_MAX)}
        self.short = SteadyWorld(has_steady_commits=True, drains_steady=drains_steady, settings=limits)
        self.long = SteadyWorld(has_steady_commits=False, settings=limits)
        self.member_id = self.do(lambda world: world.stable_with("a", "b")[0])
        self.check()

    def do(self, action: Callable[[SteadyWorld], Any]) -> Any:
        one, other = action(self.short), action(self.long)
        assert repr(one) == repr(other)
        return one

    def commit(self, request: OffsetCommitRequest, version: int) -> Answer:
        answers = [world.send(request, version) for world in (self.short, self.long)]
        assert answers[0].encoded == answers[1].encoded
        assert answers[0].error == answers[1].error
        self.check()
        return answers[0]

    def check(self) -> None:
        assert self.short.state() == self.long.state()

    @property
    def generation_id(self) -> int:
        return self.short.group.generation_id


class Partition(NamedTuple):
    topic: str
    number: int
    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


def request_of(both: Both, version: int, partitions: list[Partition], **fields: Any) -> OffsetCommitRequest:
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition in partitions:
        made = OffsetCommitRequestPartition(
            partition_index=partition.number, committed_offset=partition.offset, committed_metadata=partition.metadata
        )
        if version >= LEADER_EPOCH_VERSION:
            made.committed_leader_epoch = partition.leader_epoch
        by_topic.setdefault(partition.topic, []).append(made)
    topics = [
        OffsetCommitRequestTopic(topic_id=name.encode().ljust(16, b"\0"), partitions=each)
        if version >= TOPIC_ID_VERSION
        else OffsetCommitRequestTopic(name=name, partitions=each)
        for name, each in by_topic.items()
    ]
    named: dict[str, Any] = {
        "group_id": GROUP_ID,
        "member_id": both.member_id,
        "generation_id_or_member_epoch": both.generation_id,
    }
    return OffsetCommitRequest(**{**named, "topics": topics, **fields})


def steady(both: Both) -> int:
    return both.short.steady_commits


@pytest.mark.parametrize("version", VERSIONS)
def test_a_steady_commit_of_each_version_takes_the_short_way(version):
    both = Both()
    partitions = [Partition("t", 0, 5), Partition("t", 7, 8, "text", 3), Partition("other", 1, 2, None)]
    both.do(lambda world: world.advance(700))
    answer = both.commit(request_of(both, version, partitions), version)
    assert steady(both) == 1
    assert answer.encoded is not None
    assert both.short.shard.machine.groups[GROUP_ID].offsets.by_topic["t"][7].metadata == "text"


PARTITIONS = st.builds(
    Partition,
    st.sampled_from(["t", "u", "a-longer-name"]),
    st.integers(0, 3) | st.sampled_from([300, 1 << 20]),
    st.integers(0, 3) | st.sampled_from([-1, 1 << 40]),
    st.sampled_from([None, "", "m", "x" * METADATA_MAX, "x" * (METADATA_MAX + 1), "naïve"]),
    st.sampled_from([-1, 0, 7]),
)
COMMITS = st.tuples(
    st.sampled_from(list(VERSIONS)),
    st.lists(PARTITIONS, min_size=1, max_size=5),
    st.sampled_from([0, 0, 0, 0, 1]),
    st.integers(0, 3_000),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(COMMITS, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_commits_do_the_same_both_ways(commits, in_one_turn, drains_steady):
    """Also those that go back, name a partition twice, have long texts, or another generation, all in one batch."""
    both = Both(drains_steady=drains_steady)
    answers: list[tuple[Answer, Answer]] = []
    for world in (both.short, both.long):
        world.is_batching = in_one_turn
    for version, partitions, off, wait_ms in commits:
        if not in_one_turn:
            for world in (both.short, both.long):
                world.advance(wait_ms)
        request = request_of(both, version, partitions, generation_id_or_member_epoch=both.generation_id + off)
        one, other = (world.send(request, version) for world in (both.short, both.long))
        answers.append((one, other))
    for world in (both.short, both.long):
        world.is_batching = False
        world.end_iteration()
    for one, other in answers:
        assert one.encoded == other.encoded
        assert one.encoded is not None
    both.check()


def test_a_commit_renews_the_session_of_its_member():
    both = Both()
    timeout_ms = both.short.sessions.timeout_ms(GROUP_ID, both.member_id)
    assert timeout_ms is not None
    for _ in range(4):
        both.do(lambda world: world.advance(timeout_ms // 2))
        both.do(
            lambda world: world.sessions.answer_heartbeat(
                GROUP_ID, sorted(set(world.group.members) - {both.member_id})[0], None, both.generation_id, world.now_ms
            )
        )
        both.commit(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    assert steady(both) == 4
    assert both.member_id in both.short.group.members


@pytest.mark.parametrize(
    ("what", "version", "fields"),
    [
        ("a wrong generation", 8, {"generation_id_or_member_epoch": 99}),
        ("an unknown member", 8, {"member_id": "nobody"}),
        ("an unknown group", 8, {"group_id": "another"}),
        ("an instance id that the member has not", INSTANCE_ID_VERSION, {"group_instance_id": "i"}),
        ("a retention time", RETENTION_VERSION, {"retention_time_ms": 5_000}),
        ("no topic", 8, {"topics": []}),
        (
            "an unknown topic id",
            TOPIC_ID_VERSION,
            {"topics": [OffsetCommitRequestTopic(topic_id=bytes(16), partitions=[OffsetCommitRequestPartition()])]},
        ),
        (
            "a partition that does not exist",
            8,
            {
                "topics": [
                    OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(partition_index=-1)])
                ]
            },
        ),
    ],
)
def test_what_is_unusual_is_not_read(what, version, fields):
    both = Both()
    both.commit(request_of(both, version, [Partition("t", 0, 5)], **fields), version)
    assert steady(both) == 0, what


def test_a_commit_of_a_deleted_topic_is_not_read():
    both = Both()
    both.commit(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    both.do(lambda world: world.delete_topic("t"))
    both.commit(request_of(both, 8, [Partition("t", 0, 6)]), 8)
    assert steady(both) == 1
    both.do(lambda world: world.create_topic("t"))
    both.commit(request_of(both, 8, [Partition("t", 0, 7)]), 8)
    assert steady(both) == 2


def test_a_commit_waits_for_what_was_queued_before_it():
    """The member leaves first, then it commits: what was steady when it came is decided by the core at its turn."""
    both = Both()
    for world in (both.short, both.long):
        with world.one_turn():
            world.leave(both.member_id)
            request = request_of(both, 8, [Partition("t", 0, 5)])
            world.last_answer = world.send(request, 8)
    assert both.short.last_answer.encoded == both.long.last_answer.encoded
    assert steady(both) == 1, "it was read"
    assert both.short.shard.machine.groups[GROUP_ID].offsets.by_topic == {}, "and rejected"
    both.check()


def test_a_commit_comes_before_what_was_queued_after_it():
    both = Both()
    for world in (both.short, both.long):
        with world.one_turn():
            world.last_answer = world.send(request_of(both, 8, [Partition("t", 0, 5)]), 8)
            world.leave(both.member_id)
    assert both.short.last_answer.encoded == both.long.last_answer.encoded
    assert both.short.shard.machine.groups[GROUP_ID].offsets.by_topic["t"][0].offset == 5
    assert both.short.group.state is not GroupState.STABLE
    both.check()


def test_a_commit_beside_pending_offsets_of_a_transaction_is_decided_by_the_core():
    both = Both()
    producer = Producer(7, 0)
    both.do(lambda world: world.commit_in_transaction(producer, offset=9).response)
    both.commit(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    assert steady(both) == 1
    both.do(lambda world: world.end_transaction(producer).response)
    both.check()
    assert both.short.shard.machine.groups[GROUP_ID].offsets.by_topic["t"][0].offset == 5, "the later one counts"


def test_a_commit_that_the_log_does_not_take_is_answered_so():
    both = Both()
    for world in (both.short, both.long):
        world.disk.bytes_left = 0
    answer = both.short.send(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    other = both.long.send(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    assert (answer.encoded, answer.error) == (other.encoded, other.error)
    assert not both.short.shard.is_active
    for world in (both.short, both.long):
        world.disk.bytes_left = None
        world.advance(500)
    assert both.short.shard.is_active
    both.check()


def test_an_expired_session_is_not_renewed():
    """Its timer has not fired yet: the core decides whether the member is still one."""
    both = Both()
    timeout_ms = both.short.sessions.timeout_ms(GROUP_ID, both.member_id)
    assert timeout_ms is not None
    for world in (both.short, both.long):
        world.clock.advance(timeout_ms)
    answer = both.short.send(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    other = both.long.send(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    assert answer.encoded == other.encoded
    assert steady(both) == 0
    both.check()
