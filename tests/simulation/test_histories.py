"""A batch of random histories, those that once found a defect, and whether the search detects defects."""

from collections import Counter

import pytest
from msgspec.structs import replace

from coordinator.core.causes import Cause
from coordinator.core.classic import events
from coordinator.core.classic.events import MemberSynced
from coordinator.core.classic.states import LEGAL_PREDECESSORS
from coordinator.core.consumer import conversion_events, large_targets
from coordinator.core.consumer import events as consumer_events
from coordinator.core.consumer.member import MemberState
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations
from coordinator.core.offsets import events as offset_events
from coordinator.core.offsets.events import DeletionCause
from tests.examples import examples
from tests.simulation.extremes import EXTREMES
from tests.simulation.generator import BREAKING, HEALING, history_of
from tests.simulation.history import ClientSetup, History, Setup, Step, as_code
from tests.simulation.playing import play
from tests.simulation.shrinking import fewest, shrink, simplest, where_it_fails

pytestmark = pytest.mark.timeout(300)

BATCH = range(examples(300))
SOME, EACH, OFTEN = examples(5), examples(20), examples(50)
"""How often something happens in them at least."""

BESIDE = range(5_000, 5_050)

TWO = Setup((ClientSetup("orders"), ClientSetup("orders")))


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    """What happened in all histories of the batch, and how often."""
    together: Counter[str] = Counter()
    for seed in BATCH:
        together += play(history_of(seed)).seen
    return together


def test_a_batch_of_histories_breaks_no_rule(seen):
    assert seen["step everybody"] > len(BATCH)


def test_targets_that_are_computed_beside_the_requests_break_no_rule(monkeypatch):
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)
    beside: Counter[str] = Counter()
    for seed in BESIDE:
        beside += play(history_of(seed)).seen
    assert beside["the target of an earlier epoch"] >= 5


def test_every_transition_happens(seen):
    wanted = {
        f"state {before} → {after}"
        for after, befores in LEGAL_PREDECESSORS.items()
        for before in befores
        if after is not GroupState.DEAD or before is GroupState.EMPTY
    }
    assert {each for each in wanted if seen[each] < OFTEN} == set()


def test_every_event_happens(seen):
    modules = (events, consumer_events, conversion_events, offset_events)
    classes = [each for module in modules for each in vars(module).items()]
    kinds = {name for name, each in classes if isinstance(each, type) and hasattr(each, "apply")}
    kinds -= {"GroupEvent", "PartitionMetadataRemoved"}  # the latter only in a folder of a Kafka before 4.1
    kinds -= {"PatternResolutionFailed"}  # by faults alone: tests/core/consumer/test_failed_work.py
    assert {kind for kind in kinds if seen[f"event {kind}"] < SOME} == set()


def test_members_of_consumer_groups_are_in_every_state_and_go_for_every_reason(seen):
    wanted = {f"a member is {state.name}" for state in MemberState if state is not MemberState.UNKNOWN}
    removed = (Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT)
    bumped = (*removed, Cause.NEW_MEMBER, Cause.METADATA_CHANGED, Cause.TOPICS_CHANGED)
    wanted |= {f"cause of ConsumerMemberRemoved: {cause}" for cause in removed}
    wanted |= {f"cause of GroupEpochBumped: {cause}" for cause in bumped}
    assert {each for each in wanted if seen[each] < SOME} == set()


def test_consumer_groups_go_through_their_states(seen):
    steps = ("Empty → Assigning", "Assigning → Reconciling", "Reconciling → Stable", "Stable → Assigning")
    back = ("Reconciling → Assigning", "Assigning → Empty")
    assert {each for each in (*steps, *back) if seen[f"state {each}"] < SOME} == set()


def test_offsets_are_deleted_for_every_reason(seen):
    causes = set(DeletionCause) - {DeletionCause.TOPIC_DELETED}  # no history deletes a topic
    assert {cause for cause in causes if seen[f"cause of OffsetsDeleted: {cause.name}"] < SOME} == set()


def test_every_cause_removes_a_member_or_starts_a_rebalance(seen):
    removed = (Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT)
    started = (Cause.NEW_MEMBER, Cause.METADATA_CHANGED, Cause.LEADER_REJOINED, Cause.STATIC_REPLACED, *removed)
    wanted = {f"cause of MemberRemoved: {cause}" for cause in (*removed, Cause.GROUP_MAX_SIZE_REACHED)}
    wanted |= {f"cause of RebalanceStarted: {cause}" for cause in started if cause is not Cause.REBALANCE_TIMEOUT}
    assert {each for each in wanted if seen[each] < SOME} == set()


def test_a_group_that_a_start_finds_too_large_is_rebalanced():
    """Random histories have it too rarely to be counted: its members have to be there when the server starts again."""
    both_act, smaller = (Step("act", 0), Step("act", 1)), Step("kill", 0, 1)
    found = play(History(TWO, (*both_act * 6, smaller, *both_act * 6))).seen
    assert found[f"cause of RebalanceStarted: {Cause.GROUP_TOO_LARGE}"] == 1


