"""OffsetFetch read where it lies is answered as the core answers it, byte for byte, or left to it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.errors import ErrorCode
from _wire.headers import encode_request
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from coordinator.core.stored import Producer
from coordinator.groups.steady_fetches import SteadyFetches
from tests.examples import examples
from tests.groups.steady_worlds import CORRELATION_ID, SteadyWorld
from tests.groups.test_steady_commits import Both, Partition, request_of
from tests.simulation.simulation import GROUP_ID

LENGTH_BYTES = 4
OLDEST = 1
STABLE_VERSION = 7
GROUPS_VERSION = 8
MEMBER_VERSION = 9
TOPIC_ID_VERSION = 10
VERSIONS = range(OLDEST, OffsetFetchRequest.MAX_VERSION + 1)
Asked = list[tuple[str, list[int]]]


@pytest.fixture(scope="module")
def world() -> SteadyWorld:
    both = Both()
    committed = [Partition("t", 0, 5), Partition("t", 300, 1 << 40, "text", 3), Partition("u", 1, 2, None)]
    both.commit(request_of(both, 8, committed), 8)
    both.commit(request_of(both, 8, [Partition("u", 2, 7, "naïve")]), 8)
    return both.short


def fetches_of(world: SteadyWorld) -> SteadyFetches:
    assert world.sessions.commits is not None
    return SteadyFetches(world.sessions, world.sessions.commits, world.coordinator)


def request_for(
    version: int, asked: Asked, *, group_id: str = GROUP_ID, is_stable: bool = False, **member: Any
) -> OffsetFetchRequest:
    request = OffsetFetchRequest()
    if version >= STABLE_VERSION:
        request.require_stable = is_stable
    if version < GROUPS_VERSION:
        request.group_id = group_id
        request.topics = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in asked]
        return request
    topics = [
        OffsetFetchRequestTopics(topic_id=name.encode()[:16].ljust(16, b"\0"), partition_indexes=indexes)
        if version >= TOPIC_ID_VERSION
        else OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
        for name, indexes in asked
    ]
    request.groups = [OffsetFetchRequestGroup(group_id=group_id, topics=topics, **member)]
    return request


def frame_of(request: OffsetFetchRequest, version: int) -> bytes:
    return encode_request(CORRELATION_ID, "client", request, version)[LENGTH_BYTES:]


def both_answers(world: SteadyWorld, request: OffsetFetchRequest, version: int) -> tuple[bytes | None, bytes | None]:
    frame = frame_of(request, version)
    return fetches_of(world).answer(frame), world.decided_fetch(request, version)


ASKED = st.lists(
    st.tuples(
        st.sampled_from(["t", "u", "not-committed", "x" * 130]),
        st.lists(st.sampled_from([0, 1, 2, 300, -1, 2**31 - 1]), min_size=1, max_size=4)
        | st.lists(st.integers(0, 5), min_size=126, max_size=130),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(list(VERSIONS)), ASKED, st.booleans())
def test_answers_as_the_core_does(world, version, asked, is_stable):
    found, decided = both_answers(world, request_for(version, asked, is_stable=is_stable), version)
    assert decided is not None
    assert found == decided


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(list(VERSIONS)), ASKED, st.data())
def test_declines_every_frame_cut_short(world, version, asked, data):
    frame = frame_of(request_for(version, asked), version)
    assert fetches_of(world).answer(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None
    assert fetches_of(world).answer(frame) is not None


@pytest.mark.parametrize("version", range(MEMBER_VERSION, OffsetFetchRequest.MAX_VERSION + 1))
def test_a_member_of_a_classic_group_may_name_itself(world, version):
    request = request_for(version, [("t", [0])], member_id=world.group.leader, member_epoch=77)
    found, decided = both_answers(world, request, version)
    assert found == decided is not None


@pytest.mark.parametrize(
    ("what", "version", "request_"),
    [
        ("all topics", 7, OffsetFetchRequest(group_id=GROUP_ID, topics=None)),
        ("no topics", 7, OffsetFetchRequest(group_id=GROUP_ID, topics=[])),
        ("an unknown group", 7, request_for(7, [("t", [0])], group_id="another")),
        ("no partitions", 7, request_for(7, [("t", [])])),
        ("two groups", 8, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP_ID, topics=[])] * 2)),
        ("a topic id that nobody has", 10, request_for(10, [("", [0])])),
        ("more than is answered in one piece", 7, request_for(7, [("t", list(range(1_000)))])),
    ],
)
def test_what_is_unusual_is_left_to_the_core(world, what, version, request_):
    assert fetches_of(world).answer(frame_of(request_, version)) is None, what


def test_version_0_is_left_to_the_core(world):
    assert fetches_of(world).answer(frame_of(request_for(0, [("t", [0])]), 0)) is None


@pytest.fixture
def own() -> SteadyWorld:
    both = Both()
    both.commit(request_of(both, 8, [Partition("t", 0, 5)]), 8)
    return both.short


def test_offsets_of_an_open_transaction_are_left_to_the_core(own):
    request = request_for(7, [("t", [0])], is_stable=True)
    assert fetches_of(own).answer(frame_of(request, 7)) is not None
    own.commit_in_transaction(Producer(7, 0), offset=9)
    assert fetches_of(own).answer(frame_of(request, 7)) is None
    decided = own.decided_fetch(request, 7)
    assert decided is not None
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT.to_bytes(2, "big") in decided


def test_a_fetch_waits_for_the_commit_that_was_queued_before_it(own):
    request = frame_of(request_for(7, [("t", [0])]), 7)
    before = fetches_of(own).answer(request)
    with own.one_turn():
        own.commit(own.group.leader, generation_id=own.group.generation_id, offset=6)
        assert fetches_of(own).answer(request) is None
    assert fetches_of(own).answer(request) not in (None, before)


def test_a_partition_that_is_not_served_is_left_to_the_core(own):
    own.coordinator.unload(0)
    assert fetches_of(own).answer(frame_of(request_for(7, [("t", [0])]), 7)) is None


@pytest.mark.parametrize("switch", ["leaves_heartbeats", "leaves_requests", "asks_authorizer"])
def test_where_a_step_has_to_see_requests_all_go_to_the_core(own, switch):
    frame = frame_of(request_for(7, [("t", [0])]), 7)
    setattr(own.sessions, switch, True)
    assert fetches_of(own).answer(frame) is None
    setattr(own.sessions, switch, False)
    assert fetches_of(own).answer(frame) is not None
