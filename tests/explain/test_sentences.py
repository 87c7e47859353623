"""What must not be said, because it is not known or would not help, and what is said in its place."""

import pytest

from coordinator.core.groups.states import GroupState
from coordinator.explain.findings import findings
from coordinator.explain.story import story_of
from tests.audit.stories import subscription
from tests.explain.consumers import Consumers, clock, text

SUBSCRIPTION = subscription("t")


def advice(group: Consumers) -> str:
    return " ".join(group.story().advice)


# ---- clients that do not say what they are


def test_the_timeout_of_a_client_without_a_name_is_not_taken_for_its_poll_interval():
    group = Consumers(software="").group_of("a", "b")
    group.quiet(90_000)
    group.leave("b")
    group.settle()
    said = text(group.story())
    assert "b gave no reason (this client does not say what it is)" in said
    assert "It last joined 1 min 30 s before." in said
    assert "which is more" not in said
    assert "poll" not in advice(group)


@pytest.mark.parametrize(
    ("is_heard", "told"),
    [
        (True, "Java consumers give one since 3.2"),
        (False, "what its client is is not known, as the coordinator had restarted since it joined"),
    ],
)
def test_a_client_that_said_what_it_is_before_a_restart_is_not_said_to_be_silent_about_it(is_heard, told):
    group = Consumers(software="java").group_of("a", "b")
    group.sim.restart()
    group.quiet(3_000, *([] if is_heard else ["b"]))
    group.leave("b")
    group.settle()
    said = text(group.story())
    assert "this client does not say what it is" not in said
    assert told in said


@pytest.mark.parametrize("software", ["", "sarama"])
def test_no_client_is_told_to_use_an_assignor_that_it_does_not_have(software):
    group = Consumers(software=software).group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle({name: 100 for name in group.ids})
    assert "cooperative-sticky" not in advice(group)


def test_the_way_to_a_cooperative_assignor_is_named_step_by_step():
    group = Consumers().group_of("a", "b")
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.join(leader)
    group.settle({name: 600 for name in group.ids})
    assert "in two rolling restarts" in advice(group)


# ---- what a member rejoins with


def test_the_topics_that_came_and_went_are_named():
    group = Consumers().group_of("a", "b")
    group.join("b", topics=("u", "v"))
    group.settle()
    assert "b (127.0.0.1, java) subscribed to u and v and unsubscribed from t" in group.story().headline


def test_another_assignor_is_no_other_subscription():
    group = Consumers().group_of("a", "b")
    group.sim.join("b", group.ids["b"], metadata=SUBSCRIPTION, protocols=("range", "roundrobin"), version=3)
    group._joined.add("b")
    group.settle()
    assert "b (127.0.0.1, java) rejoined with other assignors or other data for them" in group.story().headline


def test_after_a_restart_of_the_coordinator_it_is_not_known_whether_assignors_changed():
    group = Consumers(initial_delay_ms=3_000)
    for name in ("a", "b"):
        group.sim.join(name, metadata=SUBSCRIPTION, protocols=("range", "roundrobin"), version=3)
    group.ids = {member.client_id: member.member_id for member in group.sim.group.members.values()}
    group.sim.advance(6_000)
    group.settle_joined()
    group.sim.restart()
    leader = next(name for name, id_ in group.ids.items() if id_ == group.sim.group.leader)
    group.sim.join(leader, group.ids[leader], metadata=SUBSCRIPTION, protocols=("range", "roundrobin"), version=3)
    headline = group.story().headline
    assert "rejoined with the same topics" in headline
    assert "is not known, because the coordinator had restarted" in headline
    assert "another subscription" not in headline
    assert "same topics and assignors" not in advice(group)


def test_topics_that_nobody_owns_after_a_static_member_came_back_are_named():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.settle()
    group.ids["a"] = ""
    group.join("a", topics=("t", "u"))
    assert group.sim.group.state is GroupState.STABLE
    said = text(group.story())
    assert "the static member pod-0 came back with a subscription to t and u instead of t" in said
    assert "nobody owns u until the next rebalance." in said


def test_a_static_member_that_expires_may_have_been_shut_down():
    group = Consumers()
    group.join("a")
    group.settle()
    group.join("b", instance_id="pod-0")
    group.settle()
    group.crash("b")
    group.settle()
    said = text(group.story())
    assert "it was closed in order (a static member sends no LeaveGroup then), its process ended, or" in said
    assert "removeMembersFromConsumerGroup" in advice(group)
    assert "session.timeout.ms" not in advice(group)


