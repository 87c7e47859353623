from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.core.offsets import transactional as transactional_offsets
from coordinator.core.offsets.events import TransactionCompleted
from coordinator.core.offsets.groups_in_transaction import GroupsInTransaction
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.groups.offsets_stream import GroupReplay
from tests.core.deciding import context
from tests.groups.stores import group_store
from tests.simulation.simulation import GROUP_ID, Simulation, replay

ONE, OTHER = Producer(1, 0), Producer(2, 0)


def commit(sim, producer=ONE, **said):
    asked = sim.commit_in_transaction(producer, **said)
    return ErrorCode(asked.response.topics[0].partitions[0].error_code)


def fetched(sim, require_stable=False):
    topic = OffsetFetchRequestTopics(name="t", partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=GROUP_ID, topics=[topic])], require_stable=require_stable
    )
    (reply,) = offset_fetch.fetch(sim.shard.machine.groups.get(GROUP_ID), request, context(version=9)).replies
    response: Any = reply.response
    (found,) = response.groups[0].topics[0].partitions
    if found.error_code:
        return ErrorCode(found.error_code)
    return None if found.committed_offset < 0 else found.committed_offset


def test_a_position_counts_when_its_transaction_is_committed():
    sim = Simulation()
    assert commit(sim, offset=42) is ErrorCode.NONE
    assert (fetched(sim), fetched(sim, require_stable=True)) == (None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    sim.end_transaction(ONE)
    assert (fetched(sim), fetched(sim, require_stable=True)) == (42, 42)


def test_an_aborted_one_never_counts():
    sim = Simulation()
    sim.commit(offset=7)
    commit(sim, offset=42)
    sim.end_transaction(ONE, committed=False)
    assert (fetched(sim), fetched(sim, require_stable=True)) == (7, 7)


def test_of_two_commits_the_later_append_wins_whatever_ends_last():
    sim = Simulation()
    commit(sim, ONE, offset=1)
    commit(sim, OTHER, offset=2)
    sim.end_transaction(OTHER)
    assert (fetched(sim), fetched(sim, require_stable=True)) == (2, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    sim.end_transaction(ONE)
    assert fetched(sim, require_stable=True) == 2
    commit(sim, ONE, offset=3)
    sim.commit(offset=4)
    sim.end_transaction(ONE)
    assert fetched(sim) == 4


def test_a_later_commit_of_the_same_transaction_replaces_the_former():
    sim = Simulation()
    commit(sim, ONE, offset=1)
    sim.commit(offset=2)
    commit(sim, ONE, offset=3)
    sim.end_transaction(ONE)
    assert fetched(sim) == 3


def test_a_later_commit_of_the_same_transaction_is_later_than_anothers():
    sim = Simulation()
    commit(sim, ONE, offset=1)
    commit(sim, OTHER, offset=2)
    commit(sim, ONE, offset=3)
    sim.end_transaction(ONE)
    sim.end_transaction(OTHER)
    assert fetched(sim) == 3


def test_the_marker_of_another_producer_changes_nothing():
    sim = Simulation()
    commit(sim, ONE, offset=1)
    before = list(sim.events)
    sim.end_transaction(OTHER)
    assert sim.events == before
    assert fetched(sim, require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_what_is_deleted_meanwhile_does_not_come_back():
    sim = Simulation()
    commit(sim, offset=42)
    sim.delete_topic("t")
    sim.end_transaction(ONE)
    assert fetched(sim) is None


def test_it_makes_its_group_and_is_taken_without_a_member_in_any_state():
    sim = Simulation()
    assert commit(sim) is ErrorCode.NONE
    assert sim.exists
    sim.stable_with("a")
    assert commit(sim) is ErrorCode.NONE
    sim.join("b")
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert commit(sim) is ErrorCode.NONE


def test_a_member_commits_in_its_generation_only():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    assert commit(sim, generation_id=1, member_id=a) is ErrorCode.NONE
    assert commit(sim, generation_id=0, member_id=a) is ErrorCode.ILLEGAL_GENERATION
    assert commit(sim, generation_id=1, member_id="nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(sim, generation_id=1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_also_while_the_leader_assigns():
    sim = Simulation()
    asked = sim.join("a")
    assert sim.group.state is GroupState.COMPLETING_REBALANCE
    assert commit(sim, generation_id=1, member_id=asked.response.member_id) is ErrorCode.NONE


def test_a_generation_of_a_group_that_is_not_there_is_illegal():
    assert commit(Simulation(), generation_id=3, member_id="a") is ErrorCode.ILLEGAL_GENERATION


def test_a_replaced_static_member_is_fenced():
    sim = Simulation()
    (a,) = sim.make_stable([sim.join("a", instance_id="one", version=5)])
    sim.join("b", instance_id="one", version=5)
    error = commit(sim, generation_id=1, member_id=a, instance_id="one")
    assert error is ErrorCode.FENCED_INSTANCE_ID


def test_metadata_that_is_too_long_is_refused():
    sim = Simulation()
    assert commit(sim, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(sim, metadata="\N{GRINNING FACE}" * 2049) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert not sim.exists, "nothing was taken, so there is no group"
    assert commit(sim, metadata="é" * 4096) is ErrorCode.NONE


def test_it_keeps_its_member_alive():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    deadline_ms = sim.sessions.deadline_ms(GROUP_ID, a)
    assert deadline_ms is not None
    sim.advance(100)
    commit(sim, generation_id=1, member_id=a)
    assert sim.sessions.deadline_ms(GROUP_ID, a) == deadline_ms + 100


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["plain", "txn", "commit", "abort", "forget"]), st.sampled_from([ONE, OTHER, Producer(3, 1)])
    ),
    max_size=12,
)


@given(STEPS)
def test_the_later_append_wins_in_any_history_and_a_restart_knows_no_other(steps):
    sim = Simulation()
    materialised, pending = None, {}
    for order, (step, producer) in enumerate(steps):
        if step == "plain":
            sim.commit(offset=order)
            materialised = order
        elif step == "txn":
            commit(sim, producer, offset=order)
            pending[producer] = order
        elif step == "forget":
            sim.delete_topic("t")
            sim.create_topic("t")
            materialised, pending = None, {}
        else:
            sim.end_transaction(producer, step == "commit")
            position = pending.pop(producer, None)
            if step == "commit" and position is not None:
                materialised = max(position, -1 if materialised is None else materialised)
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    for _ in ("as it ran", "after a restart"):
        assert fetched(sim) == materialised
        assert fetched(sim, require_stable=True) == (unstable if pending else materialised)
        sim.restart()


def test_replay_and_load_give_the_same_group():
    sim = Simulation()
    commit(sim, ONE, offset=1)
    commit(sim, OTHER, offset=2)
    sim.end_transaction(ONE)
    assert replay(sim.events) == sim.whole_group
    stored = StoredGroups()
    for _ in group_store(sim.offsets_log, sim.audit_log).replay(GroupReplay(stored)):
        continue
    assert stored.groups[GROUP_ID].offsets == sim.offsets


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_finds_every_group_of_its_partition(committed):
    groups = {name: new_group(name) for name in ("a", "b", "c")}
    for name in ("a", "b"):
        groups[name].offsets.put_pending(ONE.producer_id, "t", {0: CommittedOffset(1, -1, "", 0)})
    groups["c"].offsets.put_pending(OTHER.producer_id, "t", {0: CommittedOffset(1, -1, "", 0)})
    in_transaction = GroupsInTransaction()
    for group in groups.values():
        in_transaction.add_group(group)
    marker = TransactionMarker(ONE, committed, coordinator_epoch=0)
    decision = transactional_offsets.complete(in_transaction.of(ONE.producer_id, groups), marker, context(5))
    assert decision.events == tuple(
        TransactionCompleted(group_id=name, at_ms=5, producer=ONE, committed=committed) for name in ("a", "b")
    )
    assert decision.marker == marker


def test_a_group_has_so_many_pending_offsets_at_most():
    limit = {"group.max.pending.offsets": "3"}
    group = new_group(GROUP_ID)

    def ask(producer, *partitions, version=5):
        asked = [TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in partitions]
        request = TxnOffsetCommitRequest(
            transactional_id="id",
            group_id=GROUP_ID,
            producer_id=producer.producer_id,
            producer_epoch=0,
            generation_id=-1,
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=asked)],
        )
        decision = transactional_offsets.commit(group, request, context(version=version, settings=limit))
        for event in decision.events:
            event.apply(group)
        (reply,) = decision.replies
        response: Any = reply.response
        return {ErrorCode(partition.error_code) for partition in response.topics[0].partitions}

    assert ask(ONE, 0, 1, 2, 3) == {ErrorCode.TRANSACTION_ABORTABLE}
    assert ask(ONE, 0, 1) == {ErrorCode.NONE}
    assert ask(OTHER, 0) == {ErrorCode.NONE}
    assert ask(OTHER, 0, 1) == {ErrorCode.TRANSACTION_ABORTABLE}
    assert ask(OTHER, 1, version=3) == {ErrorCode.POLICY_VIOLATION}
    assert ask(ONE, 0, 1) == {ErrorCode.NONE}, "committed again: no more offsets are pending"
    group.offsets.complete_transaction(ONE.producer_id, True)
    assert ask(OTHER, 0, 1) == {ErrorCode.NONE}
