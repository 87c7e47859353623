"""Each cause in words, from the events of the real core."""

import pytest

from coordinator.audit.schema import MemberRef, RequestRejected
from coordinator.core.causes import Cause
from coordinator.explain.changes import Removal
from coordinator.explain.claims.course import PendingIds
from coordinator.explain.generation import Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.generation import claims_of
from coordinator.explain.makers.unsaid import left_unsaid
from coordinator.explain.sentences import causes
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.story import story_of
from coordinator.explain.words import Names, duration, utc_clock
from tests.explain.consumers import Consumers, clock, text
from tests.simulation.simulation import REBALANCE_TIMEOUT_MS


def test_a_new_member():
    group = Consumers().group_of("billing-1")
    group.join("billing-2", reason="first run")
    group.settle()
    story = group.story()
    assert (
        story.headline == 'generation 2 began 22:13:20 because billing-2 (127.0.0.1, java) joined, saying "first run"'
    )
    assert "3 of 6 partitions moved" in text(story)
    assert story.outcome is Outcome.STABLE


def test_a_member_that_was_silent():
    group = Consumers().group_of("billing-1", "billing-2")
    group.vanish("billing-2")
    group.settle()
    story = group.story()
    assert story.headline.endswith("because billing-2 (127.0.0.1, java) was silent for 10 s, its session timeout")
    assert "Nobody consumed the 3 partitions of billing-2 for 10 s: 10 s before the rebalance began" in text(story)
    assert "The connection of billing-2 stayed open: its process stood still (SIGSTOP," in text(story)
    assert any("session.timeout.ms above 10 s" in advice for advice in story.advice)


def test_a_member_whose_process_ended():
    group = Consumers().group_of("billing-1", "billing-2")
    group.quiet(6_000)
    killed = clock(group.sim.now_ms)
    group.crash("billing-2")
    group.settle()
    story = group.story()
    assert (
        f"The connection of billing-2 closed at {killed}, 10 s before it was removed: its process ended, or its host or"
        " the network closed the connection."
    ) in text(story)
    assert "stayed open" not in text(story)
    assert not any("raise session.timeout.ms" in advice for advice in story.advice)
    assert story.advice[0].startswith("look at why the process of the silent member ended")


def test_a_member_that_was_silent_before_its_connection_closed():
    group = Consumers().group_of("a", "b")
    group.quiet(6_000, "b")
    group.crash("b", 4_000)
    group.settle()
    assert "It had been silent for 6 s by then." in text(group.story())


def test_members_whose_processes_ended_together():
    group = Consumers().group_of("a", "b", "c")
    for name in ("b", "c"):
        group.sim.disconnect(group.ids[name])
    group.quiet(10_001, "b", "c")
    for name in ("b", "c"):
        del group.ids[name]
    group.settle()
    said = text(group.story())
    assert "The connections of b and c closed before they were removed: their processes ended, or" in said


def test_a_member_that_the_coordinator_did_not_hear_while_it_stood_still():
    group = Consumers().group_of("a", "b")
    group.quiet(3_000)
    group.sim.stand_still(11_000)
    assert group.sim.group.members == {}
    story = group.story()
    assert story.headline.endswith(
        "because the coordinator itself stood still for 11 s, and did not hear a (127.0.0.1, java) within its session"
        " timeout, 10 s"
    )
    said = text(story)
    assert "The coordinator heard nobody and answered nobody in that time, so it is no fault of a and b." in said
    assert "connection" not in said
    assert story.advice == (
        "look at why the coordinator stood still (its log tells); members that it did not hear are not to blame",
    )


def test_a_connection_that_closed_while_the_coordinator_stood_still():
    group = Consumers().group_of("a")
    group.quiet(3_000)
    group.sim.disconnect(group.ids["a"])
    group.sim.stand_still(11_000)
    story = group.story()
    said = text(story)
    assert "Whether a gave up because nobody answered, or its process ended, is not known." in said
    assert "and found the connection of a " in said
    assert "closed meanwhile" not in said  # it is told already
    assert "process" not in " ".join(story.advice)


def test_a_pause_of_the_coordinator_that_is_a_part_of_the_silence():
    group = Consumers().group_of("a", "b")
    group.quiet(6_000)
    group.sim.stand_still(2_000)
    group.vanish("b", 8_000)
    group.settle()
    said = text(group.story())
    assert "The coordinator itself stood still for 2 s of the 10 s in which it did not hear b." in said
    assert "stayed open" in said


