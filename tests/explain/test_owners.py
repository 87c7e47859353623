"""Since when partitions had no owner and who had them last, from the events of the real core."""

import pytest

from coordinator.audit.schema import CoordinatorStarted, MemberRef
from coordinator.explain.claims.price import Unowned
from coordinator.explain.generation import Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.makers.price import COMES_BACK_MS
from coordinator.explain.owners import Owners, OwnershipChange
from coordinator.explain.story import sentence
from tests.audit.stories import rejoin, sync
from tests.explain.consumers import Consumers, text
from tests.simulation.simulation import GROUP_ID, Simulation

A, B, C = MemberRef("a-id", "a"), MemberRef("b-id", "b"), MemberRef("c-id", "c")


def absent_ms(group: Consumers) -> list[tuple[str, int, int]]:
    """Of the latest generation: last owner, partitions and ms without an owner."""
    generation = group.history().latest
    assert generation is not None and generation.outcome is Outcome.STABLE
    return sorted((absence.member.client_id, absence.partitions, absence.ms) for absence in generation.absences)


def test_an_owner_that_joins_an_eager_rebalance_has_given_up_its_partitions():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.settle({"a": 200, "b": 700})
    assert absent_ms(group) == [("a", 3, 700)]
    assert "3 of 6 partitions had no owner for 700 ms." in text(group.story())


def test_a_member_that_is_removed_in_the_join_phase_of_another_cause_stopped_when_it_was_last_heard():
    group = Consumers().group_of("a", "b")
    group.quiet(6_000, "b")
    group.join("c")
    group.quiet(4_001, "b")
    del group.ids["b"]
    group.settle()
    assert ("b", 3, 10_001) in absent_ms(group)
    told = text(group.story())
    assert "Nobody consumed the 3 partitions of b for 10 s: 6 s before the rebalance began, and 4 s in it." in told
    assert told.count("Nobody consumed") == 1
    assert "efore it began" not in told


def test_an_absence_goes_on_over_rebalances_that_do_not_become_stable():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.quiet(100)
    for name in ("a", "b"):
        group.join(name)
    group.quiet(2_000)
    group.join("d")  # before the leader has sent the assignment
    group.settle({"a": 0, "b": 0, "c": 300})
    assert absent_ms(group) == [("a", 3, 2_300), ("b", 3, 2_300)]
    assert "All 6 partitions had no owner for 2.3 s, over 2 rebalances." in text(group.story())


def test_a_group_that_was_empty_had_no_owners_until_somebody_came():
    group = Consumers().group_of("a")
    group.sim.commit(group.ids["a"], generation_id=1)  # a group with offsets outlives its members
    group.leave("a")
    group.sim.advance(3_600_000)
    group.join("b")
    group.sim.advance(3_000)
    group.settle()
    assert absent_ms(group) == [("a", 6, 3_603_000)]
    assert "6 of 6 partitions moved" in text(group.story())
    assert "Nobody consumed the 6 partitions of a for 1 h: 1 h before the rebalance began, and 3 s in it." in text(
        group.story()
    )


def test_cooperative_members_keep_what_they_own_while_they_rebalance():
    group = Consumers(protocol="cooperative-sticky").group_of("a", "b")
    group.join("a", reason="asks again")
    group.settle({"a": 100, "b": 900})
    assert absent_ms(group) == []
    assert "had no owner" not in text(group.story())


def test_a_partition_that_moves_through_a_cooperative_rebalance_moves_once():
    group = Consumers(protocol="cooperative-sticky")
    group.join("a")
    group.settle(plan={"a": [0, 1, 2, 3, 4, 5]})
    group.join("b")
    group.settle(plan={"a": [0, 1, 2], "b": []})
    first = group.history().latest
    assert first is not None and (first.partitions_moved, first.without_owner) == (0, 3)
    assert "None of 6 partitions moved, and 3 of them have no owner yet." in text(group.story())
    group.quiet(40)
    group.join("a")
    group.quiet(400)
    group.settle(plan={"a": [0, 1, 2], "b": [3, 4, 5]})
    second = group.history().latest
    assert second is not None and (second.partitions_moved, second.without_owner) == (3, 0)
    assert absent_ms(group) == [("a", 3, 440)]
    told = text(group.story())
    assert "3 of 6 partitions moved" in told
    assert "3 of 6 partitions had no owner for 440 ms." in told


def test_new_partitions_were_never_without_an_owner():
    group = Consumers(partitions=2).group_of("a", "b")
    group._partitions = 4
    group.join("a")
    group.settle({"b": 600}, plan={"a": [0, 2], "b": [1, 3]})
    assert absent_ms(group) == [("a", 1, 600)]


