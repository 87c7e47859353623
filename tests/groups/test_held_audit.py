"""Audit records that wait for others (`group.audit.linger.ms`), so that they share batches; nothing is stored first."""

import pytest

from coordinator.audit.schema import GroupLoaded
from coordinator.core.groups.states import STABLE
from coordinator.groups.audit_stream import AuditStream
from coordinator.runtime.store import HELD_MAX
from tests.audit.stories import created, subscription, sync
from tests.captured_logs import capture_logs
from tests.groups.failing_groups import break_group
from tests.simulation.simulation import Simulation

LINGER_MS = 20


class Lingering(Simulation):
    """A server whose audit records wait."""

    def __init__(self) -> None:
        super().__init__({"group.audit.linger.ms": str(LINGER_MS)})

    def make_audit_stream(self, partition: int) -> AuditStream:
        return AuditStream(self.audit_log, 0, checkpoints=self.checkpoints, is_lingering=True)

    def batch_sizes(self) -> list[int]:
        """The number of records of each batch of the audit log."""
        log = self.audit_log
        return [header.next_offset - header.base_offset for header, _ in log.batches(log.log_start_offset)]


@pytest.fixture
def sim() -> Lingering:
    """One Stable group of one member, all of whose events are written."""
    simulation = Lingering()
    sync(simulation, {join(simulation, "a"): {"t": [0]}})
    simulation.advance(LINGER_MS)
    assert simulation.shard.local is not None and not simulation.shard.local.held
    return simulation


def join(sim: Simulation, name: str) -> str:
    sent = sim.join(name, metadata=subscription("t"))
    return str(sent.response.member_id) if sent.answered else ""


def test_events_of_a_join_phase_share_the_batch_of_their_generation(sim):
    batches = len(sim.batch_sizes())
    (member_id,) = sim.group.members
    join(sim, "b")
    sim.join("a", member_id, metadata=subscription("t"))
    assert len(sim.batch_sizes()) == batches
    events = len(sim.audited())
    sync(sim, {member: {"t": [0]} for member in sim.group.members})
    written = len(sim.audited()) - events
    assert sim.batch_sizes()[batches:] == [written]
    assert written >= 6


def test_events_wait_no_longer_than_the_setting_says(sim):
    before = len(sim.audited())
    join(sim, "b")
    sim.advance(LINGER_MS - 1)
    assert len(sim.audited()) == before
    sim.advance(1)
    assert [type(each).__name__ for each in sim.audited()[before:]] == ["MemberJoined", "RebalanceStarted"]
    assert not sim.shard.store.held


def test_a_kill_loses_what_waits_together_with_what_it_reports(sim):
    members, written = list(sim.group.members), len(sim.audited())
    join(sim, "b")
    assert sim.shard.store.held
    sim.restart()
    sim.advance(LINGER_MS)
    assert sim.group.state is STABLE
    assert list(sim.group.members) == members
    assert len(sim.audited()) == written, "the audit and the group agree, so the load has nothing to report"


def test_a_clean_stop_writes_what_waits(sim):
    before = sim.audit_log.log_end_offset
    join(sim, "b")
    sim.stop()
    assert sim.audit_log.log_end_offset >= before + 2


def test_an_append_that_fails_reloads_the_partition(sim):
    members = list(sim.group.members)
    join(sim, "b")
    sim.disk.is_full = True
    with capture_logs() as logs:
        sim.advance(LINGER_MS)
    assert not sim.shard.is_active
    assert logs[0]["event"] == "cannot append; reloading the partition"
    sim.disk.is_full = False
    sim.advance(1_000)
    assert sim.shard.is_active
    assert list(sim.group.members) == members
    assert [each.seq for each in sim.audited()] == list(range(1, len(sim.audited()) + 1))


def test_a_rebuild_finds_what_waited(sim):
    join(sim, "b")
    assert sim.shard.store.held
    break_group(sim)
    sim.advance(1_000)
    sim.advance(LINGER_MS)
    assert not sim.shard.failed_keys.by_key
    seqs = [each.seq for each in sim.audited()]
    assert seqs == list(range(1, len(seqs) + 1))
    assert isinstance(sim.audited()[-1], GroupLoaded)


def test_what_is_held_back_is_bounded(sim):
    before = len(sim.batch_sizes())
    sim.is_batching = True
    for number in range(HELD_MAX):
        sim.queue_events(f"g{number}", created)
    sim.coordinator.drain(sim.now_ms)
    assert not sim.shard.store.held
    assert sum(sim.batch_sizes()[before:]) == HELD_MAX
