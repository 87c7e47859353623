"""Retention of the audit topic: old events go, the last word about a live group stays, across restarts and kills."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.audit import schema
from coordinator.audit.schema import decode_event
from coordinator.groups.audit_retention import AuditRetention
from coordinator.groups.audit_stream import AuditStream
from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from tests.audit.stories import created, removed, subscription, sync
from tests.simulation.simulation import GROUP_ID, Simulation

MINUTE_MS = 60_000


class Retaining(Simulation):
    """Checks its audit log every half minute, as the retention of the broker does."""

    def __init__(self, **config: Any) -> None:
        settings = {"offsets.retention.minutes": "100000"}
        super().__init__(settings, log_config=replace(LogConfig(retention_ms=MINUTE_MS), **config))

    def start(self, *, clean: bool = False) -> None:
        super().start(clean=clean)
        coordinator = self.coordinator
        self.flush_now: Callable[[PartitionLog], None] = PartitionLog.flush

        def flush(log: PartitionLog) -> None:
            self.flush_now(log)

        self.retention = AuditRetention(
            coordinator.shards, lambda shard: coordinator.audit.request_snapshots(shard, self.now_ms), flush
        )

    restart = start

    def check(self) -> None:
        log = self.audit_log
        log.delete_records_before(self.retention.retained_from(log, self.now_ms))
        while log.has_segments_to_delete:
            log.delete_oldest_segment()
            for _ in log.segments.remove_deleted_files(1):
                pass

    def run_for(self, ms: int) -> None:
        for _ in range(0, ms, MINUTE_MS // 2):
            self.advance(MINUTE_MS // 2)
            self.check()

    def kept(self) -> list[schema.AuditEvent]:
        """The events that the topic still has."""
        log = self.audit_log
        records = [record for batch in AuditStream(log, 0).replay(log.log_start_offset) for record in batch]
        return [decode_event(value) for key, value, _ in records if key is not None]


@pytest.fixture
def sim() -> Retaining:
    return Retaining()


def stable_group(sim: Retaining) -> str:
    member_id = sim.join("a", metadata=subscription("t"), session_timeout_ms=1_800_000).response.member_id
    sync(sim, {member_id: {"t": [0]}})
    return str(member_id)


def assert_knows(sim: Retaining, member_id: str) -> None:
    """A start finds in the audit what the group is: it has nothing to report about it."""
    before = sim.audit_log.log_end_offset
    sim.restart()
    assert list(sim.group.members) == [member_id]
    assert sim.audit_log.log_end_offset == before, "the audit did not know the loaded group"


def test_events_of_a_quiet_group_go_but_its_last_snapshot_stays(sim):
    member_id = stable_group(sim)
    for _ in range(5):
        sim.run_for(5 * MINUTE_MS)
        kept = sim.kept()
        assert all(isinstance(event, schema.GroupSnapshot) for event in kept)
        assert 1 <= len(kept) <= 4
        assert kept[-1].time_ms >= sim.now_ms - 2 * MINUTE_MS
        assert_knows(sim, member_id)


def test_seq_continues_after_the_deletion(sim):
    stable_group(sim)
    last_seq = sim.kept()[-1].seq
    sim.run_for(10 * MINUTE_MS)
    kept = sim.kept()
    assert kept[0].seq > last_seq
    assert [event.seq for event in kept] == list(range(kept[0].seq, kept[-1].seq + 1))
    assert {event.created_seq for event in kept} == {1}


def test_events_of_removed_groups_go_whole(sim):
    sim.queue_events("gone", created)
    sim.queue_events("gone", removed)
    sim.coordinator.drain(sim.now_ms)
    sim.run_for(3 * MINUTE_MS)
    assert (sim.kept(), sim.audit_log.log_start_offset) == ([], sim.audit_log.log_end_offset)
    sim.restart()
    member_id = stable_group(sim)
    assert sim.kept()[0].seq == sim.kept()[0].created_seq > 2, "numbers of the earlier group are not used again"
    assert_knows(sim, member_id)


def test_nothing_goes_before_the_checkpoint_is_on_stable_storage(sim):
    member_id = stable_group(sim)
    asked: list[PartitionLog] = []
    sim.flush_now = asked.append
    sim.run_for(10 * MINUTE_MS)
    assert sim.audit_log.log_start_offset == 0
    assert asked
    sim.flush_now = PartitionLog.flush
    sim.run_for(2 * MINUTE_MS)
    assert sim.audit_log.log_start_offset > 0
    assert_knows(sim, member_id)


def test_retention_by_size_requests_the_snapshots_it_needs():
    sim = Retaining(retention_ms=-1, retention_bytes=40_000)
    member_id = stable_group(sim)
    for _ in range(30):
        sim.leave(member_id)
        member_id = stable_group(sim)
        sim.run_for(MINUTE_MS)
        # A segment is rolled at the first check at which it has a quarter of the retention.
        assert sim.audit_log.size_bytes < 40_000 + 2 * 11_000
    assert sim.audit_log.log_start_offset > 0
    assert_knows(sim, member_id)


def test_a_partition_that_is_not_served_keeps_everything(sim):
    stable_group(sim)
    sim.coordinator.unload(0)
    sim.run_for(10 * MINUTE_MS)
    assert sim.audit_log.log_start_offset == 0


def test_a_partition_with_a_group_that_is_being_rebuilt_keeps_everything(sim):
    stable_group(sim)
    sim.queue_events("broken", created)
    sim.coordinator.drain(sim.now_ms)
    sim.shard.failed_keys.by_key["broken"] = object()
    sim.advance(5 * MINUTE_MS)
    sim.check()
    assert sim.audit_log.log_start_offset == 0
    sim.shard.failed_keys.by_key.clear()
    sim.run_for(2 * MINUTE_MS)
    assert sim.audit_log.log_start_offset > 0


def test_unlimited_retention_keeps_everything():
    sim = Retaining(retention_ms=-1)
    stable_group(sim)
    sim.run_for(20 * MINUTE_MS)
    assert sim.audit_log.log_start_offset == 0
    assert len(sim.audit_log.segments) == 1
    assert GROUP_ID in sim.shard.machine.groups
