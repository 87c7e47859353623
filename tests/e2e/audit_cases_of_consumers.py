"""Ways in which a consumer group (KIP-848) changes, each played with any stock client that has its protocol.

As in `audit_cases`: a case starts members, does one thing, and asserts what the audit says of it. `Scene.unknown` names
what the protocol does not tell the coordinator; the case then asserts that the audit does not claim to know it.
"""

import time
from typing import Any, Final

from kafka.admin import NewPartitions

from coordinator.audit import schema
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import findings
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.notes import notes
from coordinator.observe.records.reader import read_offsets_partition
from coordinator.observe.records.stored import ConsumerMember, CurrentAssignment
from interop.driver import Member
from interop.scene import PARTITIONS, SECONDS, SESSION_MS, Scene, triggers
from tests.waiting import wait_for

LONG_SESSION_MS: Final = 20_000
HELD_UP_SECONDS: Final = 2
NO_REASON: Final = "why it left: the protocol has no reasons"
OF_TOPICS: Final = "which topic changed: the records have a hash of the topics alone"
OF_STEPS: Final = "who was asked to give up partitions, and who waited: records of a member tell what it has by then"
OF_THE_CONFIG: Final = "how long its session timeout is: that is a config of the group, which no heartbeat names"


def two_members(scene: Scene, **options: Any) -> tuple[Member, Member]:
    one = scene.member("one", **options)
    scene.steady(one)
    two = scene.member("two", **options)
    scene.steady(one, two)
    return one, two


def noted(scene: Scene) -> list[str]:
    return [note.text for note in notes(scene.history())]


def rejected_with(scene: Scene, error: str) -> list[schema.RequestRejected]:
    return [each for each in scene.of_kind_so_far(schema.RequestRejected) if each.error == error]


def first_rejection(scene: Scene, error: str) -> schema.RequestRejected:
    return wait_for(lambda: rejected_with(scene, error), SECONDS, error, every_ms=100)[0]


def names_topic(scene: Scene, changes: dict[str, list[int]], *texts: str) -> None:
    """What is told of a rebalance for topics: which one it was, by how much it changed, and these texts."""
    if scene.is_watched:
        generation = scene.stable_because(Cause.TOPICS_CHANGED, "")
        scene.never_tells("grew", "appeared", "vanished", "subscribed to")
        assert generation.topic_changes == {}
        scene.unknown = OF_TOPICS
        return
    generation = scene.stable_with(lambda each: each.topic_changes == changes, "the topic to be named")
    scene.tells(generation, *texts)


def says_group_epoch(scene: Scene) -> None:
    """No story speaks of what this protocol does not have."""
    scene.never_tells("generation", "join phase", "rejoin", "SyncGroup", "leader")


# ---- members come


def a_first_member_joins(scene: Scene) -> None:
    one = scene.member("one")
    scene.steady(one)
    (joined,) = scene.of_kind(schema.MemberJoined)
    assert (joined.member.client_id, joined.subscribed_topics) == ("one", [scene.topic])
    assert joined.member.client_software_name and joined.member.client_software_version
    generation = scene.stable_because(Cause.NEW_MEMBER, "one")
    assert (generation.generation_id, generation.group_type) == (2, "consumer")
    scene.tells(generation, "group epoch 2 began", "because one (127.0.0.1", ") joined", "got their first owner")
    says_group_epoch(scene)
    one.leave()


def a_second_member_joins(scene: Scene) -> None:
    one, two = two_members(scene)
    generation = scene.stable_because(Cause.NEW_MEMBER, "two")
    scene.tells(generation, "because two (127.0.0.1", ") joined", "2 of 4 partitions moved")
    asked = [each for each in scene.of_kind(schema.MemberReconciled) if each.revoking_count]
    assert {each.member.client_id for each in asked} <= {"one"}, asked
    waiting = [each for each in scene.of_kind(schema.MemberReconciled) if each.waits_for]
    assert {each.member.client_id for each in waiting} <= {"two"}, waiting
    assert {who.member.client_id for each in waiting for who in each.waits_for} <= {"one"}, waiting
    says_group_epoch(scene)
    one.leave()
    two.leave()


