"""What the audit says so that a person understands a rebalance: who, since when, with whom, and at what price."""

from collections.abc import Collection
from typing import Any, TypeVar

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.audit import schema
from coordinator.config.settings import Config
from coordinator.core.causes import REASON_CHARACTERS_MAX, Cause
from coordinator.core.groups.events import GroupCreated
from coordinator.core.kinds import operations
from coordinator.core.stored import Producer
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import notes
from tests.audit.stories import Partitions, assigned, assignment, stable, subscription, sync
from tests.simulation.server import SimulatedServer
from tests.simulation.simulation import (
    GROUP_ID,
    NEWEST_JOIN,
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    Sent,
    Simulation,
)

Event = TypeVar("Event", bound=schema.AuditEvent)


class Cluster:
    """Topics and log ends that a test sets."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.ids: dict[str, int] = {}
        self.ends: dict[tuple[str, int], int] = {}
        self._version = 0

    @property
    def topics_version(self) -> int:
        """Tests change `counts` and `ids` at any time."""
        self._version += 1
        return self._version

    def partition_count(self, topic: str) -> int:
        return self.counts.get(topic, 0)

    def topic_name(self, topic_id: bytes) -> str | None:
        return None

    def has_metadata(self, topic: str) -> bool:
        return True

    def existing(self, names: Collection[str]) -> set[str]:
        return self.counts.keys() & names

    def topic_id(self, topic: str) -> bytes:
        return bytes([topic in self.counts, *bytes(14), self.ids.get(topic, 0)])

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        return self.ends.get((topic, partition))

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        return self.ends.get((topic, partition))


@pytest.fixture
def sim() -> Simulation:
    return Simulation()


@pytest.fixture
def cluster(sim) -> Cluster:
    cluster = Cluster()
    sim.shard.projection.world.cluster = cluster
    return cluster


@pytest.fixture
def pair(sim, cluster) -> list[str]:
    """A leader that owns t-0 and t-1, and a follower that owns t-2."""
    cluster.counts["t"] = 3
    sim.join("a", metadata=subscription("t"))
    (leader,) = sim.group.members
    sync(sim, {leader: {}})
    sim.join("b", metadata=subscription("t"))
    sim.join("a", leader, metadata=subscription("t"))
    ids = list(sim.group.members)
    sync(sim, {ids[0]: {"t": [0, 1]}, ids[1]: {"t": [2]}})
    return ids


def last(sim: Simulation, kind: type[Event]) -> Event:
    return [event for event in sim.audited() if isinstance(event, kind)][-1]


def causes(triggers: list[schema.Trigger]) -> list[tuple[Cause, str]]:
    return [(trigger.cause, trigger.member.member_id if trigger.member is not None else "") for trigger in triggers]


# ---- members that go


def test_a_session_that_expired_says_when_its_member_was_last_heard(sim, pair):
    a, b = pair
    joined_ms = sim.now_ms
    sim.advance(1_000)
    sim.commit(b, generation_id=2)
    committed_ms = sim.now_ms
    sim.advance(2_000)
    sim.heartbeat(b)
    heard_ms = sim.now_ms
    for _ in range(4):
        sim.advance(SESSION_TIMEOUT_MS // 4)
        sim.heartbeat(a)
    removed = last(sim, schema.MemberRemoved)
    assert (removed.member.member_id, removed.cause) == (b, Cause.SESSION_EXPIRED)
    assert removed.time_ms == heard_ms + SESSION_TIMEOUT_MS
    assert (removed.session_timeout_ms, removed.last_heard_ms) == (SESSION_TIMEOUT_MS, heard_ms)
    assert (removed.last_joined_ms, removed.last_committed_ms) == (joined_ms, committed_ms)
    assert removed.requested_by is None
    sim.advance(500)
    sim.join("a", a, metadata=subscription("t"))
    events = sync(sim, {a: {"t": [0, 1, 2]}})
    assert stable(events).silent_partition_ms == SESSION_TIMEOUT_MS  # t-2 alone
    assert stable(events).unowned_partition_ms == 3 * 500


def test_a_member_that_joins_again_is_told_with_the_client_that_it_has_now(sim, pair):
    leader, _ = pair
    assert last(sim, schema.MemberRejoined).member.client_software_name == ""
    sim.client_software = "librdkafka"
    sim.join("a", leader, metadata=subscription("t"))
    assert last(sim, schema.MemberRejoined).member.client_software_name == "librdkafka"


def test_the_silence_of_a_member_is_told_once(sim, pair):
    a, _ = pair
    sim.advance(SESSION_TIMEOUT_MS // 2)
    sim.heartbeat(a)
    sim.advance(SESSION_TIMEOUT_MS // 2)
    sim.join("a", a, metadata=subscription("t"))
    assert stable(sync(sim, {a: {}})).silent_partition_ms == SESSION_TIMEOUT_MS
    sim.join("a", a, metadata=subscription("t", "s"))
    assert stable(sync(sim, {a: {}})).silent_partition_ms == 0


def test_a_member_that_was_not_heard_since_a_restart_is_not_said_to_have_been(sim, pair):
    sim.restart()
    sim.advance(SESSION_TIMEOUT_MS)
    removed = last(sim, schema.MemberRemoved)
    assert (removed.last_heard_ms, removed.last_joined_ms, removed.last_committed_ms) == (None, None, None)


def test_a_member_that_leaves_is_told_from_one_that_is_removed(sim, pair):
    a, b = pair
    sim.leave(b, reason="closing")
    assert (last(sim, schema.MemberRemoved).requested_by, last(sim, schema.MemberRemoved).reason) == (None, "closing")
    sim.leave(a, client_id="kafka-admin")
    host = sim.audited()[1].member.client_host
    assert last(sim, schema.MemberRemoved).requested_by == schema.Requester("kafka-admin", host)


def test_a_reason_is_cut(sim):
    sim.join("a", metadata=subscription("t"), reason="é" * 30_000)
    for event in (last(sim, schema.MemberJoined), last(sim, schema.RebalanceStarted)):
        assert event.reason == "é" * REASON_CHARACTERS_MAX


# ---- what came together


def test_all_triggers_are_told_in_order(sim, pair):
    a, b = pair
    with sim.one_turn():
        sim.leave(b, reason="bye")
        sim.join("c", metadata=subscription("t"), reason="new here")
    started = last(sim, schema.RebalanceStarted)
    assert causes(started.triggers) == [(Cause.MEMBER_LEFT, b)]
    assert (started.cause, started.member) == (started.triggers[0].cause, started.triggers[0].member)
    assert started.triggers[0].reason == started.reason == "bye"
    sim.advance(2_000)
    sim.join("a", a, metadata=subscription("t"))
    generation = last(sim, schema.GenerationStarted)
    c = next(member_id for member_id in sim.group.members if member_id != a)
    assert causes(generation.triggers) == [(Cause.MEMBER_LEFT, b), (Cause.NEW_MEMBER, c)]
    assert [trigger.reason for trigger in generation.triggers] == ["bye", "new here"]
    assert generation.slowest_member is not None
    assert (generation.slowest_member.member_id, generation.slowest_join_ms) == (a, 2_000)


def test_the_next_generation_begins_without_the_triggers_of_the_last(sim, pair):
    sim.leave(pair[1])
    sim.join("a", pair[0], metadata=subscription("t"))
    sync(sim, {pair[0]: {}})
    sim.join("c", metadata=subscription("t"))
    assert [cause for cause, _ in causes(last(sim, schema.RebalanceStarted).triggers)] == [Cause.NEW_MEMBER]


def test_who_hung_in_a_rebalance_is_told_from_who_triggered_it(sim, pair):
    a, b = pair
    sim.join("c", metadata=subscription("t"))
    sim.advance(100)
    sim.join("a", a, metadata=subscription("t"))
    for _ in range(12):
        sim.heartbeat(b)
        sim.advance(REBALANCE_TIMEOUT_MS // 12)
    generation = last(sim, schema.GenerationStarted)
    c = next(member_id for member_id in sim.group.members if member_id != a)
    assert causes(generation.triggers) == [(Cause.NEW_MEMBER, c), (Cause.REBALANCE_TIMEOUT, b)]
    assert generation.join_ms == REBALANCE_TIMEOUT_MS
    assert last(sim, schema.MemberRemoved).last_heard_ms == generation.time_ms + 100 - REBALANCE_TIMEOUT_MS // 12
    assert last(sim, schema.MemberRejoined).join_ms == 100
    events = sync(sim, {a: {"t": [0]}, c: {"t": [1, 2]}})
    assert {member_id: event.join_ms for member_id, event in assigned(events).items()} == {a: 100, c: 0}


def test_too_many_triggers_are_counted(sim, pair):
    for number in range(schema.TRIGGERS_NAMED_MAX + 4):
        sim.join(f"new-{number}", metadata=subscription("t"))
    for member_id in pair:
        sim.join("again", member_id, metadata=subscription("t"))
    generation = last(sim, schema.GenerationStarted)
    assert (len(generation.triggers), generation.unnamed_triggers) == (schema.TRIGGERS_NAMED_MAX, 4)


def test_a_group_that_becomes_empty_says_why(sim, pair):
    with sim.one_turn():
        for member_id in pair:
            sim.leave(member_id)
    assert causes(last(sim, schema.GroupEmptied).triggers) == [(Cause.MEMBER_LEFT, each) for each in pair]


def test_member_ids_that_were_handed_out_and_never_used_are_named(sim, pair):
    sim.join("c", metadata=subscription("t"))
    pending = sim.join("d", version=NEWEST_JOIN, metadata=subscription("t")).response.member_id
    for member_id in pair:
        sim.join("again", member_id, metadata=subscription("t"))
    for _ in range(4):
        sim.advance(SESSION_TIMEOUT_MS // 4)
        for member_id in sim.group.members:
            sim.heartbeat(member_id)
    assert last(sim, schema.GenerationStarted).pending_members == [pending]


def test_a_generation_that_fails_says_who_did_not_sync(sim, pair):
    a, b = pair
    sim.join("c", metadata=subscription("t"))
    for member_id in pair:
        sim.join("again", member_id, metadata=subscription("t"))
    sim.sync(b)
    sim.advance(300)
    sim.leave(a)
    superseded = last(sim, schema.RebalanceSuperseded)
    c = next(member_id for member_id in sim.group.members if member_id not in pair)
    assert {each.member_id for each in superseded.never_synced} == {a, c}
    assert superseded.unnamed_members == 0


def test_the_time_to_sync_is_told_of_each_member(sim, pair):
    a, b = pair
    sim.join("a", a, metadata=subscription("t"), reason="again")
    sim.join("b", b, metadata=subscription("t"))
    sim.advance(40)
    sim.sync(b)
    sim.advance(60)
    before = len(sim.audited())
    sim.sync(a, {a: assignment({"t": [0]}), b: assignment({"t": [1]})})
    events = sim.audited()[before:]
    assert {member_id: event.sync_ms for member_id, event in assigned(events).items()} == {a: 100, b: 40}
    slowest = stable(events).slowest_member
    assert slowest is not None
    assert (slowest.member_id, stable(events).slowest_sync_ms) == (a, 100)


def test_a_group_that_is_too_large_names_no_member(sim, pair):
    sim.config = type(sim.config)({"group.initial.rebalance.delay.ms": "0", "group.max.size": "1"})
    sim.restart()
    started = last(sim, schema.RebalanceStarted)
    assert (started.cause, started.member) == (Cause.GROUP_TOO_LARGE, None)
    assert causes(started.triggers) == [(Cause.GROUP_TOO_LARGE, "")]


# ---- subscriptions and topics


@pytest.mark.parametrize(
    ("metadata", "changed"),
    [
        (subscription("t", "s"), True),
        (subscription("t", owned={"t": [2]}), False),
        (b"\x00", True),
    ],
    ids=["another topic", "owned partitions", "no subscription"],
)
def test_metadata_changed_means_that_the_subscription_changed(sim, pair, metadata, changed):
    sim.join("b", pair[1], metadata=metadata)
    assert last(sim, schema.MemberRejoined).metadata_changed is changed
    cause = Cause.METADATA_CHANGED if changed else Cause.MEMBER_REJOINED
    assert last(sim, schema.RebalanceStarted).cause == cause


def test_a_leader_that_rejoins_with_other_owned_partitions_is_still_the_leader_that_rejoins(sim, pair):
    sim.join("a", pair[0], metadata=subscription("t", owned={"t": [0]}))
    assert last(sim, schema.RebalanceStarted).cause == Cause.LEADER_REJOINED


def test_a_topic_that_grew_or_went_is_named_with_its_counts(sim, pair, cluster):
    cluster.counts["t"] = 5
    sim.join("a", pair[0], metadata=subscription("t"))
    assert last(sim, schema.RebalanceStarted).topic_changes == {"t": [3, 5]}
    sim.join("b", pair[1], metadata=subscription("t"))
    sync(sim, {pair[0]: {"t": [0]}})
    cluster.counts.clear()
    sim.join("a", pair[0], metadata=subscription("t"))
    assert last(sim, schema.RebalanceStarted).topic_changes == {"t": [5, 0]}


@pytest.mark.parametrize("count", [3, 2])
def test_a_topic_that_was_created_again_did_not_shrink(sim, pair, cluster, count):
    cluster.counts["t"] = 3
    sim.join("a", pair[0], metadata=subscription("t"))
    sim.join("b", pair[1], metadata=subscription("t"))
    sync(sim, {pair[0]: {"t": [0]}})
    cluster.counts["t"], cluster.ids["t"] = count, 1
    sim.join("a", pair[0], metadata=subscription("t"))
    started = last(sim, schema.RebalanceStarted)
    assert (started.topic_changes, started.recreated_topics) == ({"t": [3, count]}, ["t"])


# ---- the price


def rebalance_to(sim: Simulation, plan: dict[str, Partitions]) -> schema.GenerationStable:
    leader = sim.group.leader
    for member_id in sorted(sim.group.members, key=lambda each: each != leader):
        sim.join("again", member_id, metadata=subscription("t"))
    return stable(sync(sim, dict(plan)))


def test_partitions_that_need_not_have_moved_are_told(sim, pair):
    a, b = pair
    event = rebalance_to(sim, {a: {"t": [2]}, b: {"t": [0, 1]}})
    assert (event.partitions_moved, event.partitions_moved_needed) == (3, 0)
    event = rebalance_to(sim, {a: {"t": [2]}, b: {"t": [0, 1]}})
    assert (event.partitions_moved, event.partitions_moved_needed) == (0, 0)
    sim.leave(a)
    event = rebalance_to(sim, {b: {"t": [0, 1, 2]}})
    assert (event.partitions_moved, event.partitions_moved_needed) == (1, 1)


def test_what_had_to_move_is_unknown_where_members_subscribe_to_different_topics(sim, pair):
    a, b = pair
    sim.join("b", b, metadata=subscription("s", "t"))
    sim.join("a", a, metadata=subscription("t"))
    assert stable(sync(sim, {a: {"t": [2]}, b: {"t": [0, 1]}})).partitions_moved_needed is None


def test_commits_that_a_rebalance_rejected_are_counted(sim, pair):
    a, b = pair
    sim.join("a", a, metadata=subscription("t"))
    sim.join("b", b, metadata=subscription("t"))
    for _ in range(3):
        assert sim.commit(b, generation_id=3).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert stable(sync(sim, {a: {"t": [0]}})).commits_rejected == 3
    assert rebalance_to(sim, {a: {"t": [0]}}).commits_rejected == 0
    assert "request.rejected" not in sim.kinds()


def test_the_lag_of_the_group_is_told_where_the_log_is(sim, pair, cluster):
    sim.commit(pair[0], generation_id=2, offset=40)
    sim.join("a", pair[0], metadata=subscription("t"))
    assert last(sim, schema.RebalanceStarted).lag is None
    cluster.ends["t", 0] = 100
    sim.join("b", pair[1], metadata=subscription("t"))
    assert stable(sync(sim, {pair[0]: {"t": [0]}})).lag == 60


# ---- requests that were rejected, and administrators


def test_fencing_names_who_was_fenced_and_who_has_the_instance_id(sim):
    sim.join("one", instance_id="i", version=5, metadata=subscription("t"))
    (first,) = sim.group.members
    sync(sim, {first: {}})
    sim.join("two", instance_id="i", version=5, metadata=subscription("t", "s"))
    (second,) = sim.group.members
    for _ in range(12):
        assert sim.heartbeat(first, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    rejected = [event for event in sim.audited() if isinstance(event, schema.RequestRejected)]
    assert [event.count for event in rejected] == [1, 10]
    assert {(event.api, event.error) for event in rejected} == {("Heartbeat", "FENCED_INSTANCE_ID")}
    assert rejected[0].member.member_id == first
    assert rejected[0].holder is not None
    assert (rejected[0].holder.member_id, rejected[0].holder.group_instance_id) == (second, "i")


def test_a_static_member_that_comes_back_tells_old_and_new(sim):
    sim.join("one", instance_id="i", version=5, metadata=subscription("t"))
    (first,) = sim.group.members
    sync(sim, {first: {}})
    sim.join("two", instance_id="i", version=5, metadata=subscription("s"), reason="restart")
    replaced = last(sim, schema.StaticMemberReplaced)
    assert (replaced.old_client_id, replaced.member.client_id) == ("one", "two")
    assert (replaced.described_client_id, sim.describe().response.groups[0].members[0].client_id) == ("one", "one")
    assert (replaced.old_subscribed_topics, replaced.subscribed_topics) == (["t"], ["s"])
    assert replaced.reason == "restart"
    sim.join("three", instance_id="i", version=5, metadata=subscription("s"))
    assert last(sim, schema.StaticMemberReplaced).old_client_id == "two"


@pytest.mark.parametrize(
    ("protocols", "session_timeout_ms", "error"),
    [(("sticky",), SESSION_TIMEOUT_MS, "INCONSISTENT_GROUP_PROTOCOL"), (("range",), 0, "INVALID_SESSION_TIMEOUT")],
)
def test_a_join_that_is_rejected_is_told(sim, pair, protocols, session_timeout_ms, error):
    sim.join("c", protocols=protocols, session_timeout_ms=session_timeout_ms)
    rejected = last(sim, schema.RequestRejected)
    assert (rejected.api, rejected.error, rejected.member.client_id, rejected.count) == ("JoinGroup", error, "c", 1)


def test_what_a_healthy_client_meets_is_no_rejection(sim, pair):
    sim.join("c", version=NEWEST_JOIN)
    sim.leave(pair[1])
    sim.sync(pair[0])
    assert "request.rejected" not in sim.kinds()


def test_offsets_that_an_administrator_sets_are_told_from_and_to(sim, pair):
    sim.commit(pair[0], generation_id=2, offset=40)
    with sim.one_turn():
        for member_id in pair:
            sim.leave(member_id)
    sim.commit(offset=7)
    reset = last(sim, schema.OffsetsReset)
    assert (reset.requested_by.client_id, reset.partitions) == ("client", {"t": [[0, 40, 7]]})
    sim.delete_group()
    deleted, removed = last(sim, schema.OffsetsDeleted), last(sim, schema.GroupRemoved)
    assert (deleted.cause, removed.cause) == (Cause.GROUP_REMOVED, Cause.ADMIN)
    for event in (deleted, removed):
        assert event.requested_by is not None
        assert event.requested_by.client_id == "admin"


def test_who_goes_on_committing_without_being_a_member_is_told_of_once(sim, pair):
    with sim.one_turn():
        for member_id in pair:
            sim.leave(member_id)
    for offset in (7, 8, 9):
        sim.commit(offset=offset)
    assert sim.kinds().count("offsets.reset") == 1
    sim.commit(offset=3)
    assert last(sim, schema.OffsetsReset).partitions == {"t": [[0, 9, 3]]}, "an offset that goes back is no progress"
    sim.advance(schema.RESET_APART_MS)
    sim.commit(offset=90)
    assert last(sim, schema.OffsetsReset).partitions == {"t": [[0, 3, 90]]}


def test_a_member_that_commits_a_smaller_offset_leaves_a_trace_once_a_minute(sim, pair):
    sim.commit(pair[0], generation_id=2, offset=40)
    sim.commit(pair[0], generation_id=2, offset=41)
    assert "offsets.reset" not in sim.kinds()
    sim.commit(pair[0], generation_id=2, offset=7)
    reset = last(sim, schema.OffsetsReset)
    assert reset.member is not None
    assert (reset.member.member_id, reset.partitions) == (pair[0], {"t": [[0, 41, 7]]})
    history = GroupHistory.of(GROUP_ID, sim.audited())
    (told,) = [note.text for note in notes(history) if " back: " in note.text]
    assert told.endswith(" set 1 committed offset back: t-0 from 41 to 7")
    sim.commit(pair[0], generation_id=2, offset=3)
    assert sim.kinds().count("offsets.reset") == 1


def test_a_transaction_that_sets_an_offset_back_is_told_when_it_is_committed(sim, pair):
    sim.commit(pair[0], generation_id=2, offset=40)
    sim.commit_in_transaction(Producer(7, 0), offset=6, member_id=pair[0], generation_id=2)
    assert "offsets.reset" not in sim.kinds()
    sim.end_transaction(Producer(7, 0))
    reset = last(sim, schema.OffsetsReset)
    assert reset.member is not None
    assert (reset.requested_by.client_id, reset.member.member_id) == ("client", pair[0])
    assert reset.partitions == {"t": [[0, 40, 6]]}
    assert sim.offsets.by_topic["t"][0].offset == 6


def test_a_transaction_that_is_aborted_or_goes_on_leaves_no_trace(sim, pair):
    sim.commit(pair[0], generation_id=2, offset=40)
    for number, (offset, is_committed) in enumerate(((6, False), (40, True), (41, True))):
        sim.commit_in_transaction(Producer(number, 0), offset=offset)
        sim.end_transaction(Producer(number, 0), committed=is_committed)
    sim.commit_in_transaction(Producer(9, 0), offset=6)
    sim.commit(pair[0], generation_id=2, offset=50)  # a later commit counts already
    sim.end_transaction(Producer(9, 0))
    assert sim.offsets.by_topic["t"][0].offset == 50
    assert "offsets.reset" not in sim.kinds()


def test_who_committed_in_a_transaction_is_not_known_after_a_restart(sim):
    sim.commit(offset=40)
    sim.commit_in_transaction(Producer(7, 0), offset=6)
    sim.restart()
    sim.end_transaction(Producer(7, 0))
    reset = last(sim, schema.OffsetsReset)
    assert (reset.requested_by, reset.member) == (schema.Requester("", ""), None)
    assert reset.partitions == {"t": [[0, 40, 6]]}
    (told,) = [note.text for note in notes(GroupHistory.of(GROUP_ID, sim.audited())) if " back: " in note.text]
    assert told == "a transaction set 1 committed offset back: t-0 from 40 to 6"


def test_a_smaller_offset_of_a_group_that_never_had_members_is_told(sim):
    sim.commit(offset=70)
    sim.commit(offset=7)
    reset = last(sim, schema.OffsetsReset)
    assert (reset.requested_by.client_id, reset.member, reset.partitions) == ("client", None, {"t": [[0, 70, 7]]})


def test_of_two_offsets_for_a_partition_the_later_one_tells_whether_it_goes_back(sim):
    sim.commit(offset=70)
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset) for offset in (7, 71)]
    request = OffsetCommitRequest(
        group_id=GROUP_ID, topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)], retention_time_ms=-1
    )
    sent = Sent()
    sim.submit(operations.OFFSET_COMMIT, GROUP_ID, request, sent, "client", 8)
    assert sent.error is ErrorCode.NONE
    assert "offsets.reset" not in sim.kinds()


def test_a_delete_that_is_refused_is_told(sim, pair):
    sim.delete_group()
    refused = last(sim, schema.RequestRejected)
    assert (refused.api, refused.error, refused.member.client_id) == ("DeleteGroups", "NON_EMPTY_GROUP", "admin")
    told = [note.text for note in notes(GroupHistory.of(GROUP_ID, sim.audited()))]
    assert "admin (127.0.0.1) asked to delete the group, and was refused: it has members" in told


def test_a_group_that_never_had_members_is_not_reset(sim):
    sim.commit(offset=7)
    sim.commit(offset=8)
    assert "offsets.reset" not in sim.kinds()


def test_offsets_that_went_with_their_topic_say_so(sim):
    sim.commit(offset=7)
    sim.delete_topic("t")
    deleted = last(sim, schema.OffsetsDeleted)
    assert (deleted.group_id, deleted.cause, deleted.requested_by) == (GROUP_ID, Cause.TOPIC_DELETED, None)


# ---- the coordinator itself


def test_partitions_with_groups_are_told_of_the_coordinator_too():
    """Partition 0 of everything; the others while they have groups whose readers want to know."""
    server = SimulatedServer(Config({"group.initial.rebalance.delay.ms": "0"}), partitions=3)
    group_id = next(f"g{number}" for number in range(99) if server.coordinator.partition_of(f"g{number}") == 1)
    server.queue_events(group_id, lambda name, now_ms: [GroupCreated(group_id=name, at_ms=now_ms)])
    server.coordinator.drain(server.now_ms)
    paused = schema.CoordinatorPaused(
        time_ms=0, node_id=1, coordinator_epoch=3, from_ms=1, until_ms=5, pause_kind="blocked"
    )
    server.coordinator.report(paused)
    server.coordinator.drain(server.now_ms)
    told = [[record for record in server.replay_audit(partition) if record[0] is None] for partition in range(3)]
    assert [len(line) for line in told] == [1, 1, 0]
    (first,), (second,), _ = told
    assert schema.decode_coordinator_event(second[1]).until_ms == 5
    assert first == second, "one event, with one ce_id"


def test_a_start_is_announced_to_a_partition_once():
    server = SimulatedServer(Config({}))
    server.coordinator.announce(
        schema.CoordinatorStarted(software_version="1", time_ms=0, node_id=1, coordinator_epoch=3)
    )
    server.end_iteration()
    server.coordinator.unload(0)
    server.coordinator.load([0])
    while server.coordinator.is_loading:
        server.coordinator.drain(server.now_ms)
    server.end_iteration()
    assert len([key for key, _, _ in server.replay_audit() if key is None]) == 1


def test_a_start_and_a_stop_are_events_without_a_group(sim, pair):
    identity: dict[str, Any] = {"time_ms": 0, "node_id": 1, "coordinator_epoch": 3}
    sim.coordinator.announce(schema.CoordinatorStarted(software_version="1", **identity))
    sim.end_iteration()
    sim.coordinator.stop(sim.now_ms, schema.CoordinatorStopped(**identity))
    own = [value for key, value, _ in sim.replay_audit() if key is None]
    started, stopped = map(schema.decode_coordinator_event, own)
    assert (started.time_ms, started.coordinator_epoch, started.software_version) == (sim.now_ms, 3, "1")
    assert stopped.clean
    groups = len(sim.shard.projection.groups)
    sim.restart()
    assert len(sim.shard.projection.groups) == groups == 1
    assert sim.shard.projection.groups[GROUP_ID].seq > 0
