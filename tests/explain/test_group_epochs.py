"""The story of group epochs (KIP-848), by the events of the coordinator itself."""

import pytest

from _wire.errors import ErrorCode
from coordinator.audit.schema import StaticMemberReplaced
from coordinator.cli.why import members_table
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import packed, unpacked
from coordinator.explain.notes import notes
from coordinator.explain.story import sentence, story_of
from coordinator.explain.words import duration
from tests.audit.consumer_stories import named
from tests.core.consumer.test_migration import classic_group, join, mixed_group, sync
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID


@pytest.fixture
def world() -> World:
    world = named(World())
    world.enter("a")
    return world


def told(world: World) -> str:
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.latest is not None
    return sentence(history, history.latest)


JOINED = "group epoch 3 began 22:13:21 UTC because client-b (127.0.0.1) joined."


def joined(world: World) -> None:
    """`b` joins a second after `a`, which has t-0 to t-2 and shall give up t-2."""
    world.advance(1_000)
    world.enter("b")


def reconciled(world: World, after_ms: int) -> None:
    """`a` gives up t-2 so long after it was asked, and `b` gets it a little later."""
    joined(world)
    world.advance(300)
    world.beat("a", 2)
    world.advance(after_ms)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.advance(200)
    world.beat("b", 3)


def test_a_first_member(world):
    assert told(world) == (
        "group epoch 2 began 22:13:20 UTC because client-a (127.0.0.1) joined. It took 0 ms. All 3 partitions got their"
        " first owner."
    )


def test_which_member_held_up_whom(world):
    reconciled(world, after_ms=2_100)
    assert told(world) == (
        f"{JOINED} It took 2.6 s: 0 ms until the target assignment was computed, 2.6 s more until both members had it."
        " client-a was asked to give up t-2, and took 2.1 s to do so. client-b waited for it. 1 of 3 partitions moved."
        " 1 of 3 partitions had no owner for 200 ms."
    )


def test_a_member_that_gives_up_at_once_is_not_blamed(world):
    reconciled(world, after_ms=100)
    assert "asked to give up" not in told(world)


def test_a_member_that_has_not_given_up_yet(world):
    joined(world)
    world.beat("a", 2)
    assert told(world) == (
        f"{JOINED} client-a was asked to give up t-2 and has not done so. client-b waits for it. It is still in"
        " progress: not all members have their assignments."
    )


def test_a_member_that_did_not_give_up_in_time():
    world = named(World())
    world.enter("a", timeout_ms=2_000)
    joined(world)
    world.beat("a", 2)
    world.advance(2_000)
    assert told(world) == (
        "group epoch 4 began 22:13:23 UTC because client-a (127.0.0.1) did not give up its partitions within the"
        " rebalance timeout, 2 s. It is still in progress: a heartbeat of a member computes its target assignment, once"
        " the assignment interval since the last one is over."
    )
    history = GroupHistory.of(GROUP_ID, world.audited())
    before = history.generation(3)
    assert before is not None
    assert "client-a was asked to give up t-2, and was removed 2 s later. client-b waited for it." in sentence(
        history, before
    )


def test_the_time_to_give_up_partitions_is_that_of_when_it_was_asked():
    """A later heartbeat with another rebalance timeout does not touch it."""
    world = named(World())
    world.enter("a", timeout_ms=9_000)
    world.beat("a", 2, timeout_ms=2_000)
    joined(world)
    world.beat("a", 2)
    world.beat("a", 2, timeout_ms=60_000)
    world.advance(2_000)
    assert "client-a (127.0.0.1) did not give up its partitions within the rebalance timeout, 2 s." in told(world)


def test_after_a_restart_the_time_to_give_up_partitions_begins_again():
    world = named(World())
    world.enter("a", timeout_ms=2_000)
    joined(world)
    world.beat("a", 2)
    world.beat("a", 2, timeout_ms=5_000)
    world.restart()
    named(world)
    world.advance(5_000)
    world.beat("b", 3)
    assert "client-a (127.0.0.1) did not give up its partitions within the rebalance timeout, 5 s." in told(world)