def test_a_coordinator_that_restarts_takes_nothing_from_the_members():
    group = Consumers().group_of("a", "b")
    group.sim.restart()
    group.join("c")
    group.settle({"a": 0, "b": 100})
    assert absent_ms(group) == [("a", 3, 100)]


def test_a_static_member_that_comes_back_has_what_it_had():
    group = Consumers()
    group.join("a", instance_id="one")
    group.settle()
    group.ids["a"] = ""
    group.join("a")
    history = group.history()
    owners = {each.member_id for each in history.owners.by_partition.values()}
    assert owners == {group.ids["a"]}
    assert history.owners.lost_since(0) == 0


def test_after_missing_events_the_figures_are_those_that_the_coordinator_counted():
    group = Consumers().group_of("a", "b")
    events = group.sim.audited()
    group.join("c")
    group.settle({"a": 0, "b": 500})
    later = group.sim.audited()[len(events) + 1 :]
    generation = GroupHistory.of("orders", [*events, *later]).latest
    assert generation is not None
    assert generation.absences == []
    assert generation.partitions_moved is not None


# ---- the owners by themselves


def test_after_missing_events_nobody_is_found_to_own_a_topic_that_is_gone():
    owners = Owners()
    owners.forget()
    owners.deleted("t", 0)
    owners.found(A, {"t": [0], "u": [0]})  # what is stored of a member names the topic still
    owners.assigned(B, {"t": [0], "u": [0]}, 50)
    assert owners.end_generation() == OwnershipChange(1, [], first=1)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=["lost first", "gained first"])
def test_what_one_member_loses_to_another_in_a_generation_was_never_without_an_owner(order):
    owners = Owners()
    owners.assigned(A, {"t": [0, 1]}, 10)
    owners.end_generation()
    for name in order:
        if name == "a":
            owners.assigned(A, {"t": [0]}, 50)
            owners.revoked(A.member_id, {"t": [1]}, 50)
        else:
            owners.assigned(B, {"t": [1]}, 50)
    assert owners.end_generation() == OwnershipChange(1, [])
    assert owners.lost_since(0) == 0


def test_the_first_stop_counts():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.gave_up(A.member_id, 20)
    owners.gave_up(A.member_id, 30)
    owners.assigned(B, {"t": [0]}, 50)
    (absence,) = owners.end_generation().absences
    assert (absence.member, absence.stopped_ms, absence.ms) == (A, 20, 30)


def test_who_is_found_to_have_been_gone_when_it_was_revoked_a_partition_stopped_before():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.revoked(A.member_id, {"t": [0]}, 60)
    owners.gave_up(A.member_id, 20)
    owners.assigned(B, {"t": [0]}, 80)
    (absence,) = owners.end_generation().absences
    assert (absence.member, absence.stopped_ms, absence.is_revoked) == (A, 20, False)


@pytest.mark.parametrize("is_unsure", [True, False])
def test_who_may_have_been_gone_when_it_was_revoked_a_partition_may_have_stopped_before(is_unsure):
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.revoked(A.member_id, {"t": [0]}, 60)
    owners.gave_up(A.member_id, 70, is_unsure=is_unsure)
    owners.assigned(B, {"t": [0]}, 80)
    (absence,) = owners.end_generation().absences
    assert (absence.stopped_ms, absence.is_revoked, absence.is_unsure) == (60, True, is_unsure)


def test_what_a_member_does_not_own_by_its_own_account_it_may_never_have_had():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.assigned(A, {"t": [0, 1]}, 50)
    owners.never_got(A.member_id, {"t": [1]}, 40, 90)
    owners.assigned(A, {"t": [0, 1]}, 90)
    (absence,) = owners.end_generation().absences
    assert (absence.partitions, absence.stopped_ms, absence.assigned_ms, absence.is_unsure) == (1, 50, 90, True)


def test_what_a_member_does_not_own_it_may_have_had_until_now_if_it_was_not_heard_since_a_load():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.end_generation()
    owners.never_got(A.member_id, {"t": [0]}, None, 90)
    owners.assigned(A, {"t": [0]}, 90)
    change = owners.end_generation()
    assert not change.absences
    assert change.is_partial


def test_what_is_given_back_has_its_owner_again():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.gave_up(A.member_id, 20)
    owners.end_generation()
    owners.is_given_back(A.member_id, {"t": [0]}, 50)
    owners.gave_up(A.member_id, 100)
    owners.assigned(B, {"t": [0]}, 120)
    (absence,) = owners.end_generation().absences
    assert (absence.stopped_ms, absence.assigned_ms, absence.shorter) == (20, 50, (100,))
    assert absence.is_unsure