# ---- members go


def a_member_closes(scene: Scene) -> None:
    one, two = two_members(scene)
    two.leave()
    generation = scene.stable_because(Cause.MEMBER_LEFT, "two")
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert (removed.reason, removed.requested_by) == ("", None)
    scene.tells(generation, "because two (127.0.0.1", ") left", "2 of 4 partitions moved")
    scene.never_tells("was closed", "reason")
    scene.advises(generation)
    scene.unknown = NO_REASON
    one.leave()


def a_process_is_killed(scene: Scene) -> None:
    one, two = two_members(scene)
    killed_ms = time.time_ns() // 1_000_000
    two.driver.kill()
    generation = scene.stable_because(Cause.SESSION_EXPIRED, "two")
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert removed.cause is Cause.SESSION_EXPIRED
    if scene.is_watched:
        scene.unknown = OF_THE_CONFIG
    assert (removed.session_timeout_ms or 0) == (0 if scene.is_watched else SESSION_MS)
    assert removed.last_heard_ms is not None
    assert killed_ms - 2_000 < removed.last_heard_ms <= killed_ms + 100
    scene.tells(generation, "two (127.0.0.1", ") was silent for", "Nobody consumed the 2 partitions of two for")
    says_group_epoch(scene)
    scene.tells(generation, "The connection of two closed at", "its process ended, or")
    one.leave()


def a_process_stands_still(scene: Scene) -> None:
    """And comes back: what it then asks is rejected, and it joins again."""
    one, two = two_members(scene)
    two.driver.stop()
    scene.stable_because(Cause.SESSION_EXPIRED, "two")
    two.driver.go_on()
    scene.steady(one, two)
    joined = scene.of_kind(schema.MemberJoined)
    assert [each.member.client_id for each in joined] == ["one", "two", "two"]
    one.leave()
    two.leave()


def the_only_member_closes(scene: Scene) -> None:
    one = scene.member("one")
    scene.steady(one)
    one.leave()
    wait_for(lambda: scene.history_so_far().state == "Empty", SECONDS, "an empty group", every_ms=100)
    generation = scene.history().generations[-1]
    assert (generation.outcome, generation.cause) == (Outcome.EMPTIED, Cause.MEMBER_LEFT)
    scene.tells(generation, "Nobody was left: the group became empty at")
    again = scene.member("one")
    scene.steady(again)
    again.leave()
    says_group_epoch(scene)
    scene.unknown = NO_REASON


# ---- static members


def a_static_member_returns(scene: Scene) -> None:
    """It closes, which is no leave, and another process takes its place: no group epoch."""
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=LONG_SESSION_MS)
    scene.steady(one)
    before = len(scene.history().generations)
    one.leave()
    again = scene.member("again", instance_id="pod-0", session_timeout_ms=LONG_SESSION_MS)
    scene.steady(again)
    if not scene.of_kind(schema.StaticMemberReplaced):
        assert [each.cause for each in scene.of_kind(schema.MemberRemoved)] == [Cause.SESSION_EXPIRED]
        scene.unknown = "that it closed: this client does not say it, and its successor waits for its session to end"
        again.driver.kill()
        return
    (replaced,) = scene.of_kind(schema.StaticMemberReplaced)
    assert (replaced.member.group_instance_id, replaced.member.client_id) == ("pod-0", "again")
    assert (replaced.old_client_id, len(scene.history().generations)) == ("one", before)
    told = [each for each in noted(scene) if each.startswith("again (127.0.0.1")]
    assert told and "took the place of one (127.0.0.1) as static member pod-0, without a rebalance" in told[0], told
    again.driver.kill()


