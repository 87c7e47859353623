"""Ways to rebalance a group, each played with any stock client, and what the audit has to say of it.

A case starts members, does one thing, and asserts what the audit's events say. `Scene.unknown` names what the protocol
does not tell the coordinator; the case then asserts that the audit does not claim to know it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka.admin import NewPartitions
from kafka.structs import OffsetAndMetadata, TopicPartition

from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from coordinator.core.causes import Cause
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding, findings
from coordinator.explain.generation import Outcome
from coordinator.explain.story import story_of
from interop.driver import Member
from interop.scene import PARTITIONS, SECONDS, SESSION_MS, Scene, triggers
from tests.e2e import audit_cases_of_coordinator as coordinators
from tests.e2e import audit_cases_of_members as members
from tests.servers import QUICK_GROUPS
from tests.waiting import wait_for

SERVER_SETTINGS: Final = QUICK_GROUPS | {"group.max.size": "3"}


def two_members(scene: Scene, **options: Any) -> tuple[Member, Member, int]:
    """A stable group of two, and how many generations it took."""
    one = scene.member("one", **options)
    scene.steady(one)
    two = scene.member("two", **options)
    scene.steady(one, two)
    return one, two, len(scene.history().generations)


def a_member_joins(scene: Scene) -> None:
    one, two, _ = two_members(scene)
    joined = scene.of_kind(schema.MemberJoined)
    assert [each.member.client_id for each in joined] == ["one", "two"]
    software = {(each.member.client_software_name, each.member.client_software_version) for each in joined}
    assert len(software) == 1
    if not all(*software):
        scene.unknown = "this client does not send its name (ApiVersions below v3)"
        assert software == {("", "")}
    generation = scene.history().generations[-1]
    assert (Cause.NEW_MEMBER, "two") in triggers(generation)
    assert {part.member.client_id for part in generation.members.values()} == {"one", "two"}
    one.leave()
    two.leave()


def a_member_closes(scene: Scene) -> None:
    one, two, _ = two_members(scene)
    two.leave()
    generation = scene.stable_because(Cause.MEMBER_LEFT, "two")
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert (removed.cause, removed.member.client_id, removed.requested_by) == (Cause.MEMBER_LEFT, "two", None)
    assert triggers(generation)[0] == (Cause.MEMBER_LEFT, "two")
    if not removed.reason:
        scene.unknown = "why it left: this client sends no reason (KIP-800)"
        assert removed.last_joined_ms is not None
    one.leave()


def a_process_is_killed(scene: Scene) -> None:
    one, two, _ = two_members(scene)
    killed_ms = time.time_ns() // 1_000_000
    two.driver.kill()
    generation = scene.stable_because(Cause.SESSION_EXPIRED, "two")
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert (removed.cause, removed.session_timeout_ms) == (Cause.SESSION_EXPIRED, SESSION_MS)
    assert removed.last_heard_ms is not None
    assert killed_ms - 2_000 < removed.last_heard_ms <= killed_ms + 100
    assert generation.silent_partition_ms and generation.silent_partition_ms >= SESSION_MS
    assert_ended(removed, killed_ms)
    scene.tells(generation, "was silent for", "The connection of two closed at", "its process ended, or")
    advice = story_of(scene.history(), generation).advice
    assert not any("raise session.timeout.ms" in each for each in advice), advice
    one.leave()


def assert_ended(removed: schema.MemberRemoved, killed_ms: int) -> None:
    assert removed.connection_open is False
    assert removed.connection_closed_ms is not None
    assert killed_ms - 100 < removed.connection_closed_ms < killed_ms + 1_000


def a_process_is_killed_again(scene: Scene) -> None:
    """A crash loop: it comes back under a new member id, and the advice is to look at the process."""
    one = scene.member("one")
    scene.steady(one)
    for times in (1, 2):
        crashing = scene.member("crashing")
        scene.steady(one, crashing)
        killed_ms = time.time_ns() // 1_000_000
        crashing.driver.kill()
        wait_for(lambda: len(scene.of_kind_so_far(schema.MemberRemoved)) == times, SECONDS, "its removal", every_ms=100)  # noqa: B023
        scene.steady(one)
        assert_ended(scene.of_kind(schema.MemberRemoved)[-1], killed_ms)
    history = scene.history()
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}
    assert found[Kind.CRASH_LOOP].about == "crashing (127.0.0.1)"
    assert "2 times" in found[Kind.CRASH_LOOP].headline
    assert Kind.SHORT_SESSION_TIMEOUT not in found
    ended = [
        generation for generation in history.generations if (Cause.SESSION_EXPIRED, "crashing") in triggers(generation)
    ]
    scene.tells(ended[0], "crashing is back under a new member id")
    one.leave()


def a_process_stands_still(scene: Scene) -> None:
    """And comes back: what it then asks is rejected, and it joins as a new member."""
    one, two, before = two_members(scene)
    two.driver.stop()
    scene.after(before)
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert (removed.cause, removed.member.client_id) == (Cause.SESSION_EXPIRED, "two")
    assert (removed.connection_open, removed.connection_closed_ms) == (True, None)
    scene.tells(scene.stable_because(Cause.SESSION_EXPIRED, "two"), "The connection of two stayed open")
    two.driver.go_on()
    scene.after(before + 1)
    joined = scene.of_kind(schema.MemberJoined)
    assert [each.member.client_id for each in joined] == ["one", "two", "two"]
    one.leave()


def a_member_does_not_poll(scene: Scene) -> None:
    """Beyond max.poll.interval.ms: clients leave by themselves, and few say why."""
    one = scene.member("one", max_poll_interval_ms=SESSION_MS + 500)
    scene.steady(one)
    one.pause()
    removed = scene.one_of_kind(schema.MemberRemoved)
    assert removed.cause is Cause.MEMBER_LEFT
    assert removed.last_joined_ms is not None
    assert removed.time_ms - removed.last_joined_ms >= SESSION_MS
    if "poll" in removed.reason:
        return
    scene.unknown = "why it left: told by the time since its last JoinGroup and commit"
    scene.tells(scene.history().generations[-1], "max.poll.interval.ms")


def a_member_hangs_in_a_rebalance(scene: Scene) -> None:
    """It does not poll, so it does not join again: the rebalance timeout removes it, and the audit names it."""
    hanging = scene.member("hanging", max_poll_interval_ms=SESSION_MS + 1_000)
    scene.steady(hanging)
    starting = scene.driver()  # before the stop: some clients take longer to start than the session lasts
    hanging.driver.stop()
    newcomer = scene.again(starting, "newcomer", (scene.topic,), max_poll_interval_ms=SESSION_MS + 1_000)
    scene.steady(newcomer)
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert removed.member.client_id == "hanging"
    assert removed.cause in (Cause.REBALANCE_TIMEOUT, Cause.SESSION_EXPIRED)
    together = [triggers(generation) for generation in scene.history().generations]
    assert [(Cause.NEW_MEMBER, "newcomer"), (removed.cause, "hanging")] in together, together
    newcomer.leave()


def a_slow_member_is_named(scene: Scene) -> None:
    options = {"session_timeout_ms": 6_000, "max_poll_interval_ms": 10_000}
    one, two, _ = two_members(scene, **options)
    two.driver.stop()
    three = scene.member("three", **options)
    scene.wait_for_state("PreparingRebalance")
    time.sleep(2)  # how late the member is: shorter than its session, much longer than the others take
    two.driver.go_on()
    generation = scene.stable_because(Cause.NEW_MEMBER, "three")
    held_up = generation.held_up()
    assert held_up is not None
    assert held_up[0].client_id == "two"
    assert held_up[1] >= 500
    scene.tells(generation, "two")
    one.leave()
    two.leave()
    three.leave()


def two_things_at_once(scene: Scene) -> None:
    """A process is killed, and another joins before its session ends."""
    one, two, before = two_members(scene, max_poll_interval_ms=SESSION_MS + 4_000)
    starting = scene.driver()  # before the kill: some clients take longer to start than the session lasts
    two.driver.kill()
    three = scene.again(starting, "three", (scene.topic,), max_poll_interval_ms=SESSION_MS + 4_000)
    scene.steady(one, three)
    scene.after(before)
    causes = triggers(scene.history().generations[before])
    assert {(Cause.NEW_MEMBER, "three"), (Cause.SESSION_EXPIRED, "two")} <= set(causes), causes
    one.leave()
    three.leave()


def a_static_member_restarts(scene: Scene) -> None:
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=20_000)
    scene.steady(one)
    before = len(scene.history().generations)
    one.driver.kill()
    again = scene.member("again", instance_id="pod-0", session_timeout_ms=20_000)
    scene.steady(again)
    (replaced,) = scene.of_kind(schema.StaticMemberReplaced)
    assert (replaced.member.group_instance_id, replaced.member.client_id) == ("pod-0", "again")
    assert (replaced.old_client_id, replaced.described_client_id) == ("one", "one")
    assert len(scene.history().generations) == before, "the same subscription: no rebalance"
    again.driver.kill()


def a_static_member_restarts_with_other_topics(scene: Scene) -> None:
    other = f"{scene.name}-other"
    scene.create_topic(other, 2)
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=20_000)
    scene.steady(one)
    before = len(scene.history().generations)
    one.driver.kill()
    again = scene.member("again", instance_id="pod-0", session_timeout_ms=20_000, topics=(scene.topic, other))
    replaced = scene.one_of_kind(schema.StaticMemberReplaced)
    assert replaced.old_subscribed_topics == [scene.topic]
    assert replaced.subscribed_topics == sorted([scene.topic, other])
    assert len(scene.history().generations) == before, "as on Kafka: the next rebalance assigns the other topic"
    again.driver.kill()


def shared_instance_id(scene: Scene) -> list[Finding]:
    history = scene.history_so_far()
    return [finding for finding in findings(history, history.last_ms or 0) if finding.kind is Kind.SHARED_INSTANCE_ID]


def a_static_member_is_fenced(scene: Scene) -> None:
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=20_000)
    scene.steady(one)
    twin = scene.member("twin", instance_id="pod-0", session_timeout_ms=20_000)

    def fenced() -> list[schema.RequestRejected]:
        rejected = scene.of_kind_so_far(schema.RequestRejected)
        return [each for each in rejected if each.error == "FENCED_INSTANCE_ID"]

    wait_for(
        lambda: fenced() or len(scene.of_kind_so_far(schema.StaticMemberReplaced)) > 1,
        SECONDS,
        "the first member to be fenced, or to come back",
        every_ms=100,
    )
    if not fenced():
        scene.unknown = "no request is fenced: this client's heartbeats name no instance, and it takes the place back"
        clients = [(each.old_client_id, each.member.client_id) for each in scene.of_kind(schema.StaticMemberReplaced)]
        assert clients[:2] == [("one", "twin"), ("twin", "one")]
        wait_for(lambda: shared_instance_id(scene), SECONDS, "the finding", every_ms=200)
        one.driver.kill()
        twin.driver.kill()
        return
    rejected = fenced()[0]
    assert rejected.member.group_instance_id == "pod-0"
    assert rejected.holder is not None
    (replaced,) = scene.of_kind(schema.StaticMemberReplaced)
    assert (rejected.member.client_id, rejected.holder.member_id) == ("one", replaced.member.member_id)
    one.driver.kill()
    twin.driver.kill()


def a_subscription_changes(scene: Scene) -> None:
    other = f"{scene.name}-other"
    scene.create_topic(other, 2)
    one = scene.member("one")
    scene.steady(one)
    before = len(scene.history().generations)
    one.subscribe(scene.topic, other)
    scene.steady(one, partitions=PARTITIONS + 2)
    scene.after(before)
    told = [trigger for generation in scene.history().generations for trigger in triggers(generation)]
    changed = [each for each in scene.of_kind(schema.MemberRejoined) if each.metadata_changed]
    if changed:
        assert [each.subscribed_topics for each in changed] == [sorted([scene.topic, other])]
        assert (Cause.METADATA_CHANGED, "one") in told
    else:
        assert [each.cause for each in scene.of_kind(schema.MemberRemoved)] == [Cause.MEMBER_LEFT]
        assert told.count((Cause.NEW_MEMBER, "one")) == 2
        scene.unknown = "that only the subscription changed: this client leaves the group and joins again"
    one.leave()


def a_topic_grows(scene: Scene) -> None:
    one = scene.member("one", metadata_max_age_ms=500)
    scene.steady(one)
    scene.admin().create_partitions({scene.topic: NewPartitions(PARTITIONS + 2)})
    scene.steady(one, partitions=PARTITIONS + 2)
    grown = {scene.topic: [PARTITIONS, PARTITIONS + 2]}
    if scene.is_watched:
        scene.unknown = members.OF_METADATA
        scene.tells(scene.history().generations[-1], "rejoined to ask for a new assignment")
        scene.never_tells("grew", "subscribed", "subscription changed")
    else:
        generation = scene.stable_with(lambda each: each.topic_changes == grown, "the topic to be named")
        scene.tells(generation, scene.topic)
    one.leave()


def a_topic_appears(scene: Scene) -> None:
    one = scene.member("one", pattern=f"^{scene.name}-.*", metadata_max_age_ms=500)
    scene.steady(one)
    before = len(scene.history().generations)
    other = f"{scene.name}-appears"
    scene.create_topic(other, 2)
    scene.steady(one, partitions=PARTITIONS + 2)
    generation = scene.after(before)
    assert Cause.METADATA_CHANGED in [cause for cause, _ in triggers(generation)] or other in generation.topic_changes
    assert scene.of_kind(schema.MemberRejoined)[-1].subscribed_topics == sorted([scene.topic, other])
    one.leave()


def a_topic_vanishes(scene: Scene) -> None:
    other = f"{scene.name}-vanishes"
    scene.create_topic(other, 2)
    one = scene.member("one", pattern=f"^{scene.name}-.*", metadata_max_age_ms=500)
    scene.steady(one, partitions=PARTITIONS + 2)
    before = len(scene.history().generations)
    scene.admin().delete_topics([other])
    scene.after(before)
    later = list(scene.history().generations)[before:]
    causes = [cause for generation in later for cause, _ in triggers(generation)]
    assert Cause.METADATA_CHANGED in causes or {other: [2, 0]} in [offset.topic_changes for offset in later]
    one.driver.kill()


def an_administrator_deletes_and_resets(scene: Scene) -> None:
    one = scene.member("one")
    scene.steady(one)
    assert one.commit()["event"] == "committed"
    one.leave()
    wait_for(lambda: scene.history_so_far().state == "Empty", SECONDS, "an empty group", every_ms=100)
    admin = scene.admin()
    where = TopicPartition(scene.topic, 0)
    admin.alter_group_offsets(scene.group, {where: OffsetAndMetadata(7, "", -1)})
    if scene.is_watched:
        admin.delete_groups([scene.group])
        removed = scene.one_of_kind(schema.GroupRemoved)
        assert removed.requested_by is None
        assert not any("reset" in line or line.startswith("ops") for line in members.noted(scene))
        scene.unknown = (
            "that offsets were reset, and who deleted the group: nodes count commits, and do not read DeleteGroups"
        )
        return
    reset = scene.one_of_kind(schema.OffsetsReset)
    assert (reset.requested_by.client_id, reset.partitions) == ("ops", {scene.topic: [[0, 0, 7]]})
    admin.delete_groups([scene.group])
    removed = scene.one_of_kind(schema.GroupRemoved)
    assert removed.requested_by is not None
    assert (removed.cause, removed.requested_by.client_id) == (Cause.ADMIN, "ops")
    told = members.noted(scene)
    assert [line for line in told if line.startswith("ops (127.0.0.1")] == [
        f"ops (127.0.0.1) reset 1 committed offset: {scene.topic}-0 from 0 to 7",
        "ops (127.0.0.1) deleted the group",
    ], told
    assert any("deleted with the group: " in line and f"{scene.topic}-0 at 7" in line for line in told), told


def a_group_is_full(scene: Scene) -> None:
    """`group.max.size` is 3 here."""
    members = [scene.member(f"m{index}") for index in range(3)]
    scene.steady(*members)
    scene.member("excess")
    rejected = wait_for(lambda: scene.of_kind_so_far(schema.RequestRejected), SECONDS, "a rejection", every_ms=100)
    assert {(each.api, each.error) for each in rejected} == {("JoinGroup", "GROUP_MAX_SIZE_REACHED")}
    assert rejected[0].member.client_id == "excess"


def assignors_do_not_agree(scene: Scene) -> None:
    one = scene.member("one", assignors=["range"])
    scene.steady(one)
    scene.member("other", assignors=["roundrobin"])
    rejected = wait_for(lambda: scene.of_kind_so_far(schema.RequestRejected), SECONDS, "a rejection", every_ms=100)
    assert {(each.api, each.error) for each in rejected} == {("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL")}
    assert rejected[0].member.client_id == "other"
    told = members.noted(scene)
    assert any("was refused: it offers roundrobin, and what all members have is range" in line for line in told), told
    history = scene.history()
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}[Kind.REJECTED_CLIENT]
    assert found.about == "other (127.0.0.1)"
    assert "one offers range" in found.evidence
    one.leave()


def the_server_restarts(scene: Scene) -> None:
    """kill -9: a stable group goes on in the same generation, unless the leader finds that its metadata has changed."""
    one = scene.member("one", session_timeout_ms=50_000)  # a Kafka may take 20 s to be back
    scene.steady(one)
    before = scene.history()
    scene.server.kill()
    scene.server.start()
    wait_for(lambda: one.commit()["event"] == "committed", SECONDS, "a commit after the restart", every_ms=200)
    after = scene.history()
    later = list(after.generations)[len(before.generations) :]
    assert {offset.cause for offset in later} <= {Cause.LEADER_REJOINED}, [
        (each.cause, each.triggers) for each in later
    ]
    if scene.is_watched:
        scene.unknown = coordinators.OF_A_BROKER
    else:
        with AuditTopic(scene.server.bootstrap) as topic:
            started = [record for record in topic.tail(1_000)[0] if b'"coordinator.started"' in record.value]
        assert len(started) >= 2
    one.leave()


def the_server_crashes_in_a_rebalance(scene: Scene) -> None:
    """What was announced and never took effect stays visible as such; the rebalance begins again."""
    options = {"session_timeout_ms": 50_000, "max_poll_interval_ms": 50_000}  # a Kafka may take 20 s to be back
    one, two, _ = two_members(scene, **options)
    two.driver.stop()
    three = scene.member("three", **options)
    scene.wait_for_state("PreparingRebalance")
    scene.server.kill()
    scene.server.start()
    two.driver.go_on()
    scene.steady(one, two, three)
    if scene.is_watched:
        scene.unknown = coordinators.OF_A_BROKER
        joined = [each.member.client_id for each in scene.of_kind(schema.MemberJoined)]
        assert joined in (["one", "two", "three"], ["one", "two", "three", "three"]), joined
        scene.never_tells("silent", "nothing was heard")
    else:
        (loaded,) = scene.of_kind(schema.GroupLoaded)
        assert loaded.void_from_seq is not None
        outcomes = [generation.outcome for generation in scene.history().generations]
        assert Outcome.CUT_SHORT in outcomes, outcomes
    for member in (one, two, three):
        member.leave()


@dataclass(frozen=True)
class Case:
    title: str
    play: Callable[[Scene], None]
    needs: str = ""
    """What the client must be able to do."""
    own_server: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of its own server, beside `SERVER_SETTINGS`."""