def test_who_was_not_heard_since_it_was_given_something_back_has_it_not():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.gave_up(A.member_id, 20)
    owners.is_given_back(A.member_id, {"t": [0]}, 50)
    owners.gave_up(A.member_id, 30)
    owners.assigned(B, {"t": [0]}, 120)
    (absence,) = owners.end_generation().absences
    assert (absence.stopped_ms, absence.assigned_ms) == (20, 120)


def test_what_is_given_back_as_the_next_rebalance_begins_its_member_is_told_of():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.gave_up(A.member_id, 20)
    owners.is_given_back(A.member_id, {"t": [0]}, 50)
    owners.resumed(50)
    owners.assigned(A, {"t": [0]}, 70)
    (absence,) = owners.end_generation().absences
    assert (absence.stopped_ms, absence.assigned_ms, absence.is_unsure) == (20, 70, False)


def test_who_goes_on_has_no_partitions_of_a_topic_that_is_gone():
    owners = Owners()
    owners.assigned(A, {"t": [0], "u": [0]}, 10)
    owners.deleted("u", 0)
    owners.goes_on(A, {"t": [0], "u": [0]}, 20)
    assert set(owners.by_partition) == {("t", 0)}
    owners.assigned(A, {"u": [0]}, 30)
    owners.goes_on(A, {"u": [0]}, 40)
    assert set(owners.by_partition) == {("t", 0), ("u", 0)}


def test_a_partition_that_moves_several_times_until_the_group_is_stable_moved_once():
    owners = Owners()
    owners.assigned(A, {"t": [0, 1]}, 10)
    owners.end_generation()
    owners.gave_up(A.member_id, 20)
    owners.assigned(B, {"t": [0]}, 100)
    owners.gave_up(B.member_id, 110)
    owners.assigned(C, {"t": [0]}, 120)
    owners.assigned(C, {"t": [1]}, 500)
    moved, absences, first, could_stay, _ = owners.end_generation({B.member_id, C.member_id})
    assert (moved, first, could_stay) == (2, 0, 0)
    assert sorted(
        (absence.member, absence.partitions, absence.stopped_ms, absence.assigned_ms) for absence in absences
    ) == [
        (A, 1, 20, 100),
        (A, 1, 20, 500),
    ]


def test_a_partition_that_comes_back_until_the_group_is_stable_did_not_move():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.end_generation()
    owners.assigned(B, {"t": [0]}, 100)
    owners.assigned(A, {"t": [0]}, 120)
    assert owners.end_generation() == OwnershipChange(0, [])


def test_a_topic_that_was_deleted_has_no_owners_when_it_is_created_again():
    group = Consumers().group_of("a")
    group.sim.commit(group.ids["a"], generation_id=1)
    group.leave("a")
    group.sim.delete_topic("t")
    group.join("b")
    group.sim.advance(3_000)
    group.settle()
    latest = group.history().latest
    assert latest is not None and (latest.partitions_moved, latest.first_owned) == (0, 6)
    assert absent_ms(group) == []


def test_what_is_noticed_by_a_replacement_may_have_been_so_earlier():
    group = Consumers()
    group.join("a", instance_id="one")
    group.settle()
    group.join("b")
    group.quiet(2_000, "a")
    group.ids.pop("a")
    group.join("again", instance_id="one")
    group.quiet(100)
    group.settle_joined()
    latest = group.history().latest
    assert latest is not None
    assert [absence.is_unsure for absence in latest.absences] == [True]


def test_a_member_that_is_not_heard_after_its_assignment_may_never_have_had_it():
    owners = Owners()
    for heard_ms, is_unsure in ((90, True), (110, False)):
        owners.assigned(A, {"t": [0]}, 100)
        owners.gave_up(A.member_id, heard_ms)
        owners.assigned(B, {"t": [0]}, 200)
        (absence,) = owners.end_generation().absences
        assert absence.is_unsure is is_unsure
        owners.forget()


@pytest.mark.parametrize(("later_ms", "is_at_least"), [(200, True), (COMES_BACK_MS + 1, False)])
def test_what_is_noticed_right_after_the_coordinator_was_away_may_have_been_so_earlier(later_ms, is_at_least):
    group = Consumers().group_of("a", "b")
    group.quiet(later_ms)
    group.join("a")
    group.settle({"b": 700})
    history = group.history()
    assert history.latest is not None and history.last_ms is not None
    history.note_coordinator(
        CoordinatorStarted(
            time_ms=history.last_ms - 700 - later_ms, node_id=1, coordinator_epoch=1, software_version="1"
        )
    )
    (claim,) = [each for each in claims_of(history, history.latest).price if isinstance(each, Unowned)]
    assert claim.is_at_least is is_at_least