def a_static_member_is_refused(scene: Scene) -> None:
    """Two processes with one instance id: the first one keeps it."""
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=LONG_SESSION_MS)
    scene.steady(one)
    twin = scene.member("twin", instance_id="pod-0", session_timeout_ms=LONG_SESSION_MS)
    rejected = first_rejection(scene, "UNRELEASED_INSTANCE_ID")
    assert (rejected.member.client_id, rejected.member.group_instance_id) == ("twin", "pod-0")
    told = [each for each in noted(scene) if each.startswith("twin (127.0.0.1")]
    assert told and "was refused: one (127.0.0.1" in told[0] and "has its group.instance.id pod-0" in told[0], told
    history = scene.history()
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}
    assert found[Kind.REJECTED_CLIENT].about == "twin (127.0.0.1)"
    assert "has its group.instance.id pod-0" in found[Kind.REJECTED_CLIENT].headline
    one.driver.kill()
    twin.driver.kill()


def a_static_member_is_killed(scene: Scene) -> None:
    """Its successor has to wait for the end of its session."""
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=2 * SESSION_MS)
    scene.steady(one)
    one.driver.kill()
    again = scene.member("again", instance_id="pod-0", session_timeout_ms=2 * SESSION_MS)
    first_rejection(scene, "UNRELEASED_INSTANCE_ID")
    wait_for(lambda: scene.of_kind_so_far(schema.MemberRemoved), SECONDS, "the end of its session", every_ms=100)
    (removed,) = scene.of_kind(schema.MemberRemoved)
    assert (removed.cause, removed.member.client_id) == (Cause.SESSION_EXPIRED, "one")
    if again.latest().of_kind("failed") and any(each["fatal"] for each in again.of_kind("failed")):
        scene.unknown = "whether it tries again: this client gives up when it is refused"
    else:
        scene.steady(again)
    again.driver.kill()


# ---- members that are slow


def a_member_does_not_poll(scene: Scene) -> None:
    """Beyond max.poll.interval.ms: clients leave by themselves, and this protocol has no reasons."""
    one = scene.member("one", max_poll_interval_ms=SESSION_MS + 500)
    scene.steady(one)
    one.pause()
    removed = scene.one_of_kind(schema.MemberRemoved)
    told = scene.story(scene.history().generations[-1])
    assert "closed" not in told and "max.poll.interval.ms" not in told, told
    if removed.cause is Cause.MEMBER_LEFT:
        scene.unknown = NO_REASON
    else:
        assert removed.cause is Cause.SESSION_EXPIRED, removed
        scene.unknown = "that it did not poll: this client sends no heartbeats any more"
    one.driver.kill()


def a_slow_member_holds_up_another(scene: Scene) -> None:
    """It does not poll, so it does not give up its partitions: who waits for it is told."""
    options = {"session_timeout_ms": LONG_SESSION_MS, "max_poll_interval_ms": LONG_SESSION_MS}
    one = scene.member("one", **options)
    scene.steady(one)
    one.pause()
    two = scene.member("two", **options)
    asked_to_revoke(scene, "one")
    time.sleep(HELD_UP_SECONDS)
    one.resume()
    scene.steady(one, two)
    generation = scene.stable_because(Cause.NEW_MEMBER, "two")
    if scene.is_watched:
        scene.unknown = OF_STEPS
        scene.tells(generation, "because two (127.0.0.1", ") joined")
        scene.never_tells("was asked to give up", "waited for")
    else:
        scene.tells(generation, "one was asked to give up", "to do so. two waited for it.")
    says_group_epoch(scene)
    one.leave()
    two.leave()


def a_member_that_stands_still_holds_up_another(scene: Scene) -> None:
    """It is asked to give up partitions in its next heartbeat, which comes late."""
    options = {"session_timeout_ms": LONG_SESSION_MS}
    one = scene.member("one", **options)
    scene.steady(one)
    one.driver.stop()
    two = scene.member("two", **options)
    waits(scene, "two")
    if not scene.is_watched:
        open_epoch = scene.history().generations[-1]
        scene.tells(open_epoch, "two waits for", "which one still has")
    time.sleep(HELD_UP_SECONDS)
    one.driver.go_on()
    scene.steady(one, two)
    generation = scene.stable_because(Cause.NEW_MEMBER, "two")
    if scene.is_watched:
        scene.unknown = OF_STEPS
        scene.never_tells("was asked to give up", "waited for")
    else:
        scene.tells(generation, "one was asked to give up", " only ", " later, and took ", "two waited for it.")
        scene.advises(generation, "one was asked late")
    one.leave()
    two.leave()