def test_transactions_end_in_every_way(seen):
    wanted = {f"answer EndTxn {error}" for error in ("NONE", "INVALID_TXN_STATE", "PRODUCER_FENCED")}
    wanted |= {
        f"answer TxnOffsetCommit {error}"
        for error in ("NONE", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "INVALID_PRODUCER_EPOCH")
    }
    wanted.add("answer OffsetCommit STALE_MEMBER_EPOCH")
    assert {each for each in wanted if seen[each] < SOME} == set()


def test_producers_repeat_and_skip_batches(seen):
    assert seen["answer a repeated Produce NONE"] > OFTEN
    assert seen["answer a Produce out of order OUT_OF_ORDER_SEQUENCE_NUMBER"] > OFTEN
    assert seen["records that were read"] > OFTEN


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat", "ConsumerGroupHeartbeat"])
def test_many_errors_occur_per_api(seen, api):
    answers = {each for each in seen if each.startswith(f"answer {api} ")}
    assert len(answers) >= 6


def test_clients_send_every_number_at_its_limits_and_more_than_the_log_takes(seen):
    assert seen["step extreme"] > examples(3 * len(EXTREMES))
    assert min(seen[f"answer {api} UNKNOWN_SERVER_ERROR"] for api in ("OffsetCommit", "SyncGroup")) > SOME


def test_servers_die(seen):
    assert seen["server died while writing"] > EACH
    assert min(seen[f"step {kind}"] for kind in ("kill", "lose_power", "stop", "fill_disk", "break_reads")) > EACH


def test_groups_break_invariants_and_come_back(seen):
    assert seen["group broke an invariant"] > OFTEN
    assert seen["group was rebuilt"] > OFTEN


def test_the_coordinator_stands_still(seen):
    assert seen["step stand_still"] > EACH
    assert seen["the coordinator stood still in a silence"] >= SOME


def test_the_connections_of_removed_members_are_open_closed_and_unknown(seen):
    assert min(seen[f"connection of a removed member is open: {each}"] for each in (True, False, None)) > EACH


def test_starts_read_from_checkpoints_and_old_segments_are_deleted(seen):
    wanted = ("checkpoint", "replay from a checkpoint", "replay of a whole topic", "segment of the audit deleted")
    assert {each for each in wanted if seen[each] < 3} == set()
    assert seen["slice of a checkpoint"] > seen["checkpoint"]


# ---- a history can be repeated


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_is_a_history(seed):
    one, other = play(history_of(seed)), play(history_of(seed))
    assert repr(one.answers) == repr(other.answers)
    assert [twins.audited for twins in one.server.twins] == [twins.audited for twins in other.server.twins]


@pytest.mark.parametrize("seed", range(examples(30)))
def test_heartbeats_answered_from_the_session_table_change_nothing(seed):
    """A history has the same responses, events and records with and without the fast path."""
    history = history_of(seed)
    # Within one iteration they differ: the session table answers before the queued requests are handled. And each
    # request that comes to a shard continues a rebuild.
    steps = tuple(step for step in history.steps if step.kind not in ("batch", "break_group"))
    fast, slow = (play(History(history.setup._replace(fast_path=which), steps)) for which in (True, False))
    assert repr(fast.answers) == repr(slow.answers)
    for with_fast_path, without in zip(fast.server.twins, slow.server.twins, strict=True):
        assert with_fast_path.audited == without.audited
        assert with_fast_path.stored == without.stored


@pytest.mark.parametrize("seed", range(examples(60)))
def test_commits_that_take_the_short_way_change_nothing(seed):
    """A history has the same responses, events and records whether steady commits are decided by the core or not."""
    history = history_of(seed)
    setup = history.setup._replace(drains_steady=False)
    short, long = (play(History(setup._replace(has_steady_commits=which), history.steps)) for which in (True, False))
    assert long.seen["steady commit"] == 0
    assert repr(short.answers) == repr(long.answers)
    for with_short_way, without in zip(short.server.twins, long.server.twins, strict=True):
        assert with_short_way.audited == without.audited
        assert with_short_way.stored == without.stored


@pytest.mark.parametrize("seed", range(examples(60)))
def test_commits_that_are_drained_by_themselves_change_nothing(seed):
    history = history_of(seed)
    # They may be appended before other requests of their iteration: one of the two appends may fail alone.
    steps = tuple(step for step in history.steps if step.kind not in ("batch", "lose_power", *BREAKING))
    apart, together = (
        play(History(history.setup._replace(has_steady_commits=True, drains_steady=which), steps))
        for which in (True, False)
    )
    assert repr(apart.answers) == repr(together.answers)
    for one, other in zip(apart.server.twins, together.server.twins, strict=True):
        assert one.audited == other.audited
        assert one.stored == other.stored


def test_many_commits_take_the_short_way(seen):
    assert seen["steady commit"] > examples(100)


# ---- the search detects defects


