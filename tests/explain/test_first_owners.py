"""Partitions that never had an owner, and partitions that are gone: neither is without an owner."""

from typing import Any

from coordinator.audit import schema
from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import sentence
from tests.explain.consumers import Consumers, text
from tests.pipeline.history import History

A = MemberRef("a-id", "a", "/127.0.0.1")


def test_the_first_generation_gives_all_partitions_to_their_first_owner():
    assert "All 6 partitions got their first owner." in text(Consumers().group_of("a").story())


def test_a_new_partition_is_told_beside_those_that_stayed():
    group = Consumers().group_of("a", "b")
    group.join("a")
    group.settle(plan={"a": [0, 2, 4], "b": [1, 3, 5, 6]})
    assert "None of 7 partitions moved. 1 of them got its first owner." in text(group.story())


def assign(history: History, partitions: list[int], **of_topics: Any) -> None:
    """A rebalance of a group of one, and its assignment."""
    why: dict[str, Any] = {"cause": Cause.LEADER_REJOINED, "member": A, "reason": ""}
    history.add(schema.RebalanceStarted, "PreparingRebalance", members=1, **why, **of_topics)
    history.add(
        schema.GenerationStarted,
        "CompletingRebalance",
        next_generation=True,
        protocol_type="consumer",
        protocol_name="range",
        leader=A.member_id,
        members=1,
        join_ms=0,
        triggers=[],
    )
    assigned = {"t": partitions} if partitions else {}
    own: dict[str, Any] = {"gained": {}, "lost": {}, "kept": {}}
    history.add(schema.MemberAssigned, "CompletingRebalance", member=A, readable=True, partitions=assigned, **own)
    history.add(
        schema.GenerationStable,
        "Stable",
        members=1,
        partitions=len(partitions),
        partitions_moved=0,
        join_ms=0,
        sync_ms=0,
        rebalance_ms=0,
        unowned_partition_ms=0,
    )


def told(history: History) -> str:
    found = GroupHistory.of("orders", history.events)
    assert found.latest is not None
    return sentence(found, found.latest)


def test_the_partitions_of_a_deleted_topic_are_gone():
    history = History().created()
    assign(history, [0, 1, 2, 3])
    assign(history, [], topic_changes={"t": [4, 0]})
    assert "no owner" not in told(history)
    assign(history, [0, 1], topic_changes={"t": [0, 2]})
    assert "Both partitions got their first owner." in told(history)
    assert "Nobody consumed" not in told(history)


def test_a_topic_that_was_created_again_has_new_partitions():
    history = History().created()
    assign(history, [0, 1, 2, 3])
    assign(history, [0, 1], topic_changes={"t": [4, 2]}, recreated_topics=["t"])
    said = told(history)
    assert "topic t was deleted and created again with 2 partitions instead of 4" in said
    assert "Both partitions got their first owner." in said
    assert "no owner" not in said


def test_a_topic_that_grew_keeps_its_owners():
    history = History().created()
    assign(history, [0, 1])
    assign(history, [0, 1, 2], topic_changes={"t": [2, 3]})
    assert "None of 3 partitions moved. 1 of them got its first owner." in told(history)