def test_of_events_that_do_not_tell_the_connection_nothing_is_said():
    group = Consumers().group_of("a", "b")
    connection = group.sim.group.members[group.ids["b"]].client_connection
    assert connection is not None
    connection.close(None)
    group.vanish("b")
    group.settle()
    assert "connection" not in text(group.story())
    assert any("(crash, pause, GC, network)" in each for each in group.story().advice)


def test_a_client_that_comes_back_after_its_removal():
    group = Consumers().group_of("a", "b")
    group.crash("b")
    group.settle()
    removal_told = group.history().latest
    group.quiet(4_200)
    group.join("b")
    group.settle()
    assert removal_told is not None
    said = text(group.story(removal_told.generation_id))
    assert "b is back under a new member id, 14.2 s after its connection closed." in said
    assert "back" not in text(group.story()), "that is a generation of its own, and no news of it"


def test_a_client_that_comes_back_before_its_removal():
    group = Consumers().group_of("a", "b")
    group.quiet(3_000)
    group.sim.disconnect(group.ids.pop("b"))
    group.sim.advance(2_000)
    group.join("b")
    group.quiet(10_001)
    group.settle()
    assert "b-00000002 is back under a new member id, 2 s after its connection closed." in text(group.story())


def test_one_of_several_with_the_same_client_id_is_not_said_to_be_back():
    group = Consumers().group_of("a")
    for name in ("b", "c"):
        group.join(name, client_id="app")
        group.settle()
    group.crash("b")
    group.settle()
    generation = group.history().latest
    assert generation is not None
    group.join("d", client_id="app")
    group.settle()
    assert "is back" not in text(group.story(generation.generation_id))


@pytest.mark.parametrize(
    ("reason", "said", "advice"),
    [
        ("the consumer is being closed", "was closed and left", ""),
        ("the consumer unsubscribed from all topics", "unsubscribed from all topics and left", ""),
        (
            "consumer poll timeout has expired.",
            "left by itself: its application did not call poll() within max.poll.interval.ms (1 min)",
            "max.poll.records",
        ),
        ("tired", 'left, saying "tired"', ""),
        ("member was removed by an admin: rebalance it", "an administrator removed", ""),
    ],
)
def test_a_member_that_left_with_a_reason(reason, said, advice):
    group = Consumers().group_of("a", "b")
    group.leave("b", reason)
    group.settle()
    story = group.story()
    assert said in story.headline
    assert "does not tell" not in text(story)
    assert advice in " ".join(story.advice)
    assert bool(story.advice) == bool(advice)


def test_a_member_that_left_without_a_reason_soon_after_it_joined_was_most_likely_closed():
    group = Consumers().group_of("a", "b")
    group.quiet(12_000)
    group.leave("b")
    group.settle()
    said = text(group.story())
    assert "b (127.0.0.1, java) left without giving a reason" in said
    assert "the protocol does not tell whether it was closed" in said
    assert "It last joined 12 s before, which is less: most likely it was closed." in said


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("kafka-python", "3.0.12", "(kafka-python gives none)"),
        ("librdkafka", "2.6.1", "(librdkafka gives none)"),
        ("confluent-kafka-python", "2.6.1-librdkafka-2.6.1", "(confluent-kafka-python gives none)"),
        ("apache-kafka-java", "4.3.1", "(Java consumers give one since 3.2)"),
        ("franz-go", "1.0", "(whether franz-go gives reasons is unknown)"),
        ("", "", "(this client does not say what it is)"),
    ],
)
def test_whether_a_client_ever_says_why_it_leaves_depends_on_its_software(name, version, said):
    member = MemberRef("b-1", "b", "/10.0.0.1", None, name, version)
    removal = Removal(member, Cause.MEMBER_LEFT, "", 1_000)
    (claim,) = left_unsaid([removal], GroupHistory("g"))
    (sentence,) = causes.left_unsaid([claim], Wording(Names([member]), utc_clock))
    assert said in sentence


def test_a_member_that_left_long_after_it_joined_may_have_exceeded_its_poll_interval():
    group = Consumers().group_of("a", "b")
    group.quiet(90_000)
    group.leave("b")
    group.settle()
    story = group.story()
    assert "It last joined 1 min 30 s before, which is more: an exceeded max.poll.interval.ms would fit." in text(story)
    assert any("max.poll.records" in advice for advice in story.advice)