def a_member_does_not_give_up(scene: Scene) -> None:
    """It is asked to revoke, and stands still beyond the rebalance timeout, within its session."""
    options = {"session_timeout_ms": LONG_SESSION_MS, "max_poll_interval_ms": 10_000}
    one = scene.member("one", **options)
    scene.steady(one)
    starting = scene.driver()  # before the pause: a client that takes long to start would outlast max.poll.interval.ms
    one.pause()
    two = scene.again(starting, "two", (scene.topic,), **options)
    asked_to_revoke(scene, "one")
    one.driver.stop()
    if scene.is_watched:
        scene.unknown = OF_STEPS
        removed = scene.one_of_kind(schema.MemberRemoved)
        told = str(removed.cause), removed.member.client_id
        assert told == (InferredCause.MEMBER_LEFT_OR_EXPIRED, "one"), told
        one.driver.kill()
        two.leave()
        return
    generation = scene.stable_because(Cause.REBALANCE_TIMEOUT, "one")
    scene.tells(generation, "one (127.0.0.1", ") did not give up its partitions within the rebalance timeout, ")
    before = next(each for each in scene.history().generations if each.outcome is Outcome.SUPERSEDED)
    scene.tells(before, "one was asked to give up", "and was removed", "two waited for it.")
    says_group_epoch(scene)
    one.driver.kill()
    two.leave()


def asked_to_revoke(scene: Scene, client_id: str) -> None:
    if scene.is_watched:
        # The group reconciles before the next heartbeat of the member asks it: its record says when that was.
        what = f"{client_id} to be asked to give up partitions"
        wait_for(lambda: not has_what_it_shall(scene, client_id), SECONDS, what, every_ms=50)
        return

    def is_asked() -> bool:
        reconciled = scene.of_kind_so_far(schema.MemberReconciled)
        found = [each for each in reconciled if each.member.client_id == client_id]
        return bool(found) and found[-1].revoking_count > 0

    wait_for(is_asked, SECONDS, f"{client_id} to be asked to give up partitions", every_ms=50)


def has_what_it_shall(scene: Scene, client_id: str) -> bool:
    """Whether a member gives nothing up and waits for nothing, by the last record of it."""
    client_ids: dict[str, str] = {}
    settled: dict[str, bool] = {}
    for _, record in read_offsets_partition(scene.server.bootstrap, scene.group):
        if isinstance(record, ConsumerMember):
            client_ids[record.member_id] = record.client_id
        elif isinstance(record, CurrentAssignment):
            settled[client_ids.get(record.member_id, "")] = record.is_settled
    return settled.get(client_id, True)


def waits(scene: Scene, client_id: str) -> None:
    if scene.is_watched:
        scene.wait_for_state("Reconciling")
        return

    def is_waiting() -> bool:
        reconciled = scene.of_kind_so_far(schema.MemberReconciled)
        found = [each for each in reconciled if each.member.client_id == client_id]
        return bool(found) and bool(found[-1].waits_for)

    wait_for(is_waiting, SECONDS, f"{client_id} to wait for another member", every_ms=50)


# ---- topics and subscriptions


def a_topic_grows(scene: Scene) -> None:
    one = scene.member("one", metadata_max_age_ms=500)
    scene.steady(one)
    scene.admin().create_partitions({scene.topic: NewPartitions(PARTITIONS + 2)})
    scene.steady(one, partitions=PARTITIONS + 2)
    grown = {scene.topic: [PARTITIONS, PARTITIONS + 2]}
    names_topic(scene, grown, f"because topic {scene.topic} grew from 4 to 6 partitions")
    one.leave()


def a_topic_appears(scene: Scene) -> None:
    """One that matches the regular expression of the member."""
    one = scene.member("one", pattern=f"^{scene.name}-.*", metadata_max_age_ms=500)
    scene.steady(one)
    other = f"{scene.name}-appears"
    scene.create_topic(other, 2)
    scene.steady(one, partitions=PARTITIONS + 2)
    names_topic(scene, {other: [0, 2]}, f"topic {other} appeared with 2 partitions")
    one.leave()


