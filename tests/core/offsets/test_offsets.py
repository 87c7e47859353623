import pytest

from _wire.errors import ErrorCode
from coordinator.core.groups.states import GroupState
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.simulation import SESSION_TIMEOUT_MS, Simulation

WHERE = TopicPartition("t", 0)


def error_of(asked):
    return ErrorCode(asked.response.topics[0].partitions[0].error_code)


def committed_offset(sim: Simulation) -> int:
    committed = sim.offsets.get(WHERE)
    assert committed is not None
    return committed.offset


def test_a_simple_consumer_makes_its_group_by_committing():
    sim = Simulation()
    assert error_of(sim.commit(offset=42)) is ErrorCode.NONE
    assert committed_offset(sim) == 42
    assert sim.group.state is GroupState.EMPTY
    assert sim.kinds() == ["group.created"]


def test_a_member_commits_in_its_generation_only():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    assert error_of(sim.commit(a, generation_id=1)) is ErrorCode.NONE
    assert error_of(sim.commit(a, generation_id=0)) is ErrorCode.ILLEGAL_GENERATION
    assert error_of(sim.commit("nobody", generation_id=1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error_of(sim.commit()) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_commit_is_taken_while_members_gather_but_not_while_the_leader_assigns():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.join("a", a)
    assert error_of(sim.commit(b, generation_id=2)) is ErrorCode.NONE
    sim.join("b", b)
    assert error_of(sim.commit(b, generation_id=3)) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("retention_time_ms", "expires_after_ms"),
    [(-1, None), (-2, 0), (-(2**63), 0), (0, 0), (60_000, 60_000), (2**63 - 1, None)],
)
def test_a_retention_time_at_its_limits_is_taken(retention_time_ms, expires_after_ms):
    sim = Simulation({"offsets.retention.check.interval.ms": "1000"})
    assert error_of(sim.commit(offset=42, version=2, retention_time_ms=retention_time_ms)) is ErrorCode.NONE
    sim.restart()
    sim.advance(1000 if expires_after_ms is None else max(expires_after_ms - 1000, 0))
    assert committed_offset(sim) == 42
    sim.advance(1000)
    assert sim.exists == (expires_after_ms is None)


def test_a_commit_is_a_sign_of_life():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    for _ in range(3):
        sim.advance(SESSION_TIMEOUT_MS - 1)
        sim.commit(a, generation_id=1)
    assert a in sim.group.members


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_generation_of_an_unknown_group(version, error):
    assert error_of(Simulation().commit("m", generation_id=3, version=version)) is error


def test_committed_offsets_survive_a_restart():
    sim = Simulation()
    sim.commit(offset=41)
    sim.commit(offset=42)
    sim.restart()
    assert committed_offset(sim) == 42


def test_a_commit_that_cannot_be_stored_is_not_acknowledged():
    sim = Simulation()
    sim.commit(offset=41)
    sim.disk.is_full = True
    assert error_of(sim.commit(offset=42)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert error_of(sim.commit(offset=43)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    sim.disk.is_full = False
    sim.advance(10_000)
    assert committed_offset(sim) == 41
    assert error_of(sim.commit(offset=44)) is ErrorCode.NONE


def test_a_commit_of_which_nothing_is_taken_makes_no_group():
    sim = Simulation({"offset.metadata.max.bytes": "0"})
    assert error_of(sim.commit(metadata="too long")) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert not sim.exists
