"""A group that changes its protocol, with topics of which nobody knows the names: each counts once."""

from collections.abc import Callable
from typing import Final

from coordinator.audit.schema import TopicPartitions
from coordinator.observe.group import observed_events
from coordinator.observe.history import ObservedHistory
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import (
    ClassicGroup,
    ClassicMember,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    TargetEpoch,
)

GROUP: Final = "billing"
ORDERS: Final = "0a" * 16
PAYMENTS: Final = "0b" * 16
T0: Final = 1_700_000_000_000


def history(records: list[GroupRecord], name_of: Callable[[str], str] = str) -> ObservedHistory:
    """Nobody knows a name: `str`."""
    placed = [
        (Place(Source.RECORD, "__consumer_offsets-1", T0 + number * 1_000, number), record)
        for number, record in enumerate(records)
    ]
    return ObservedHistory.of_observed(GROUP, observed_events(GROUP, placed, [], name_of))


def classic(generation_id: int, **owned: TopicPartitions) -> ClassicGroup:
    members = [
        ClassicMember(f"{name}-id", name, "/10.0.0.1", None, ["orders", "payments"], b"", partitions)
        for name, partitions in owned.items()
    ]
    return ClassicGroup(GROUP, generation_id, "consumer", "range", "a-id", -1, members)


def consumer(epoch: int, **owned: TopicPartitions) -> list[GroupRecord]:
    topics = ["orders", "payments"]
    members = [ConsumerMember(GROUP, f"{name}-id", topics, name, "/10.0.0.1") for name in owned]
    reached = [CurrentAssignment(GROUP, f"{name}-id", epoch, True, held) for name, held in owned.items()]
    return [*members, GroupEpoch(GROUP, epoch), TargetEpoch(GROUP, epoch), *reached]


def moved(found: ObservedHistory) -> list[int | None]:
    return [generation.partitions_moved for generation in found.generations]


def held(found: ObservedHistory) -> dict[str, TopicPartitions]:
    return {known.member.client_id: known.partitions for known in found.members.values()}


BOTH_BY_NAME: Final = {"orders": [0, 1], "payments": [0]}
BOTH_BY_ID: Final = {ORDERS: [0, 1], PAYMENTS: [0]}


def test_a_classic_group_that_becomes_one_of_kip_848_keeps_the_names_of_its_topics():
    found = history([classic(1, a=BOTH_BY_NAME), ClassicGroup(GROUP), *consumer(2, a=BOTH_BY_ID)])
    assert held(found) == {"a": BOTH_BY_NAME}
    assert not found.members["a-id"].partitions.keys() & {ORDERS, PAYMENTS}
    assert moved(found)[-1] == 0


def test_two_topics_that_look_the_same_keep_their_ids():
    same = {"orders": [0], "payments": [0]}
    found = history([classic(1, a=same), ClassicGroup(GROUP), *consumer(2, a={ORDERS: [0], PAYMENTS: [0]})])
    assert held(found) == {"a": {ORDERS: [0], PAYMENTS: [0]}}


def test_a_group_of_kip_848_that_becomes_a_classic_one_keeps_the_ids_of_its_topics():
    records = [*consumer(2, a=BOTH_BY_ID), GroupEpoch(GROUP, None), classic(3, a=BOTH_BY_NAME)]
    found = history(records)
    assert held(found) == {"a": BOTH_BY_ID}
    later = history([*records, classic(4, a={"orders": [0], "payments": [0]}, b={"orders": [1]})])
    assert held(later) == {"a": {ORDERS: [0], PAYMENTS: [0]}, "b": {ORDERS: [1]}}
    assert moved(later)[-1] == 1


def test_a_topic_keeps_the_name_that_it_was_told_by_first():
    known: dict[str, str] = {}
    records = [*consumer(2, a={ORDERS: [0, 1]}), *consumer(3, a={ORDERS: [0]}, b={ORDERS: [1]})]

    def name_of(topic_id: str) -> str:
        name = known.get(topic_id, topic_id)
        known[topic_id] = "orders"  # from then on
        return name

    found = history(records, name_of)
    assert held(found) == {"a": {ORDERS: [0]}, "b": {ORDERS: [1]}}
    assert moved(found)[-1] == 1


def test_another_topic_of_the_same_partitions_is_not_taken_for_the_one_before():
    records = [*consumer(2, a={ORDERS: [0]}), *consumer(3, a={PAYMENTS: [0]})]
    found = history(records, lambda topic_id: {ORDERS: "orders"}.get(topic_id, topic_id))
    assert held(found) == {"a": {PAYMENTS: [0]}}
