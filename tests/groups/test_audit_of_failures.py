"""What the audit says of a group that failed and was rebuilt."""

import pytest

from coordinator.audit import schema
from coordinator.runtime.batch import ProjectionWrite
from tests.groups.failing_groups import GENERATION, OTHER, break_group, commit_for, make_due, rebuild, simulation
from tests.simulation.simulation import GROUP_ID, Simulation


@pytest.fixture
def sim() -> Simulation:
    return simulation()


def loaded_of(sim: Simulation) -> schema.GroupLoaded:
    (loaded,) = [event for event in sim.audited() if isinstance(event, schema.GroupLoaded)]
    return loaded


def test_the_audit_says_that_the_group_was_rebuilt(sim):
    seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    break_group(sim)
    rebuild(sim)
    loaded = loaded_of(sim)
    assert (loaded.cause, loaded.lost) == ("invariant_violated", False)
    assert loaded.group_id == GROUP_ID
    assert loaded.void_from_seq == loaded.seq == seq + 1, "nothing was void"


def test_what_the_audit_says_of_a_rebalance_that_was_lost_is_void(sim):
    stable_seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    sim.join("c")
    break_group(sim)
    rebuild(sim)
    loaded = loaded_of(sim)
    assert (loaded.void_from_seq, loaded.state_before, loaded.state) == (
        stable_seq + 1,
        "PreparingRebalance",
        "Stable",
    )
    before = len(sim.audited())
    sim.restart()
    assert len(sim.audited()) == before, "that is where the audit left the group"


def test_expired_offsets_of_the_last_batch_are_not_void(sim):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    with sim.one_turn():
        sim.delete_topic("t")
    deleted_seq = max(event.seq for event in sim.audited() if event.group_id == GROUP_ID)
    break_group(sim)
    rebuild(sim)
    assert loaded_of(sim).void_from_seq == deleted_seq + 1


def test_a_snapshot_is_written_before_what_the_rebuilt_group_missed(sim):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    make_due(sim)
    known = len(sim.audited())
    assert sim.shard.failed_keys.next_slice(sim.now_ms, lambda: False)
    sim.shard.submit_first(ProjectionWrite(sim.shard.projection.add_snapshots))
    sim.shard.drain(sim.now_ms, 1_000)
    told = [(event.group_id, type(event).__struct_config__.tag) for event in sim.audited()[known:]]
    assert told[0] == (GROUP_ID, "group.loaded")
    assert told[-1] == (GROUP_ID, "offsets.deleted")
    assert (OTHER, "group.snapshot") in told


def test_a_start_from_a_checkpoint_that_left_the_group_out_knows_it_all_the_same(sim):
    sim = Simulation(checkpoint_records=10)
    (member_id,) = sim.stable_with("a")
    commit_for(sim, OTHER, "t", 7)
    break_group(sim)
    while not sim.shard.projection.is_checkpoint_due:
        sim.queue_events(OTHER, lambda group_id, now_ms: [])
        write_something(sim)
    sim.advance(2)
    checkpoint = sim.shard.projection.checkpoint_offset
    assert checkpoint > 0
    sim.coordinator.stop(sim.now_ms)
    known = len(sim.audited())
    sim.restart()
    assert sim.shard.projection.checkpoint_offset == checkpoint
    assert list(sim.group.members) == [member_id]
    assert len(sim.audited()) == known, "the audit knows the group"


def write_something(sim: Simulation) -> None:
    """An event of the other group in the audit."""
    commit_for(sim, OTHER, "u", 1)
    sim.delete_topic("u")
    sim.create_topic("u")


def test_for_how_long_nothing_could_be_written_is_told(sim):
    sim.coordinator.announce(
        schema.CoordinatorStarted(time_ms=0, node_id=1, coordinator_epoch=1, software_version="simulated")
    )
    sim.advance(1_000)
    full_ms = sim.now_ms
    sim.disk.is_full = True
    sim.join("c")
    sim.advance(2_000)
    sim.disk.is_full = False
    sim.advance(20_000)
    events = [schema.decode_coordinator_event(value) for key, value, _ in sim.replay_audit() if key is None]
    told = [each for each in events if isinstance(each, schema.CoordinatorUnavailable)]
    assert len(told) == 1
    assert full_ms <= told[0].from_ms <= full_ms + 2_000 <= told[0].until_ms <= full_ms + 22_000