def test_a_classic_member_that_does_not_rejoin_is_not_said_to_keep_partitions():
    """`b` is to join again, and has nothing to give up."""
    world = named(mixed_group())
    world.enter("c", "u")
    assert world.heartbeat("b", generation_id=3).error is ErrorCode.REBALANCE_IN_PROGRESS
    while "b" in world.consumer.members:
        world.advance(9_000)
        world.beat("a", world.epoch("a"))
        world.beat("c", world.epoch("c"))
        if "b" in world.consumer.members:
            world.heartbeat("b", generation_id=3)
    history = GroupHistory.of(GROUP_ID, world.audited())
    stories = " ".join(sentence(history, generation) for generation in history.generations)
    assert "b (127.0.0.1) did not rejoin within the rebalance timeout, 1 min" in stories
    assert "did not give up" not in stories


def test_the_last_consumer_of_a_mixed_group_dies():
    """The group becomes a classic one with that, and knows all the same for how long the member was silent."""
    world = named(mixed_group())
    heard_ms = world.now_ms
    while "a" in world.whole_group.membership.members:
        world.advance(3_000)
        world.heartbeat("b", generation_id=3)
    silent_ms = world.now_ms - heard_ms
    world.advance(500)
    assert join(world, "b").error is ErrorCode.NONE
    sync(world, "b", 4)
    history = GroupHistory.of(GROUP_ID, world.audited())
    latest = history.latest
    assert latest is not None
    (removal,) = latest.changes.removed
    assert (removal.silent_ms, removal.connection_open) == (silent_ms, True)
    assert f"client-a (127.0.0.1) was silent for {duration(silent_ms)}" in sentence(history, latest)
    stopped = {each.stopped_ms for each in history.owners.by_partition.values() if each.member_id == "a"}
    assert stopped == {removal.last_heard_ms}


def test_a_classic_member_that_does_not_sync(world):
    join(world, "b", rebalance_timeout_ms=5_000)
    world.advance(5_000)
    assert "because b (127.0.0.1) did not send SyncGroup within the rebalance timeout, 5 s." in told(world)


def test_a_restart_in_the_middle_of_a_reconciliation_changes_nothing(world):
    joined(world)
    world.beat("a", 2)
    world.restart()
    named(world)
    world.advance(1_000)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    assert told(world) == (
        f"{JOINED} It took 1 s: 0 ms until the target assignment was computed, 1 s more until both members had it."
        " client-a was asked to give up t-2, and took 1 s to do so. client-b waited for it. 1 of 3 partitions moved."
    )


def test_topics_that_grew(world):
    world.fixed.grow("t", 4)
    world.beat("a", 2)
    assert told(world) == (
        "group epoch 3 began 22:13:20 UTC because topic t grew from 3 to 4 partitions. It took 0 ms. None of 4"
        " partitions moved. 1 of them got its first owner."
    )


def test_an_epoch_that_was_superseded(world):
    joined(world)
    world.advance(400)
    world.enter("c")
    history = GroupHistory.of(GROUP_ID, world.audited())
    superseded = history.generation(3)
    assert superseded is not None
    assert sentence(history, superseded) == (
        f"{JOINED} It never became stable: after 400 ms the group epoch rose again before all members had their"
        " assignments."
    )


def test_another_subscription(world):
    reconciled(world, after_ms=0)
    world.beat("b", 3, names=["u"])
    assert told(world).startswith(
        "group epoch 4 began 22:13:21 UTC because client-b (127.0.0.1) subscribed to u and unsubscribed from t."
    )


def test_another_assignor_counts_from_the_next_epoch_on(world):
    world.beat("a", 2, assignor="range")
    assert "assignor" not in told(world)
    world.fixed.grow("t", 4)
    world.beat("a", 2)
    assert "because topic t grew from 3 to 4 partitions. The assignor changed from uniform to range. " in told(world)


def test_the_last_member_left(world):
    world.depart("a")
    assert told(world) == (
        "group epoch 3 began 22:13:20 UTC because client-a (127.0.0.1) left. Nobody was left: the group became empty at"
        " 22:13:20 UTC."
    )


def test_the_table_of_members_says_when_each_had_its_target(world):
    reconciled(world, after_ms=2_100)
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.latest is not None
    assert [line.split() for line in members_table(history.latest)] == [
        ["member", "host", "reconciled", "after", "owns", "gained", "lost"],
        ["client-b", "127.0.0.1", "2.6", "s", "1", "+1", "-0"],
        ["client-a", "127.0.0.1", "2.4", "s", "2", "+0", "-0"],
    ]