def test_a_member_that_hangs_is_named_and_not_the_innocent_newcomer():
    group = Consumers().group_of("a", "hung")
    group.join("new")
    group.join("a")
    group.quiet(60_000)
    group.ids.pop("hung")
    group.settle()
    story = group.story()
    assert "new (127.0.0.1, java) joined" in story.headline
    assert (
        "hung never rejoined and was removed after the rebalance timeout, 1 min, for which all others waited."
    ) in text(story)
    assert any(
        "the member that did not rejoin was busy between two calls of poll(), or stood still" in advice
        for advice in story.advice
    )


def test_the_only_member_left_let_nobody_wait():
    group = Consumers().group_of("hung")
    group.sim.commit(group.ids["hung"], generation_id=1)  # a group with offsets outlives its members
    group.join("new")
    group.leave("new")
    group.quiet(60_001)
    told = text(group.story())
    assert "hung never rejoined and was removed after the rebalance timeout, 1 min." in told
    assert "waited" not in told


def test_who_held_up_the_join_phase_and_for_how_long():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.settle({"a": 200, "b": 4_000})
    assert "b held up the join phase for 4 s." in text(group.story())
    assert any(each.startswith("b joined late: ") for each in group.story().advice)


def test_a_member_that_joins_again_late_held_up_the_join_phase_with_its_last_join():
    group = Consumers().group_of("a", "b", "c")
    group.join("d")
    group.quiet(1_000)
    group.join("a")
    group.quiet(3_000)
    group.join("b")
    group.join("a")  # its connection was lost
    group.settle({"c": 500})
    assert "c held up the join phase for 500 ms." in text(group.story())


def test_a_static_member_that_is_replaced_in_a_join_phase_has_joined():
    group = Consumers()
    group.join("a", instance_id="one")
    group.settle()
    group.join("b")
    group.settle()
    group.join("c")
    group.quiet(2_000)
    group.ids.pop("a")
    group.join("again", instance_id="one")
    assert "It is still in progress, and waits for b to join." in text(group.story())
    group.settle({"b": 900})
    assert "b held up the join phase for 900 ms." in text(group.story())


def test_a_member_id_of_which_the_join_was_refused_did_join():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.settle({"a": 0, "b": 10})
    history = group.history()
    latest = history.latest
    assert latest is not None
    latest.pending_members = ["late-1", "lost-2"]
    refused = RequestRejected(
        group_id=history.group_id,
        seq=latest.first_seq,
        created_seq=1,
        time_ms=0,
        node_id=1,
        coordinator_epoch=1,
        generation_id_before=1,
        generation_id=1,
        state_before="Stable",
        state="Stable",
        api="JoinGroup",
        error="GROUP_MAX_SIZE_REACHED",
        member=MemberRef("late-1"),
    )
    history.rejected.append(refused)
    assert [each.member_ids for each in claims_of(history, latest).course if isinstance(each, PendingIds)] == [
        ("lost-2",)
    ]


def test_all_that_came_together_is_told():
    group = Consumers().group_of("a", "b", "c")
    group.leave("c", "the consumer is being closed")
    group.join("d")
    group.join("e")
    group.leave("b", "the consumer is being closed")
    group.settle()
    story = group.story()
    assert "c (127.0.0.1, java) was closed and left" in story.headline
    assert "Also, b (127.0.0.1, java) was closed and left." in text(story)
    assert "Also, d and e joined." in text(story)


def test_a_rebalance_that_never_became_stable():
    group = Consumers().group_of("a")
    group.join("b")
    group.join("a")
    group.join("c")
    story = group.story(2)
    assert story.outcome is Outcome.SUPERSEDED
    assert "It never became stable: after 0 ms the next rebalance began before its assignment was stored." in text(
        story
    )


def test_a_rebalance_in_progress_says_for_whom_it_waits():
    group = Consumers().group_of("a", "b")
    group.join("c")
    group.join("a")
    story = group.story()
    assert story.outcome is Outcome.IN_PROGRESS
    assert "It is still in progress, and waits for b to join." in text(story)


def test_a_rebalance_does_not_wait_for_whose_own_rejoin_began_it():
    group = Consumers().group_of("a", "b")
    group.join("a")
    story = group.story()
    assert story.outcome is Outcome.IN_PROGRESS
    assert "It is still in progress, and waits for b to join." in text(story)


def test_a_leader_that_assigns_nothing_does_not_say_that_there_is_nothing():
    group = Consumers()
    group.join("a")
    group.settle(plan={"a": []})
    told = text(group.story())
    assert "Its leader assigned no partitions: there are none, or it does not know them yet." in told
    assert "has no partitions" not in told