def test_a_dropped_response_is_detected_and_its_history_shrunk(monkeypatch):
    sync = operations.SYNC_GROUP

    def drop_answers_in_stable(group: Group | None, request: object, context: OperationContext) -> Decision:
        decision = sync.decide(group, request, context)
        if group is not None and group.membership.state is GroupState.STABLE:
            return replace(decision, replies=())
        return decision

    monkeypatch.setitem(operations.OPERATIONS, "SyncGroup", replace(sync, decide=drop_answers_in_stable))
    history = first_failure()
    with pytest.raises(AssertionError, match="was forgotten"):
        play(history)
    assert len(history.steps) < 15


def test_an_event_that_changes_nothing_is_detected(monkeypatch):
    monkeypatch.setattr(MemberSynced, "apply", lambda event, group: None)
    assert len(first_failure().steps) < 15


def test_an_exception_that_the_shard_logs_fails_the_history(monkeypatch):
    def broken(*arguments: object) -> Decision:
        raise ZeroDivisionError("a defect")

    monkeypatch.setitem(operations.OPERATIONS, "SyncGroup", replace(operations.SYNC_GROUP, decide=broken))
    with pytest.raises(ZeroDivisionError):
        play(first_failure())


def first_failure() -> History:
    """Shrunk, from the first seed that fails."""
    history = next(history for history in map(history_of, BATCH) if where_it_fails(history))
    return shrink(history)


def test_shrinking_leaves_what_is_needed():
    assert fewest(range(100), lambda items: {7, 70, 71} <= set(items)) == [7, 70, 71]
    assert fewest(range(3), lambda items: True) == []


def test_shrinking_simplifies_what_is_left():
    steps = [Step("wait", 3, 500), Step("commit", 2, 4)]
    simpler = simplest(steps, lambda steps: steps[0].value == 500 and steps[1].who == 2)
    assert simpler == [Step("wait", 0, 500), Step("commit", 2, 0)]


def test_a_history_is_printed_as_it_is_written():
    history = History(TWO, (Step("act"), Step("wait", 0, 500), Step("kill", 1)))
    assert eval(as_code(history)) == history


# ---- what was found


def test_a_power_loss_after_a_kill_and_a_flush_takes_nothing_that_was_flushed():
    """The new process did not know that the names of the files were not on the medium yet."""
    play(History(TWO, (Step("act"), Step("kill"), Step("flush"), *(Step("lose_power", 0, seed) for seed in range(20)))))


@pytest.mark.parametrize("bytes_left", range(0, 500, 50))
def test_a_disk_that_fills_up_during_a_batch_leaves_no_part_of_a_failed_request(bytes_left):
    """A transaction's positions lie in a batch of their own; the first batch was there, the second was not."""
    simple, transactional, turn = Step("commit", 0, 2), Step("transact", 0, 1), Step("batch", 0, 4)
    play(History(TWO, (simple, turn, Step("fill_disk", 0, bytes_left), simple, transactional, simple, HEALING)))


def test_a_change_of_a_member_whose_group_failed_before_it_rebalanced_is_void_after_a_kill():
    """The generation and its members were the stored ones, so the audit was taken for true as it stood."""
    setup = Setup((ClientSetup("orders", join_version=3), ClientSetup("orders", join_version=3)))
    stable = Step("act", 1), *[Step("everybody")] * 5, Step("transact", 1)
    failing = Step("subscribe", 1, 2), Step("break_group", 0, 1), Step("act", 1)
    harness = play(History(setup, (*stable, *failing, Step("kill"))))
    assert harness.seen["group broke an invariant"] == 1


def test_a_classic_group_that_was_an_empty_consumer_group_is_loaded_as_it_was_stored():
    """The audit took no conversion to a classic group for a stored state, so the load called the group lost."""
    static = ClientSetup("orders", "static-0", protocol="consumer")
    classic = ClientSetup("orders"), ClientSetup("orders", join_version=3)
    steps = Step("act"), Step("wait", 0, 12_000), Step("act", 1), Step("act", 1), Step("act", 2), Step("kill")
    harness = play(History(Setup((static, *classic)), steps))
    assert harness.seen["event GroupConverted"] > 0


def test_a_negative_committed_offset_has_a_lag_that_the_audit_can_write():
    """The lag of -2^63 was no int64, so the group failed at its next rebalance."""
    commit = EXTREMES.index(
        (next(extreme[0] for extreme in EXTREMES if extreme[0].name == "committed_offset"), -(2**63))
    )
    steps = *[Step("everybody")] * 5, Step("extreme", 0, commit), Step("subscribe", 1, 2), *[Step("everybody")] * 5
    harness = play(History(Setup((ClientSetup("orders"), ClientSetup("orders"))), steps))
    assert harness.seen["answer OffsetCommit partition NONE"] > 0


def test_a_target_that_is_due_when_a_member_without_topics_joins_gives_it_partitions():
    """Kafka 4.3.1 does so too: joining with an empty list does not change whether all members subscribe to the same.

    Nobody owns those partitions until the next epoch; the check of who owns what has to know that.
    """
    two = (
        ClientSetup("billing", "static-1", 5, 10_000, 20_000, protocol="consumer"),
        ClientSetup("billing", None, 4, 3_000, 5_000, protocol="consumer"),
    )
    play(History(Setup(two, assignment_interval_ms=1_000), (Step("everybody", 0, 431), Step("subscribe", 0, 15))))