def a_topic_vanishes(scene: Scene) -> None:
    other = f"{scene.name}-vanishes"
    scene.create_topic(other, 2)
    one = scene.member("one", topics=(scene.topic, other), metadata_max_age_ms=500)
    scene.steady(one, partitions=PARTITIONS + 2)
    scene.admin().delete_topics([other])
    names_topic(scene, {other: [2, 0]}, f"because topic {other} vanished, which had 2 partitions")
    one.driver.kill()


def a_subscription_changes(scene: Scene) -> None:
    other = f"{scene.name}-other"
    scene.create_topic(other, 2)
    one = scene.member("one")
    scene.steady(one)
    one.subscribe(scene.topic, other)
    scene.steady(one, partitions=PARTITIONS + 2)
    generation = scene.history().generations[-1]
    told = triggers(generation)
    if told == [(Cause.METADATA_CHANGED, "one")]:
        scene.tells(generation, "because one (127.0.0.1", f") subscribed to {other}")
    else:
        assert told == [(Cause.NEW_MEMBER, "one")], told
        scene.unknown = "that only the subscription changed: this client leaves the group and joins again"
    one.leave()


def another_assignor_is_asked_for(scene: Scene) -> None:
    """The choice of a newcomer counts from the epoch on that its join begins; it is no cause of its own."""
    one = scene.member("one")
    scene.steady(one)
    first = scene.history().generations[-1]
    if scene.is_watched and not first.protocol_name:
        scene.unknown = "which assignor the coordinator takes by default: records name one that a member asks for"
    else:
        assert first.protocol_name == "uniform"
    one.leave()
    ranged = scene.member("ranged", server_assignor="range")
    scene.steady(ranged)
    generation = scene.stable_because(Cause.NEW_MEMBER, "ranged")
    assert generation.protocol_name == "range"
    ranged.leave()


def an_assignor_changes(scene: Scene) -> None:
    """A static member comes back with another choice: that raises no epoch, and counts from the next one on."""
    one = scene.member("one", instance_id="pod-0", session_timeout_ms=LONG_SESSION_MS)
    scene.steady(one)
    before = len(scene.history().generations)
    one.leave()
    options = {"session_timeout_ms": LONG_SESSION_MS, "server_assignor": "range"}
    again = scene.member("again", instance_id="pod-0", **options)
    scene.steady(again)
    if scene.of_kind(schema.StaticMemberReplaced):
        assert len(scene.history().generations) == before
        if scene.is_watched:
            scene.unknown = "that it asks for another assignor: told is which one the group has by then"
        else:
            assert scene.of_kind(schema.MemberRejoined)[-1].protocols == ["range"]
    else:
        scene.unknown = "that it closed: this client does not say it, and its successor waits for its session to end"
    scene.admin().create_partitions({scene.topic: NewPartitions(PARTITIONS + 1)})
    scene.steady(again, partitions=PARTITIONS + 1)
    if scene.is_watched:
        scene.unknown = "which assignors there were before and after: records name one that a member asks for"
        scene.stable_because(Cause.TOPICS_CHANGED, "")
    else:
        generations = scene.history().generations
        changed = next(generation for generation in generations if generation.protocol_name == "range")
        scene.tells(changed, "The assignor changed from uniform to range.")
        scene.tells(scene.stable_because(Cause.TOPICS_CHANGED, ""), "grew from 4 to 5 partitions")
    again.leave()


def a_group_is_full(scene: Scene) -> None:
    """`group.consumer.max.size` is 2 here."""
    one, two = two_members(scene)
    excess = scene.member("excess")
    rejected = first_rejection(scene, "GROUP_MAX_SIZE_REACHED")
    assert (rejected.api, rejected.member.client_id) == ("ConsumerGroupHeartbeat", "excess")
    told = [each for each in noted(scene) if each.startswith("excess (127.0.0.1")]
    assert told and "(group.consumer.max.size)" in told[0], told
    excess.driver.kill()
    one.leave()
    two.leave()


def last_stable(scene: Scene) -> Generation:
    latest = scene.history().latest_stable
    assert latest is not None
    return latest