def test_the_last_member_leaves_an_empty_group():
    group = Consumers().group_of("a")
    group.leave("a", "the consumer is being closed")
    story = group.story()
    assert story.outcome is Outcome.EMPTIED
    assert "Nobody was left: the group became empty at 22:13:20." in text(story)


def test_what_a_crash_cut_short_stays_visible():
    group = Consumers().group_of("a")
    group.join("b")
    group.sim.restart()
    (cut,) = [generation for generation in group.history().generations if generation.outcome is Outcome.CUT_SHORT]
    assert cut.generation_id == 2
    assert "It was cut short at 22:13:20: the coordinator loaded the group again" in text(group.story(2))


def test_a_static_member_that_is_restarted_before_the_assignment_is_there():
    group = Consumers().group_of("a")
    group.join("b", instance_id="b-1")
    group.settle()
    group.join("c")
    group.join("a")
    group.join("b")
    old = group.ids.pop("b")
    group.join("b", topics=("t", "u"))
    assert group.ids["b"] != old
    group.settle()
    assert "static member b-1 (127.0.0.1, java) was restarted" in group.story().headline
    assert "a subscription to t and u instead of t" in group.story().headline


def test_a_member_with_another_subscription():
    group = Consumers().group_of("a", "b")
    group.join("b", topics=("t", "u"))
    group.settle()
    story = group.story()
    assert "b (127.0.0.1, java) subscribed to u" in story.headline
    assert any("give all members the same topics, unless" in advice for advice in story.advice)


def test_the_leader_asks_for_a_new_assignment():
    group = Consumers().group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle({name: 600 for name in group.ids})
    assert f"the leader, {leader} (127.0.0.1, java), rejoined to ask for a new assignment" in group.story().headline
    assert any("cooperative-sticky" in each for each in group.story().advice)


def test_a_hostile_client_id_neither_controls_the_terminal_nor_poses_as_words():
    group = Consumers().group_of("a")
    group.join('x\x1b[2J" left, and all is well')
    group.settle()
    story = group.story()
    assert all(each.isprintable() for each in (story.headline, *story.paragraphs, *story.advice))
    assert repr('x\x1b[2J" left, and all is well') in story.headline


def test_figures_that_the_events_do_not_tell_are_unknown():
    group = Consumers().group_of("a")
    group.join("b")
    numbers = {number.name: number.text for number in group.story().numbers}
    assert numbers["rebalance_ms"] == numbers["partitions_moved"] == "unknown"
    assert numbers["members"] == "2"


def test_needless_moves_are_counted_and_the_assignor_is_named():
    group = Consumers(partitions=6).group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle({name: 100 for name in group.ids}, plan={"a": [1, 3, 5], "b": [0, 2, 4]})
    story = group.story()
    assert "6 of 6 partitions moved, all needlessly." in text(story)
    assert "3 of 6 partitions had no owner for 100 ms." in text(story)  # those of the leader, which rejoined first
    assert any("the assignor range moves more than it has to" in advice for advice in story.advice)


def test_a_member_id_that_never_joined_is_named():
    group = Consumers().group_of("a")
    asked = group.sim.join("ghost", version=5)
    assert asked.response.member_id
    group.join("b")
    group.quiet(100)
    group.join("a")
    group.quiet(10_001)
    group.settle()
    said = text(group.story())
    assert "The join phase also waited for 1 member id that was handed out and never joined" in said
    assert any("asks for a member id and never joins" in each for each in group.story().advice)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"orders": [4, 6]}, "topic orders grew from 4 to 6 partitions, and the leader"),
        ({"orders": [0, 1]}, "topic orders appeared with 1 partition, and the leader"),
        ({"orders": [4, 0]}, "topic orders vanished, which had 4 partitions, and the leader"),
        ({"a\x1b[2J": [1, 2], "b": [1, 2]}, "grew from 1 to 2 partitions and topic b grew from 1 to 2 partitions"),
    ],
)
def test_topics_that_changed_are_named(changes, said):
    group = Consumers().group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    history = group.history()
    generation = history.latest
    assert generation is not None
    generation.topic_changes = changes
    headline = story_of(history, generation).headline
    assert said in headline
    assert headline.isprintable()