def test_a_member_that_is_asked_late(world):
    """`b` waits for it from the moment on that the target was computed."""
    joined(world)
    assert "client-b waits for t-2, which client-a still has." in told(world)
    world.advance(3_000)
    world.beat("a", 2)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    assert "client-a was asked to give up t-2 only 3 s later, and took 0 ms to do so. client-b waited for it." in told(
        world
    )
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.latest is not None
    (advice,) = story_of(history, history.latest).advice
    assert advice.startswith("client-a was asked late: a member learns what to give up in the answer to its next")


def test_who_waits_still_waits_when_the_epoch_rises_again(world):
    joined(world)
    world.beat("a", 2)
    world.advance(1_000)
    world.enter("c", "u")
    world.advance(1_000)
    history = GroupHistory.of(GROUP_ID, world.audited())
    before = history.generation(3)
    assert before is not None
    assert "client-a was asked to give up t-2 and had not done so. client-b waited for it." in sentence(history, before)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    assert "client-a was asked to give up t-2, and took 2 s to do so. client-b waited for it." in told(world)


def test_each_epoch_has_its_own_cause(world):
    reconciled(world, after_ms=0)
    world.depart("a")
    world.depart("b")
    history = GroupHistory.of(GROUP_ID, world.audited())
    epochs = [history.generation(number) for number in (4, 5)]
    stories = [sentence(history, epoch) for epoch in epochs if epoch is not None]
    assert "because client-a (127.0.0.1) left. It never became stable" in stories[0]
    assert "because client-b (127.0.0.1) left. Also, client-a (127.0.0.1) left. Nobody was left" in stories[1]


def test_a_topic_that_a_regular_expression_matches_from_now_on():
    world = named(World())
    world.enter("a", pattern="t.*")
    world.beat("a", 1)
    world.fixed.create("t2", 2)
    world.advance(11_000)
    world.beat("a", 2)
    world.beat("a", 2)
    assert "because topic t2 appeared with 2 partitions" in told(world)


def test_a_static_member_that_returns_is_named_by_its_new_client(world):
    world.enter("s", instance_id="pod-0")
    world.depart("s", -2, "pod-0")
    world.enter("s2", instance_id="pod-0")
    replaced = [event for event in world.audited() if isinstance(event, StaticMemberReplaced)]
    assert [(each.old_client_id, each.member.client_id) for each in replaced] == [("client-s", "client-s2")]


def hold_up(world, number, asked_after_ms=0, gives_up_after_ms=0):
    """`a` gives partitions to a member that joins: it is asked so late, and takes so long then."""
    name = f"m{number}"
    world.advance(1_000)
    world.enter(name)
    world.advance(asked_after_ms)
    world.beat("a", world.epoch("a"))
    world.advance(gives_up_after_ms)
    world.beat("a", world.epoch("a"), owned=world.assigned("a"))
    world.beat(name, world.epoch(name))
    world.depart(name)
    world.beat("a", world.epoch("a"), owned=world.assigned("a"))


def who_holds_up_others(world):
    history = GroupHistory.of(GROUP_ID, world.audited())
    return [finding for finding in findings(history, history.last_ms or 0) if finding.kind is Kind.HOLDS_UP_OTHERS]


def test_a_member_that_holds_up_others_is_found(world):
    for number in range(3):
        hold_up(world, number, gives_up_after_ms=2_000)
    (found,) = who_holds_up_others(world)
    assert found.headline == (
        "client-a (127.0.0.1) held up others in 3 of the 3 group epochs in which members waited for partitions,"
        " by up to 2 s"
    )
    assert found.evidence[-1] == "group epoch 7: 1 member waited 2 s; it took 2 s after it was asked"
    assert found.advice.startswith("look at what slows it")
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert {finding.kind for finding in findings(unpacked(packed(history)), history.last_ms or 0)} >= {
        Kind.HOLDS_UP_OTHERS
    }


def test_who_held_up_others_twice_is_not_found(world):
    for number in range(2):
        hold_up(world, number, gives_up_after_ms=2_000)
    assert not who_holds_up_others(world)


def test_who_holds_up_others_in_half_of_the_waits_is_not_found(world):
    for number in range(6):
        hold_up(world, number, gives_up_after_ms=2_000 if number % 2 else 1)
    assert not who_holds_up_others(world)


