"""Snapshots of all groups, and starts that read the topic from there on; wherever the topic was cut."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from coordinator.audit import schema
from coordinator.audit.projector import AuditProjector
from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import Record
from coordinator.audit.snapshots import CHECKPOINT_RECORDS_PER_GROUP, CHECKPOINT_RECORDS_PER_MEMBER
from coordinator.core.groups.states import GroupState
from coordinator.groups.audit_schedule import SNAPSHOT_INTERVAL_MS_MAX, audit_of
from coordinator.groups.audit_stream import AuditStream
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT, read_checkpoint
from coordinator.runtime.slices import at_once
from tests.audit.stories import created, rejoin, removed, subscription, sync
from tests.examples import examples
from tests.simulation.generator import history_of
from tests.simulation.harness import Harness
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible
from tests.simulation.server import DATA
from tests.simulation.simulation import GROUP_ID, Simulation

CHECKPOINT_RECORDS = 10
FILE = DATA / GROUP_AUDIT


Reads = list[tuple[int, int]]


class ReadingStream(AuditStream):
    """Remembers from where the audit was read, and how many records."""

    reads: Reads

    def replay(self, from_offset: int) -> Iterator[list[Record]]:
        batches = list(super().replay(from_offset))
        self.reads.append((from_offset, sum(map(len, batches))))
        return iter(batches)


class Checkpointing(Simulation):
    """`reads`: (offset, records) of each reading of the audit since the last start."""

    def __init__(self, checkpoint_records: int = CHECKPOINT_RECORDS) -> None:
        super().__init__({"offsets.retention.minutes": "100000"}, checkpoint_records=checkpoint_records)

    def make_audit_stream(self, partition: int) -> AuditStream:
        stream = ReadingStream(self.audit_log, 0, checkpoints=self.checkpoints)
        self.reads: Reads = []
        stream.reads = self.reads
        return stream

    def snapshots(self) -> list[schema.GroupSnapshot]:
        return [event for event in self.audited() if isinstance(event, schema.GroupSnapshot)]

    def create(self, *group_ids: str) -> None:
        for group_id in group_ids:
            self.queue_events(group_id, created)
        self.coordinator.drain(self.now_ms)


@pytest.fixture
def sim() -> Checkpointing:
    return Checkpointing()


@pytest.fixture
def member_id(sim) -> str:
    """The one member of a Stable group of generation 1, who owns t-0."""
    member_id = sim.join("a", metadata=subscription("t")).response.member_id
    sync(sim, {member_id: {"t": [0]}})
    return str(member_id)


def rebalance_until_checkpoint(sim: Checkpointing, member_id: str) -> int:
    """The offset at which the checkpoint began."""
    while not audit_of(sim.shard).is_checkpoint_due:
        rejoin(sim)
        sync(sim, {member_id: {"t": [0]}})
    sim.advance(1)
    assert not audit_of(sim.shard).is_checkpoint_due
    offset = sim.snapshots()[-1].checkpoint_offset
    assert offset is not None
    return offset


def fill_a_rebalance(sim: Checkpointing) -> None:
    """Members come and go during a rebalance, until a checkpoint is made."""
    while not audit_of(sim.shard).is_checkpoint_due:
        known = set(sim.group.members)
        sim.join("b", metadata=subscription("t"), protocols=("range", "sticky"))
        sim.leave(*(sim.group.members.keys() - known))
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    sim.advance(1)


def test_a_checkpoint_follows_so_many_records(sim, member_id):
    offset = rebalance_until_checkpoint(sim, member_id)
    assert offset == CHECKPOINT_RECORDS + 1
    (snapshot,) = sim.snapshots()
    assert sim.audited()[offset] == snapshot
    assert (snapshot.state_before, snapshot.state, snapshot.stored) == ("Stable", "Stable", None)
    assert (snapshot.leader, snapshot.protocol_name, snapshot.protocol_type) == (member_id, "range", "consumer")
    (member,) = snapshot.members
    assert (member.member.member_id, member.subscribed_topics, member.partitions) == (member_id, ["t"], {"t": [0]})


def test_checkpoints_of_a_large_group_are_rarer(sim, member_id):
    for index in range(9):
        sim.join(f"c{index}", metadata=subscription("t"))
    offsets = []
    for _ in range(2):
        fill_a_rebalance(sim)
        offsets.append(sim.snapshots()[-1].checkpoint_offset)
    assert len(sim.group.members) == 10
    assert offsets[1] - offsets[0] > CHECKPOINT_RECORDS_PER_GROUP + 10 * CHECKPOINT_RECORDS_PER_MEMBER


def test_a_start_reads_from_the_checkpoint_on(sim, member_id):
    offset = rebalance_until_checkpoint(sim, member_id)
    sim.advance(1_000)
    rejoin(sim)
    sync(sim, {member_id: {"t": [0]}})
    end, seq = sim.audit_log.log_end_offset, sim.audited()[-1].seq
    sim.restart()
    assert sim.reads == [(offset, end - offset)]
    assert sim.audit_log.log_end_offset == end, "the group is as audited"
    sim.leave(member_id)
    assert sim.audited()[end].seq == seq + 1


def test_a_rebalance_that_a_crash_cut_off_is_void_also_when_its_beginning_is_not_read(sim, member_id):
    stored_seq = sim.audited()[-1].seq
    fill_a_rebalance(sim)
    (snapshot,) = sim.snapshots()
    assert snapshot.state == "PreparingRebalance"
    assert snapshot.stored == schema.StoredState(stored_seq, 1, "Stable", [member_id])
    sim.advance(1_000)
    sim.restart()
    ((from_offset, _),) = sim.reads
    assert from_offset > 0
    loaded = sim.audited()[-1]
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.void_from_seq, loaded.lost, loaded.seq) == (stored_seq + 1, False, snapshot.seq + 1)


def test_a_static_member_that_came_back_in_a_rebalance_is_stored_with_its_old_id(sim):
    """Its replacement is stored with the next generation only."""
    both, metadata = ("range", "sticky"), subscription("t")
    static = {"instance_id": "one", "version": 5, "metadata": metadata}
    first = sim.join("a", protocols=both, **static).response.member_id
    sim.join("other", protocols=both, metadata=metadata)
    sim.join("a", first, protocols=both, **static)
    sync(sim, {first: {"t": [0]}})
    members, stored_seq = [*sim.group.members], sim.audited()[-1].seq
    sim.join("a", protocols=("sticky",), **static)
    assert sim.kinds()[-2:] == ["static_member.replaced", "rebalance.started"]
    fill_a_rebalance(sim)
    (snapshot,) = sim.snapshots()
    assert (snapshot.stored.seq, snapshot.stored.member_ids) == (stored_seq, members)


def test_a_snapshot_holds_what_was_stored_before_its_batch(sim, member_id):
    """A crash between the two appends of the batch leaves that."""
    sim.create("other")
    while not audit_of(sim.shard).is_checkpoint_due:
        rejoin(sim)
        sync(sim, {member_id: {"t": [0]}})
    rejoin(sim)
    stored_bytes = len(sim.disk.content(sim.offsets_log.folder / f"{0:020d}.log"))
    sim.clock.advance(1)
    with sim.one_turn():
        sim.sync(member_id, {})
    batch = sim.audited()[-4:]
    kinds = [schema.TAGS[type(event)] for event in batch]
    assert kinds[:2] == ["group.snapshot"] * 2 and kinds[-1] == "generation.stable", kinds
    del sim.disk.content(sim.offsets_log.folder / f"{0:020d}.log")[stored_bytes:]
    sim.checkpoints.write()
    sim.restart()
    loaded = sim.audited()[-1]
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.lost, loaded.generation_id) == (False, batch[-1].generation_id - 1)


def test_groups_are_written_in_slices_between_which_others_have_their_turn(sim):
    sim.create(*(f"group-{index}" for index in range(400)))
    while not audit_of(sim.shard).is_checkpoint_due:
        sim.commit()
        sim.delete_group()
    turns = []
    while audit_of(sim.shard).is_checkpoint_due:
        before = len(sim.snapshots())
        sim.advance(1)
        turns.append(len(sim.snapshots()) - before)
        sim.create(f"late-{len(turns)}")
    assert turns == [150, 150, 100]
    assert [snapshot.checkpoint_offset is not None for snapshot in sim.snapshots()] == [False] * 399 + [True]


def test_groups_that_are_gone_meanwhile_are_passed_over(sim):
    sim.create(GROUP_ID, *(f"group-{index}" for index in range(200)))
    while not audit_of(sim.shard).is_checkpoint_due:
        sim.commit()
        sim.delete_group()
        sim.create(GROUP_ID)
    sim.advance(1)
    for group_id in [*sim.shard.machine.groups][:-1]:
        sim.queue_events(group_id, removed)
    sim.coordinator.drain(sim.now_ms)
    (survivor,) = sim.shard.machine.groups
    sim.advance(1)
    last = sim.snapshots()[-1]
    assert last.group_id == survivor
    assert last.checkpoint_offset is not None


def test_a_checkpoint_of_groups_that_are_all_gone_is_made_when_there_is_one_again(sim):
    sim.create(*(f"group-{index}" for index in range(200)))
    while not audit_of(sim.shard).is_checkpoint_due:
        sim.commit()
        sim.delete_group()
    sim.advance(1)
    for group_id in [*sim.shard.machine.groups]:
        sim.queue_events(group_id, removed)
    sim.coordinator.drain(sim.now_ms)
    sim.advance(10)
    assert all(snapshot.checkpoint_offset is None for snapshot in sim.snapshots())
    sim.commit()
    sim.advance(1)
    assert sim.snapshots()[-1].checkpoint_offset is not None


@pytest.mark.parametrize("damage", ["missing", "empty", "beyond the end", "elsewhere", "no checkpoint"])
def test_a_checkpoint_file_that_says_nothing_or_something_wrong_costs_time_only(sim, member_id, damage):
    offset = rebalance_until_checkpoint(sim, member_id)
    sim.advance(1_000)
    content = sim.disk.content(FILE)
    written = bytes(content)
    assert read_checkpoint(sim.disk, FILE) == {("__group_audit", 0): offset}
    if damage == "missing":
        sim.disk.remove(FILE)
    else:
        elsewhere = {"beyond the end": 1_000_000, "elsewhere": offset - 3, "no checkpoint": offset + 1}.get(damage)
        content[:] = b"" if elsewhere is None else f"0\n1\n__group_audit 0 {elsewhere}\n".encode()
    end = sim.audit_log.log_end_offset
    sim.restart()
    assert sim.reads[-1] == (0, end)
    assert sim.audit_log.log_end_offset == end, "the group is as audited"
    sim.advance(1_000)
    assert bytes(sim.disk.content(FILE)) == written, "the file is right again"
    sim.restart()
    assert sim.reads == [(offset, end - offset)]


def test_a_crash_before_the_file_is_written_leaves_the_checkpoint_before(sim, member_id):
    first = rebalance_until_checkpoint(sim, member_id)
    sim.advance(1_000)
    second = rebalance_until_checkpoint(sim, member_id)
    end = sim.audit_log.log_end_offset
    sim.restart()
    assert sim.reads == [(first, end - first)]
    sim.advance(1_000)
    sim.restart()
    assert sim.reads[0][0] == second


def test_a_power_loss_that_cuts_a_checkpoint_off_makes_a_start_read_all(sim, member_id):
    offset = rebalance_until_checkpoint(sim, member_id)
    sim.advance(1_000)
    end = sim.audit_log.log_end_offset
    del sim.disk.content(sim.audit_log.folder / f"{0:020d}.log")[-10:]
    sim.restart()
    assert (sim.audit_log.log_end_offset, offset) == (end - 1, end - 1), "the snapshot is gone"
    assert sim.reads == [(offset, 0), (0, end - 1)]
    assert len(sim.audited()) == end - 1, "the group is as audited"


def test_a_checkpoint_whose_append_fails_is_none(sim, member_id):
    while not audit_of(sim.shard).is_checkpoint_due:
        rejoin(sim)
        sync(sim, {member_id: {"t": [0]}})
    sim.disk.is_full = True
    sim.advance(1)
    assert not sim.shard.is_active
    sim.disk.is_full = False
    assert sim.checkpoints.offset(0) is None
    sim.advance(1_200)
    assert sim.snapshots()[-1].checkpoint_offset == sim.checkpoints.offset(0)
    assert sim.disk.exists(FILE)


def test_a_clean_stop_makes_the_next_start_read_the_groups_only(sim, member_id):
    sim.stop()
    end = sim.audit_log.log_end_offset
    sim.restart(clean=True)
    assert sim.reads == [(end - 1, 1)]
    sim.stop()
    sim.restart(clean=True)
    assert (sim.reads, sim.audit_log.log_end_offset) == ([(end - 1, 1)], end), "nothing was to be written"


def test_an_idle_group_is_written_in_every_half_of_the_retention():
    sim = Checkpointing(checkpoint_records=1_000)
    sim.commit()
    for _ in range(3):
        sim.advance(SNAPSHOT_INTERVAL_MS_MAX)
        sim.restart()
    times = [sim.audited()[0].time_ms, *(snapshot.time_ms for snapshot in sim.snapshots())]
    assert len(times) == 4
    assert all(later - earlier <= SNAPSHOT_INTERVAL_MS_MAX for earlier, later in pairwise(times))
    assert sim.now_ms - times[-1] <= SNAPSHOT_INTERVAL_MS_MAX


def drain_all(server):
    """More operations are queued than one turn handles."""
    while any(shard.queue_size for shard in server.coordinator.shards):
        server.coordinator.drain(server.now_ms)


def test_of_several_partitions_one_slice_is_written_at_a_time():
    harness = Harness(history_of(3).setup._replace(partitions=2, turns=0, is_durable=False), defects=[])
    server = harness.server
    groups_by_partition = {
        partition: [each for each in map(str, range(1000)) if server.coordinator.shard_of(each).partition == partition]
        for partition in range(2)
    }
    for group_ids in groups_by_partition.values():
        for group_id in group_ids[:400]:
            server.queue_events(group_id, created)
    drain_all(server)
    assert not any(audit_of(shard).is_checkpoint_due for shard in server.coordinator.shards)
    for group_ids in groups_by_partition.values():
        for group_id in group_ids[10:400]:
            server.queue_events(group_id, removed)
    drain_all(server)
    assert all(audit_of(shard).is_checkpoint_due for shard in server.coordinator.shards)
    while any(audit_of(shard).is_checkpoint_due for shard in server.coordinator.shards):
        before = [log.log_end_offset for log in server.logs.values()]
        server.advance(1)
        grown = [log.log_end_offset - was for log, was in zip(server.logs.values(), before, strict=True)]
        assert sum(count > 0 for count in grown) <= 1
    assert harness.seen["checkpoint"] == 2


# ---- the topic cut at any place


def histories() -> Iterator[Harness]:
    """Histories that end in the middle, with checkpoints in them."""
    for seed in range(examples(40)):
        history = history_of(seed)
        defects: list[BaseException] = []
        with defects_of(defects), reproducible():
            harness = Harness(history.setup, defects)
            for step in history.steps:
                harness.play(step)
        if all(twins.audited and not twins.power_was_ever_lost for twins in harness.server.twins):
            yield harness


def checkpoints_of(audited: list[Record]) -> dict[int, int]:
    """Offset at which a checkpoint began → offset of the snapshot that completed it."""
    events = [None if key is None else schema.decode_event(value) for key, value, _ in audited]
    return {
        event.checkpoint_offset: offset
        for offset, event in enumerate(events)
        if isinstance(event, schema.GroupSnapshot) and event.checkpoint_offset is not None
    }


def replay(audited: list[Record], start: int, end: int | None = None) -> AuditReplay:
    read = AuditReplay(start)
    for record in audited[start:end]:
        at_once(read.apply([record]))
    return read


def test_wherever_old_segments_end_the_groups_go_on_as_if_they_were_there():
    compared = left_out = 0
    for harness in histories():
        for twins, shard in zip(harness.server.twins, harness.server.coordinator.shards, strict=True):
            whole = replay(twins.audited, 0)
            last_checkpoint = max(checkpoints_of(twins.audited), default=0)
            for start in range(last_checkpoint + 1):
                read = replay(twins.audited, start)
                for group_id, group in shard.machine.groups.items():
                    found, expected = read.cursors[group_id], whole.cursors[group_id]
                    assert (found.seq, found.created_seq) == (expected.seq, expected.created_seq)
                    if not found.knows_members:
                        left_out += 1  # it was being rebuilt during the round: a load then reads from the start
                        continue
                    assert found.agrees_with(group) == expected.agrees_with(group)
                    stored = twins.durable.groups[group_id]
                    assert found.void_from(stored) == expected.void_from(stored)
                    compared += 1
    assert compared > examples(1_000)
    assert left_out < compared / 20


def test_wherever_the_topic_begins_no_number_is_given_twice():
    for harness in histories():
        for twins in harness.server.twins:
            events = [schema.decode_event(value) for key, value, _ in twins.audited if key is not None]
            given = {(event.group_id, event.seq) for event in events}
            for start in range(0, len(twins.audited) + 1, 3):
                projector = AuditProjector(node_id=1)
                projector.start_replay(start)
                at_once(projector.apply(twins.audited[start:]))
                groups = twins.durable.groups
                records = at_once(projector.resume(groups, harness.server.now_ms, len(twins.audited)))
                decoded = [schema.decode_event(value) for _, value, _ in records]
                new = {(event.group_id, event.seq) for event in decoded}
                new |= {(group_id, state.seq + 1) for group_id, state in projector.groups.items()}
                assert not new & given
                assert projector.groups.keys() == twins.durable.groups.keys()


def test_a_checkpoint_counts_only_where_its_last_snapshot_is_read():
    """A power loss may cut the topic anywhere, and the file may name any offset."""
    counted = 0
    for harness in histories():
        audited = harness.server.twins[0].audited
        completed = checkpoints_of(audited)
        for end in range(0, len(audited), 5):
            for start in range(0, end, 3):
                expected = start in completed and completed[start] < end
                assert replay(audited, start, end).starts_at_checkpoint == expected
                counted += expected
        if counted > examples(20):
            break
    assert counted > examples(20)


def test_a_removed_group_is_remembered_until_the_next_batch(sim):
    """A crash may undo its removal until then."""
    group_ids = [f"group-{index}" for index in range(5)]
    sim.create(*group_ids)
    for group_id in group_ids:
        sim.queue_events(group_id, removed)
    sim.coordinator.drain(sim.now_ms)
    audited = [*sim.replay_audit()]
    read = AuditReplay(0)
    at_once(read.apply(audited))
    assert [cursor.state for cursor in read.cursors.values()] == [GroupState.DEAD] * 5
    sim.create("live")
    at_once(read.apply([*sim.replay_audit()][len(audited) :]))
    assert read.cursors.keys() == {"live"}