# ---- nothing is wrong


def test_a_member_that_is_closed_for_good_gets_no_advice():
    group = Consumers().group_of("a")
    group.sim.commit(group.ids["a"], generation_id=1)
    group.leave("a", "the consumer is being closed")
    assert group.story().advice == ()


def test_a_member_that_is_closed_and_comes_back_at_once_could_be_static():
    group = Consumers().group_of("a", "b")
    group.leave("b", "the consumer is being closed")
    group.join("b")
    group.settle({"a": 20})
    assert "group.instance.id" in advice(group)


@pytest.mark.parametrize(
    ("after_ms", "said"),
    [(0, {}), (20, {"reason": "cached metadata has changed"}), (20, {"topics": ("t", "u")})],
    ids=["before it can have heard of it", "as it says", "as its topics tell"],
)
def test_static_membership_is_not_advised_if_another_member_would_have_begun_a_rebalance(after_ms, said):
    group = Consumers().group_of("a", "b")
    group.leave("b", "the consumer is being closed")
    group.join("b")
    group.quiet(after_ms)
    group.join("a", **said)
    group.settle_joined()
    assert "group.instance.id" not in advice(group)


def test_static_membership_is_advised_though_a_follower_joins_again_at_once():
    group = Consumers().group_of("a", "b", "c")
    assert group.sim.group.leader == group.ids["a"]
    group.leave("c", "the consumer is being closed")
    group.join("b")
    group.join("c")
    group.quiet(20)
    group.join("a")
    group.settle_joined()
    assert "group.instance.id" in advice(group)


def test_the_first_generation_waits_for_further_members():
    group = Consumers(initial_delay_ms=3_000)
    group.join("a")
    group.sim.advance(3_000)
    group.settle()
    said = text(group.story())
    assert "It took 3 s, in which the group, which was empty, waited for further members" in said
    assert "until its one member joined" not in said


def test_a_group_that_was_empty_before_waits_too():
    group = Consumers(initial_delay_ms=3_000)
    group.join("a")
    group.sim.advance(3_000)
    group.settle()
    group.sim.commit(group.ids["a"], generation_id=1)
    group.leave("a")
    group.sim.advance(10_000)
    group.join("b")
    group.sim.advance(3_000)
    group.settle()
    assert "waited for further members" in text(group.story())


# ---- findings


def test_findings_of_a_group_that_was_removed_are_over():
    group = Consumers().group_of("a", "b")
    for _ in range(3):
        group.vanish("b")
        group.join("b")
        group.settle()
    assert group.findings()
    for name in ("a", "b"):
        group.leave(name)
    group.sim.delete_group()
    assert not group.sim.exists
    assert findings(group.history(), group.sim.now_ms, clock) == []


def test_a_rolling_restart_counts_members_and_says_what_it_leaves_out():
    group = Consumers().group_of("a", "b", "c")
    for _ in range(2):
        for name in ("a", "b", "c"):
            group.leave(name, "the consumer is being closed")
            group.join(name)
            group.settle()
    (found,) = [finding for kind, finding in group.findings().items() if kind == "rolling_restart"]
    assert "3 members left and came back" in found.headline


def test_evidence_that_is_shortened_says_so():
    group = Consumers().group_of("a", "b")
    for _ in range(8):
        group.vanish("b")
        group.join("b")
        group.settle()
    (found,) = [finding for kind, finding in group.findings().items() if kind == "flapping_member"]
    assert found.evidence[0] == "3 earlier"
    assert len(found.evidence) == 6


def test_a_static_member_whose_restart_takes_longer_than_its_session_is_advised_a_longer_one():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.join("b")
    group.settle()
    group.quiet(3_000)
    group.crash("a")
    group.settle()
    group.quiet(2_000)
    group.join("a", instance_id="pod-0")
    group.settle()
    generation = next(each for each in group.history().generations if each.changes.removed)
    story = story_of(group.history(), generation)
    assert any(
        advice.startswith("if the static member was restarted, raise session.timeout.ms above ")
        for advice in story.advice
    )
    assert not any("shut down for good" in advice for advice in story.advice)


def test_a_static_member_that_does_not_come_back_may_be_gone_for_good():
    group = Consumers()
    group.join("a", instance_id="pod-0")
    group.join("b")
    group.settle()
    group.crash("a")
    group.settle()
    assert any("shut down for good" in each for each in group.story().advice)
