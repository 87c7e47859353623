"""Records that are larger than `max.message.bytes` are rejected before anything changes."""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations
from tests.captured_logs import capture_logs
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Sent, Simulation

TOO_LARGE: Final = bytes(1_048_588)
"""More than the default of `max.message.bytes` together with any other byte."""


def end_offsets(sim: Simulation) -> tuple[int, int]:
    return sim.offsets_log.log_end_offset, sim.audit_log.log_end_offset


def commit_too_large(sim: Simulation) -> Sent:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="m" * 30_000)
        for index in range(40)
    ]
    topics = [OffsetCommitRequestTopic(name="large", partitions=partitions)]
    asked = Sent()
    sim.submit(operations.OFFSET_COMMIT, GROUP_ID, OffsetCommitRequest(group_id=GROUP_ID, topics=topics), asked, "c", 8)
    return asked


def simulation() -> Simulation:
    return Simulation({"offset.metadata.max.bytes": "30000"})


def test_a_commit_that_is_too_large_changes_nothing_and_says_so():
    sim = simulation()
    with capture_logs() as logs:
        assert commit_too_large(sim).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not sim.exists
    assert sim.events == []
    assert end_offsets(sim) == (0, 0)
    (line,) = logs
    assert (line["log_level"], line["operation"], line["key"]) == ("warning", "OffsetCommit", GROUP_ID)


def test_other_operations_of_its_batch_succeed():
    sim = simulation()
    with sim.one_turn():
        before, too_large, after = sim.commit(offset=1), commit_too_large(sim), sim.commit(offset=2)
    assert too_large.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert before.error is after.error is ErrorCode.NONE
    assert sim.shard.is_active
    sim.restart()
    assert list(sim.offsets.by_topic) == ["t"]
    assert sim.offsets.by_topic["t"][0].offset == 2


# ---- the leader's assignment


def completing(sim: Simulation) -> tuple[str, str]:
    """Leader and follower of a group in CompletingRebalance."""
    leader, follower = sim.stable_with("a", "b")
    sim.join("a", leader)
    sim.join("b", follower)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE
    return leader, follower


def test_an_assignment_that_is_too_large_fails_all_that_wait_for_it_and_the_group_rebalances():
    sim = Simulation()
    leader, follower = completing(sim)
    waiting = sim.sync(follower)
    stored, _ = end_offsets(sim)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    leading = sim.sync(leader, {leader: b"small", follower: TOO_LARGE})
    assert leading.error is waiting.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert sim.shard.is_active
    assert end_offsets(sim)[0] == stored
    started: Any = sim.audited()[-1]
    assert (started.cause, started.member.member_id) == ("assignment_too_large", leader)
    for member_id in (leader, follower):
        assert sim.sessions.deadline_ms(GROUP_ID, member_id) == sim.now_ms + SESSION_TIMEOUT_MS


def test_after_a_rejected_assignment_a_smaller_one_is_taken():
    sim = Simulation()
    leader, follower = completing(sim)
    waiting = sim.sync(follower)
    sim.sync(leader, {follower: TOO_LARGE})
    joins = [sim.join("a", leader), sim.join("b", follower)]
    assert [asked.response.generation_id for asked in joins] == [4, 4]
    assert {asked.error for asked in sim.sync_all().values()} == {ErrorCode.NONE}
    assert len(waiting.responses) == 1


def test_members_that_do_not_rejoin_after_a_rejected_assignment_expire():
    sim = Simulation()
    leader, follower = completing(sim)
    sim.sync(leader, {follower: TOO_LARGE})
    sim.advance(SESSION_TIMEOUT_MS)
    assert sim.group.members == {}
    assert sim.group.state is GroupState.EMPTY