def test_who_gives_up_in_a_moment_holds_up_nobody(world):
    for number in range(3):
        hold_up(world, number, gives_up_after_ms=300)
    assert not who_holds_up_others(world)


def test_who_is_asked_late_and_gives_up_at_once_need_not_poll_more_often(world):
    for number in range(3):
        hold_up(world, number, asked_after_ms=2_000)
    (found,) = who_holds_up_others(world)
    assert found.advice.startswith("it is asked with its next heartbeat")


def test_a_second_member_with_the_same_instance_id(world):
    world.enter("s", instance_id="pod-0")
    world.enter("twin", instance_id="pod-0")
    history = GroupHistory.of(GROUP_ID, world.audited())
    refused = "client-twin (127.0.0.1) was refused: client-s (127.0.0.1) has its group.instance.id pod-0"
    assert refused in [note.text for note in notes(history)]
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}[Kind.REJECTED_CLIENT]
    assert found.headline == "client-twin (127.0.0.1) cannot join: pod-0 (127.0.0.1) has its group.instance.id pod-0"


def test_nobody_is_kept_out_by_a_member_that_is_gone(world):
    world.enter("other")
    world.enter("s", instance_id="pod-0")
    world.enter("twin", instance_id="pod-0")
    assert Kind.REJECTED_CLIENT in kinds(world)
    world.depart("s", -1, instance_id="pod-0")
    assert Kind.REJECTED_CLIENT not in kinds(world)


def test_a_member_that_is_refused_because_of_itself(world):
    """Its first answer was lost, and it joins again under the same member id."""
    world.enter("s", instance_id="pod-0")
    world.advance(1_000)
    assert world.enter("s", instance_id="pod-0").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    history = GroupHistory.of(GROUP_ID, world.audited())
    itself = "it has its group.instance.id pod-0 itself, by a request whose answer was lost"
    assert f"client-s (127.0.0.1) was refused: {itself}" in [note.text for note in notes(history)]
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}[Kind.REJECTED_CLIENT]
    assert found.headline == (
        "client-s (127.0.0.1) cannot join: it is in the group already, as pod-0: the answer to its first request was"
        " lost"
    )
    assert found.advice.startswith("wait: it can join when the session that its first request began ends")
    assert "of its own" not in found.advice


def test_a_static_member_that_leaves_for_good_and_comes_back_wastes_its_instance_id(world):
    world.enter("s", instance_id="pod-0")
    world.advance(1_000)
    world.depart("s", -2, instance_id="pod-0")
    world.advance(1_000)
    world.enter("s2", instance_id="pod-0")
    assert Kind.WASTED_INSTANCE_ID not in kinds(world), "left for a moment"
    world.depart("s2", -1, instance_id="pod-0")
    world.advance(2_000)
    world.enter("s3", instance_id="pod-0")
    found = kinds(world)[Kind.WASTED_INSTANCE_ID]
    assert found.headline == (
        "pod-0 is a static member that left the group and came back 1 time: the group rebalances as if it had no"
        " group.instance.id"
    )
    assert "member epoch -2 instead of -1" in found.advice


def kinds(world):
    history = GroupHistory.of(GROUP_ID, world.audited())
    return {finding.kind: finding for finding in findings(history, history.last_ms or 0)}


def test_a_stale_commit_and_a_fenced_member(world):
    world.fixed.grow("t", 4)
    world.beat("a", 2)
    world.fixed.grow("t", 5)
    world.beat("a", 3)
    world.beat("a", 2)
    world.commit_offsets("a", 9, {0: 1})
    told_notes = [note.text for note in notes(GroupHistory.of(GROUP_ID, world.audited()))]
    assert "client-a (127.0.0.1) was fenced: member epoch 2, which its heartbeat named, is not its own" in told_notes
    assert any("member epoch 9, which it named, is not its own, or is older" in told_note for told_note in told_notes)


def test_a_conversion_is_noted_and_ends_the_epoch():
    world, _ = classic_group()
    named(world)
    world.enter("a")
    world.depart("a")
    history = GroupHistory.of(GROUP_ID, world.audited())
    texts = [note.text for note in notes(history)]
    assert "the group became a consumer group (KIP-848), with its member" in texts
    assert "the group became a classic group, with its member" in texts
    epoch = history.generation(2)
    assert epoch is not None
    assert "It never became stable: the group became a classic group" in sentence(history, epoch)