def test_members_that_own_nothing_are_forgotten():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.gave_up(A.member_id, 20)
    owners.assigned(B, {"t": [0]}, 30)
    owners.end_generation()
    assert set(owners.names) == {B.member_id}
    assert set(owners.owned) == {B.member_id}


def test_an_owner_is_named_that_was_replaced_before_all_have_their_partitions():
    owners = Owners()
    owners.assigned(A, {"t": [0, 1]}, 10)
    owners.end_generation()
    owners.revoked(A.member_id, {"t": [1]}, 20)
    owners.assigned(B, {"t": [1]}, 50)
    owners.replaced(A.member_id, MemberRef("a-again", "a"))
    (absence,) = owners.end_generation().absences
    assert (absence.member, absence.ms) == (A, 30)
    assert set(owners.names) == set(owners.owned) == {B.member_id, "a-again"}


@pytest.mark.parametrize("claims", [True, False], ids=["claims what it owns", "claims nothing"])
def test_an_assignor_of_their_own_is_cooperative_if_its_members_claim_what_they_own(claims):
    """Its name says nothing; what its members say that they still own does (KIP-429)."""
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    owned = {a: {"t": [0, 1]}, b: {"t": [2, 3]}}
    rejoin(sim)
    sync(sim, owned)
    sim.advance(3_000)
    for member_id in (a, b):
        sim.heartbeat(member_id)
    rejoin(sim, owned if claims else None)
    sim.advance(700)
    sync(sim, owned)
    history = GroupHistory.of(GROUP_ID, sim.audited())
    latest = history.latest
    assert latest is not None
    assert latest.is_cooperative is claims
    told = sentence(history, latest)
    assert "None of 4 partitions moved." in told
    assert ("All 4 partitions had no owner for 700 ms." in told) is not claims


def test_a_member_that_says_that_it_owns_nothing_had_lost_what_it_is_assigned_again():
    """As clients do whose coordinator was away for some time, also those of a cooperative assignor."""
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    owned = {a: {"t": [0, 1]}, b: {"t": [2, 3]}}
    rejoin(sim)
    sync(sim, owned)
    rejoin(sim, owned)
    sync(sim, owned)
    sim.advance(2_000)
    rejoin(sim, {a: {"t": [0, 1]}})
    sim.advance(700)
    sync(sim, owned)
    history = GroupHistory.of(GROUP_ID, sim.audited())
    latest = history.latest
    assert latest is not None
    assert "2 of 4 partitions had no owner for at least 700 ms." in sentence(history, latest)


def test_when_owners_stopped_the_other_times_is_kept_beside_the_longest_time():
    owners = Owners()
    owners.assigned(A, {"t": [0]}, 10)
    owners.end_generation()
    owners.gave_up(A.member_id, 100)
    owners.assigned(B, {"t": [0]}, 1_100)
    owners.gave_up(B.member_id, 2_000)
    owners.assigned(C, {"t": [0]}, 2_010)
    (absence,) = owners.end_generation().absences
    assert (absence.member, absence.ms, absence.shorter) == (A, 1_000, (2_000,))


def test_when_owners_stopped_as_others_were_assigned_is_kept_beside_the_longest_time():
    owners = Owners()
    owners.assigned(A, {"t": [0, 1]}, 10)
    owners.end_generation()
    owners.revoked(A.member_id, {"t": [0]}, 100)
    owners.assigned(B, {"t": [0]}, 200)
    owners.revoked(A.member_id, {"t": [1]}, 300)
    owners.assigned(B, {"t": [1]}, 300)
    (absence,) = owners.end_generation().absences
    assert (absence.ms, absence.shorter, absence.is_unsure) == (100, (300,), False)


def test_an_owner_that_may_have_stopped_before_makes_a_lower_bound_of_all():
    owners = Owners()
    owners.assigned(A, {"t": [0, 1]}, 10)
    owners.end_generation()
    owners.revoked(A.member_id, {"t": [0]}, 100)
    owners.assigned(B, {"t": [0]}, 200)
    owners.revoked(A.member_id, {"t": [1]}, 300, is_unsure=True)
    owners.assigned(B, {"t": [1]}, 300)
    (absence,) = owners.end_generation().absences
    assert (absence.partitions, absence.ms, absence.is_unsure) == (1, 100, True)