@pytest.mark.parametrize(("now", "said"), [(4, "with 4 partitions,"), (2, "with 2 partitions instead of 4,")])
def test_a_topic_that_was_created_again_is_said_to_be_another_one(now, said):
    group = Consumers().group_of("a", "b")
    group.join(next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader))
    history = group.history()
    generation = history.latest
    assert generation is not None
    generation.topic_changes, generation.recreated_topics = {"orders": [4, now]}, ["orders"]
    assert f"topic orders was deleted and created again {said}" in story_of(history, generation).headline


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_words(cause):
    group = Consumers().group_of("a")
    group.join("b")
    history = group.history()
    generation = history.latest
    assert generation is not None
    generation.cause = cause
    headline = story_of(history, generation).headline
    assert "because" in headline
    assert f"because of {cause.value}" not in headline, "words, not the name of the cause"
    generation.member = None
    assert "because" in story_of(history, generation).headline


def test_whether_a_client_gave_up_in_a_pause_or_was_started_again_in_it_is_not_known():
    group = Consumers().group_of("a", "b")
    group.quiet(3_000)
    group.sim.stand_still(8_000)
    removed_id = group.ids.pop("a")
    group.sim.heartbeat(removed_id)  # what was sent before it gave up is read after the pause
    group.sim.disconnect(removed_id)
    group.join("a")
    while removed_id in group.sim.group.members:
        group.quiet(1_000)
    group.settle()
    (removed,) = (generation for generation in group.history().generations if generation.changes.removed)
    story = group.story(removed.generation_id)
    assert "the coordinator itself stood still for 8 s, and found the connection of a" in text(story)
    assert "Whether a-00000001 gave up because nobody answered, or its process ended, is not known." in text(story)
    assert "no fault" not in text(story)


def test_of_a_client_that_did_not_come_back_in_a_whole_session_after_a_pause_both_is_told():
    group = Consumers().group_of("a", "b")
    group.quiet(3_000)
    group.sim.stand_still(8_000)
    for name in ("a", "b"):
        group.sim.heartbeat(group.ids[name])  # what was sent before it gave up is read after the pause
        group.sim.disconnect(group.ids[name])
    group.quiet(10_001, "a", "b")
    group.ids.clear()
    group.join("a")
    group.settle()
    (emptied,) = (generation for generation in group.history().generations if generation.changes.removed)
    story = group.story(emptied.generation_id)
    said = text(story)
    assert "because a (127.0.0.1, java) was silent for 10 s, its session timeout" in said
    why = "the coordinator stood still for 8 s then, so its client may have given up; or its process ended"
    assert f"The connection of a closed at 22:13:31, 10 s before it was removed: {why}" in said


def test_nobody_holds_up_a_group_that_waits_for_further_members():
    group = Consumers(initial_delay_ms=3_000)
    group.join("a")
    group.sim.advance(1_500)
    group.join("b")
    group.sim.advance(10_000)
    group.settle_joined()
    story = group.story()
    assert "waited for further members" in text(story)
    assert "held up" not in text(story)
    assert story.advice == ()


def test_members_that_offer_an_eager_assignor_too_give_up_all_partitions():
    """Java's consumer then rebalances eagerly, whichever assignor the group uses."""
    group = Consumers(protocol="cooperative-sticky,range").group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle(dict.fromkeys(group.ids, 2_000))
    assert "3 of 6 partitions had no owner for 2 s." in text(group.story())  # b joined last, and was assigned at once


def test_members_of_kafka_streams_may_have_been_closed_in_order():
    group = Consumers(protocol="stream").group_of("a", "b")
    group.crash("b")
    group.settle()
    assert "it was closed in order (Kafka Streams sends no LeaveGroup then), its process ended" in text(group.story())
    assert group.story().advice[0].startswith("if it was not shut down on purpose, look at why")


@pytest.mark.parametrize("timeout_ms", [-1, 0])
def test_a_rebalance_timeout_that_the_client_set_itself_is_told_as_the_cause(timeout_ms):
    group = Consumers()
    group.join("a", rebalance_timeout_ms=timeout_ms)
    group.sim.advance(1)
    story = group.story()
    assert (
        "because a (127.0.0.1, java) did not send SyncGroup within the rebalance timeout, for which its client asks for"
        f" {timeout_ms} ms: nobody can be in time" in text(story)
    )
    (advice,) = story.advice
    assert advice.startswith("set the rebalance timeout of that client to a positive time")


def test_the_longest_rebalance_timeout_of_the_members_is_that_of_the_group():
    group = Consumers().group_of("a")
    group.join("b", rebalance_timeout_ms=-1)
    group.settle()
    group.join("c")
    group.join("a")
    group.quiet(REBALANCE_TIMEOUT_MS + 1)
    group.ids.pop("b")
    told = text(group.story())
    assert "nobody can be in time" not in told
    assert f"removed after the rebalance timeout, {duration(REBALANCE_TIMEOUT_MS)}" in told
