"""What a generation changes of who owns what, beside plain sets and dicts."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.consumer_protocol_subscription import TopicPartition as OwnedPartition
from coordinator.audit import schema
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.partition_owners import by_topic
from coordinator.core.assignors.consumer_protocol import encode_assignment
from coordinator.core.classic.group import Member
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.topic_partition import TopicPartition

Partitions = set[tuple[str, int]]
PARTITIONS = st.sets(st.tuples(st.sampled_from("tus"), st.integers(0, 12)), max_size=20)
GENERATIONS = st.lists(st.lists(st.tuples(st.sampled_from("abc"), PARTITIONS, PARTITIONS), max_size=3), max_size=5)
"""Each: which member gets what, and what it claims to own."""


def member(member_id: str) -> Member:
    return Member(member_id, None, "client", "/127.0.0.1", 10_000, 20_000, ())


def naive(partitions: Partitions) -> list[tuple[str, list[int]]]:
    topics = sorted({topic for topic, _ in partitions})
    return [(topic, sorted(index for name, index in partitions if name == topic)) for topic in topics]


def subscription(claimed: Partitions) -> bytes:
    owned = [OwnedPartition(topic=topic, partitions=indexes) for topic, indexes in naive(claimed)]
    return encode_versioned(ConsumerProtocolSubscription(topics=["t"], owned_partitions=owned), 1)


def assign(
    state: GroupAuditState, member_id: str, partitions: Partitions, claimed: Iterable[tuple[str, int]] = ()
) -> tuple[dict[str, list[int]], ...]:
    """What the member gained, lost and kept."""
    assignment = encode_assignment(dict(naive(partitions)))
    fields = state.assign(member_id, CONSUMER_PROTOCOL_TYPE, subscription(set(claimed)), assignment, 1)
    assert fields["readable"] and (fields["unnamed_partitions"] or fields["partitions"] == dict(naive(partitions)))
    return fields["gained"], fields["lost"], fields["kept"]


@given(PARTITIONS)
def test_partitions_by_topic_are_in_order(partitions):
    assert list(by_topic(partitions).items()) == naive(partitions)
    assert by_topic([TopicPartition(*partition) for partition in partitions]) == by_topic(partitions)


@given(PARTITIONS, GENERATIONS)
def test_an_assignment_is_compared_with_what_was_owned(loaded, generations):
    state = GroupAuditState()
    owned: dict[str, Partitions] = {"a": set(loaded), "b": set(), "c": set()}
    last_owner = dict.fromkeys(loaded, "a")
    for member_id, partitions in owned.items():
        state.remember_member(member(member_id), partitions, 0)
    for at_ms, generation in enumerate(generations):
        state.start_generation(at_ms)
        assigned = moved = unowned = 0
        for member_id, now, claimed in generation:
            before = owned[member_id]
            moved += sum(last_owner.get(partition, member_id) != member_id for partition in now - before)
            assigned, unowned = assigned + len(now), unowned + len(now - claimed)
            changes = assign(state, member_id, now, claimed)
            assert [list(change.items()) for change in changes] == [
                naive(now - before),
                naive(before - now),
                naive(now & before),
            ]
            owned[member_id] = now
            last_owner |= dict.fromkeys(now, member_id)
            assert state.members[member_id].owned == tuple(sorted(now))
        assert (state.partitions, state.moved, state.unowned) == (assigned, moved, unowned)
        assert state.generation_started_ms == at_ms


def test_a_replaced_member_owns_what_the_old_one_did():
    state = GroupAuditState()
    state.remember_member(member("old"), [("t", 0)], 0)
    state.replace_member("old", member("new"))
    assert assign(state, "new", {("t", 0)}) == ({}, {}, {"t": [0]})
    assert (state.moved, state.members.keys()) == (0, {"new"})


def test_partitions_that_are_not_named_are_counted():
    state = GroupAuditState()
    state.remember_member(member("a"), [("t", 0)], 0)
    state.start_generation(0)
    assert assign(state, "a", {("t", index) for index in range(20_000)}) == ({}, {}, {})
    assert (state.partitions, state.unowned, state.members["a"].owned) == (20_000, 0, ())
    assert state.members["a"].unnamed_partitions == 20_000
    state.start_generation(1)
    assert assign(state, "a", {("t", 0)}) == ({"t": [0]}, {}, {}), "it is compared with nothing"
    assert state.members["a"].unnamed_partitions == 0


def test_a_generation_names_so_many_partitions_in_all():
    state = GroupAuditState()
    state.remember_member(member("a"), [("t", 0), ("t", 1)], 0)
    assert state.nameable_partitions == schema.PARTITIONS_NAMED_MAX - 2
    state.start_generation(0)
    assign(state, "a", {("t", 0)})
    assert state.nameable_partitions == schema.PARTITIONS_NAMED_MAX - 1


def play_generation(state: GroupAuditState, plan: dict[str, Partitions]) -> int:
    state.start_generation(0)
    for member_id, partitions in plan.items():
        assign(state, member_id, partitions)
    state.forget_old_owners()
    return state.moved


def test_an_owner_is_forgotten_after_two_generations_without_one():
    state = GroupAuditState()
    for name in "ab":
        state.remember_member(member(name), (), 0)
    everything = {("t", index) for index in range(4)}
    play_generation(state, {"a": everything, "b": set()})
    assert play_generation(state, {"a": {("t", 0)}, "b": {("t", 1)}}) == 1
    assert state.owners.keys() == everything, "cooperative assignors assign t-2 and t-3 in the next generation"
    assert play_generation(state, {"a": {("t", 0)}, "b": {("t", 1), ("t", 2)}}) == 1
    assert state.owners.keys() == everything - {("t", 3)}
    assert play_generation(state, {"a": {("t", 0)}, "b": {("t", 1), ("t", 2), ("t", 3)}}) == 0


@given(st.lists(st.lists(st.sampled_from(["a", "b", None]), min_size=6, max_size=6), max_size=12))
def test_owners_are_those_of_two_generations_at_most(plans):
    state = GroupAuditState()
    for name in "ab":
        state.remember_member(member(name), (), 0)
    assigned: list[Partitions] = [set(), set()]
    for plan in plans:
        named = {name: {("t", index) for index, to in enumerate(plan) if to == name} for name in "ab"}
        play_generation(state, named)
        assigned.append(named["a"] | named["b"])
        assert state.owners.keys() == assigned[-1] | assigned[-2], "not those of the one before"


def test_members_that_subscribe_alike_share_one_list_of_topics():
    state = GroupAuditState()
    for name in "ab":
        state.remember_member(member(name), (), 0)
        state.subscribe(name, CONSUMER_PROTOCOL_TYPE, subscription(set()))
    assert state.members["a"].topics == ["t"]
    assert state.members["b"].topics is state.members["a"].topics
    state.subscribe("b", CONSUMER_PROTOCOL_TYPE, b"")
    assert (state.members["a"].topics, state.members["b"].topics) == (["t"], [])


def test_what_a_member_keeps_is_named_anew_when_its_topic_is_gone():
    state = GroupAuditState()
    state.remember_member(member("a"), (), 0)
    assigned = {bytes(16): {1: 5, 0: 5}}

    def reassigned(name: str) -> tuple[object, ...]:
        fields = state.reassign("a", 5, "STABLE", assigned, {}, lambda topic_id: name, 0)
        return fields["gained"], fields["lost"], fields["kept"]

    assert reassigned("t") == ({"t": [0, 1]}, {}, {})
    assert reassigned("t") == ({}, {}, {"t": [0, 1]})
    assert reassigned("gone") == ({"gone": [0, 1]}, {"t": [0, 1]}, {})