CASES: Final = {
    case.play.__name__: case
    for case in (
        Case("A member joins", a_member_joins),
        Case("A member closes", a_member_closes),
        Case("A process is killed", a_process_is_killed),
        Case("A process is killed, restarted and killed again", a_process_is_killed_again),
        Case("A process stands still, and comes back", a_process_stands_still),
        Case("A member does not poll", a_member_does_not_poll),
        Case("A member hangs in a rebalance", a_member_hangs_in_a_rebalance),
        Case("A slow member holds up a rebalance", a_slow_member_is_named),
        Case("A process is killed and another joins", two_things_at_once),
        Case("The only member is killed", members.the_only_member_is_killed),
        Case("The only member closes, and another one comes", members.the_only_member_closes),
        Case("A client without a name closes", members.a_client_without_a_name),
        Case("A client comes and goes: a storm", members.a_storm),
        Case("A removed member commits", members.a_removed_member_commits),
        Case("A static member restarts", a_static_member_restarts, "static"),
        Case("A static member restarts with other topics", a_static_member_restarts_with_other_topics, "static"),
        Case("A static member is fenced", a_static_member_is_fenced, "static"),
        Case("A fenced static member commits", members.a_fenced_member_commits, "static"),
        Case("A static member closes in order", members.a_static_member_closes, "static"),
        Case("A subscription changes", a_subscription_changes),
        Case("A topic grows", a_topic_grows),
        Case("A topic appears", a_topic_appears, "pattern"),
        Case("A topic vanishes", a_topic_vanishes, "pattern"),
        Case("A topic is deleted and made again", members.a_topic_is_made_again),
        Case("A cooperative rebalance", members.a_cooperative_rebalance, "cooperative-sticky"),
        Case("From range to cooperative-sticky", members.from_range_to_cooperative, "cooperative-sticky"),
        Case("Offsets are reset, the group is deleted", an_administrator_deletes_and_resets),
        Case("A group is full", a_group_is_full),
        Case("Assignors do not agree", assignors_do_not_agree),
        Case(
            "An empty group waits for further members",
            coordinators.an_empty_group_waits,
            own_server=True,
            settings={"group.initial.rebalance.delay.ms": str(coordinators.INITIAL_DELAY_MS)},
        ),
        Case("The coordinator stands still for 6 s", coordinators.the_coordinator_stands_still, own_server=True),
        Case("The coordinator restarts in order", coordinators.the_coordinator_restarts_in_order, own_server=True),
        Case("The server is killed and restarts", the_server_restarts, own_server=True),
        Case("The server crashes in a rebalance", the_server_crashes_in_a_rebalance, own_server=True),
    )
}
