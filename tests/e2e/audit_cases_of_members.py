"""Cases of members: how they go and come back, what they send after they are gone, and what is advised then."""

from typing import Final

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import findings
from coordinator.explain.generation import Outcome
from coordinator.explain.makers.assignors import cooperative
from coordinator.explain.notes import notes
from interop.scene import PARTITIONS, SECONDS, Scene, triggers
from tests.waiting import wait_for

COOPERATIVE = ["cooperative-sticky"]
OF_METADATA: Final = "which topic changed: neither requests nor records of a classic group say how large topics are"
OF_OWNED: Final = (
    "how many partitions had to move, and what members still had: nodes do not read what members own when they join"
)


def noted(scene: Scene) -> list[str]:
    return [note.text for note in notes(scene.history())]


def wait_until_empty(scene: Scene) -> None:
    wait_for(lambda: scene.history_so_far().state == "Empty", SECONDS, "an empty group", every_ms=100)


def the_only_member_is_killed(scene: Scene) -> None:
    """Nobody waits for it, and a longer session timeout would help nobody."""
    one = scene.member("one")
    scene.steady(one)
    one.driver.kill()
    wait_until_empty(scene)
    generation = scene.history().generations[-1]
    assert (generation.outcome, generation.cause) == (Outcome.EMPTIED, Cause.SESSION_EXPIRED)
    scene.tells(generation, "was silent for", "The connection of one closed at", "Nobody was left")
    scene.advises(generation, "a longer session.timeout.ms would not help")
    scene.never_tells("all others", "held up", "raise session.timeout.ms", "or hung")


def the_only_member_closes(scene: Scene) -> None:
    """And another one comes: nothing is wrong, so nothing is advised."""
    one = scene.member("one")
    scene.steady(one)
    one.leave()
    wait_until_empty(scene)
    scene.tells(scene.history().generations[-1], "Nobody was left: the group became empty at")
    again = scene.member("one")
    scene.steady(again)
    again.leave()
    for generation in scene.history().generations:
        scene.advises(generation)


def a_static_member_closes(scene: Scene) -> None:
    """It sends no LeaveGroup, so its partitions wait for its session timeout: it is no crash for sure."""
    one = scene.member("one", instance_id="pod-0")
    two = scene.member("two", instance_id="pod-1")
    scene.steady(one, two)
    two.leave()
    generation = scene.stable_because(Cause.SESSION_EXPIRED, "two")
    scene.tells(generation, "it was closed in order (a static member sends no LeaveGroup then), its process ended, or")
    scene.advises(generation, "if the static member was shut down for good, remove it by its group.instance.id")
    scene.never_tells("raise session.timeout.ms")
    one.driver.kill()


def a_topic_is_made_again(scene: Scene) -> None:
    """With fewer partitions: those that are gone are not without an owner, and the new ones never had one."""
    one = scene.member("one", metadata_max_age_ms=500)
    scene.steady(one)
    admin = scene.admin()
    admin.delete_topics([scene.topic])
    wait_for(lambda: not scene.has_topic(scene.topic, PARTITIONS), SECONDS, "the topic to be gone")
    scene.create_topic(scene.topic, 2)
    scene.steady(one, partitions=2)
    if scene.is_watched:
        scene.unknown = OF_METADATA
        scene.stable_with(lambda each: each.partitions == 2, "two partitions")
        scene.never_tells("shrank", "needlessly", "deleted", "vanished", "try:")
        one.leave()
        return
    generation = scene.stable_with(lambda each: each.partitions == 2, "two partitions")
    scene.tells(generation, "Both partitions got their first owner.")
    told = [scene.story(each) for each in scene.history().generations]
    assert any("was deleted and created again with 2 partitions" in line or "vanished" in line for line in told), told
    scene.never_tells("shrank", "no owner", "Nobody consumed", "try:", "cooperative-sticky")
    one.leave()


def a_cooperative_rebalance(scene: Scene) -> None:
    """Its second generation is no change of a subscription, though the metadata has other bytes.

    What moves has no owner in the intermediate generation, and is counted over both.
    """
    one = scene.member("one", assignors=COOPERATIVE)
    scene.steady(one)
    two = scene.member("two", assignors=COOPERATIVE)
    scene.steady(one, two)
    assert [each for each in scene.of_kind(schema.MemberRejoined) if each.metadata_changed] == []
    first, second = list(scene.history().generations)[-2:]
    if scene.is_watched:
        scene.unknown = OF_OWNED
        scene.tells(second, "2 of 4 partitions moved; how many of them had to is unknown")
        scene.never_tells("needlessly", "as they had to")
        one.leave()
        two.leave()
        return
    assert (first.partitions_moved, second.partitions_moved) == (0, 2)
    scene.tells(first, "None of 4 partitions moved, and 2 of them have no owner yet.")
    scene.tells(second, "the second rebalance of the cooperative protocol", "2 of 4 partitions moved, as they had to.")
    scene.tells(second, "2 of 4 partitions had no owner for")
    scene.never_tells("All 4 partitions had no owner", "asked for a new assignment", "needlessly")
    one.leave()
    two.leave()


def from_range_to_cooperative(scene: Scene) -> None:
    """By the steps that are advised to this client."""
    members = {name: scene.member(name, assignors=["range"]) for name in ("one", "two")}
    scene.steady(*members.values())
    ranged = scene.history().generations[-1]
    advice = cooperative([part.member for part in ranged.members.values()], ranged.protocol_name)
    if advice is not None and advice.is_rolling:
        for assignors in (["cooperative-sticky", "range"], COOPERATIVE):
            for name, member in list(members.items()):
                member.leave()
                members[name] = scene.member(name, assignors=assignors)
                scene.steady(*members.values())
        between = next(
            generation for generation in scene.history().generations if generation.protocol_name == "cooperative-sticky"
        )
        if scene.is_watched:
            scene.unknown = OF_OWNED
        else:
            scene.tells(between, "All 4 partitions had no owner")  # they still give up everything
    else:
        assert advice is not None
        refused = scene.member("refused", assignors=["cooperative-sticky", "range"])
        wait_for(lambda: refused.latest().failure, SECONDS, "the client to refuse both", every_ms=50)
        for member in members.values():
            member.leave()
        members = {name: scene.member(name, assignors=COOPERATIVE) for name in members}
        scene.steady(*members.values())
    assert scene.history().generations[-1].protocol_name == "cooperative-sticky"
    assert scene.of_kind(schema.RequestRejected) == []
    scene.never_tells("needlessly")
    for member in members.values():
        member.leave()


def a_client_without_a_name(scene: Scene) -> None:
    """aiokafka sends ApiVersions v0: nothing is said of it that only some clients do."""
    one = scene.member("one")
    scene.steady(one)
    nameless = scene.member("nameless", client="aiokafka")
    scene.steady(one, nameless)
    nameless.leave()
    generation = scene.stable_because(Cause.MEMBER_LEFT, "nameless")
    scene.tells(generation, "nameless (127.0.0.1) left", "this client does not say what it is")
    scene.never_tells("which is less", "which is more", "max.poll.records", "max.poll.interval.ms (")
    scene.advises(generation)
    one.leave()


def a_storm(scene: Scene) -> None:
    """One client comes and goes: it flaps, and that is neither a rolling restart nor the joins' fault."""
    one = scene.member("one")
    scene.steady(one)
    for _ in range(6):
        coming = scene.member("coming")
        scene.steady(one, coming)
        coming.leave()
        scene.steady(one)
    history = scene.history()
    found = {finding.kind: finding for finding in findings(history, history.last_ms or 0)}
    assert "member left: 6" in found[Kind.REBALANCE_STORM].evidence
    assert not any(each.startswith(("new member", "member rejoined")) for each in found[Kind.REBALANCE_STORM].evidence)
    assert found[Kind.FLAPPING_MEMBER].about == "coming (127.0.0.1)"
    assert not {Kind.ROLLING_RESTART, Kind.CRASH_LOOP, Kind.SHORT_SESSION_TIMEOUT} & set(found)
    one.leave()


def a_fenced_member_commits(scene: Scene) -> None:
    """It stood still; its place was taken meanwhile. It is told which client has its place."""
    options = {"instance_id": "pod-0", "session_timeout_ms": 20_000, "max_poll_interval_ms": 20_000}
    one = scene.member("one", **options)
    scene.steady(one)
    assert one.commit()["event"] == "committed"
    one.driver.stop()
    twin = scene.member("twin", **options)
    scene.steady(twin)
    one.send("commit")
    one.driver.go_on()
    wait_for(
        lambda: (
            scene.of_kind_so_far(schema.RequestRejected) or len(scene.of_kind_so_far(schema.StaticMemberReplaced)) > 1
        ),
        SECONDS,
        "a rejection, or the first client to come back",
        every_ms=100,
    )
    told = [each for each in noted(scene) if not each.startswith("the coordinator")]
    assert told[0].startswith("twin (127.0.0.1"), told
    assert "took the place of one (127.0.0.1) as static member pod-0, without a rebalance" in told[0]
    rejections = [line for line in told if "fenced" in line or "refused" in line]
    if {each.error for each in scene.of_kind(schema.RequestRejected)} <= {"UNKNOWN_MEMBER_ID"}:
        scene.unknown = "no request is fenced: this client's heartbeats name no instance, and it takes the place back"
        assert all(
            "an offset commit by one (127.0.0.1) was refused: it is no member" in rejection for rejection in rejections
        )
    else:
        by_twin = [
            rejection
            for rejection in rejections
            if ": twin (127.0.0.1" in rejection and "group.instance.id pod-0" in rejection
        ]
        assert by_twin, rejections
        assert all(
            rejection.removeprefix("an offset commit by ").startswith("one (127.0.0.1") for rejection in rejections
        )
    one.driver.kill()
    twin.driver.kill()


def a_removed_member_commits(scene: Scene) -> None:
    """It stood still beyond its session, and commits what others consume now."""
    one = scene.member("one", max_poll_interval_ms=20_000)
    two = scene.member("two", max_poll_interval_ms=20_000)
    scene.steady(one, two)
    assert two.commit()["event"] == "committed"
    before = len(two.answers_to_commits())
    two.driver.stop()
    generation = scene.stable_because(Cause.SESSION_EXPIRED, "two")
    scene.tells(generation, "was silent for", "The connection of two stayed open")
    scene.advises(generation, "only if it pauses and comes back, raise session.timeout.ms")
    events_before = len(two.events)
    two.send("commit")
    two.driver.go_on()
    wait_for(lambda: len(two.answers_to_commits()) > before, SECONDS, "the client's answer", every_ms=50)
    scene.steady(one, two)
    refused = [each for each in noted(scene) if "was refused" in each]
    if refused:
        assert refused[0].startswith("an offset commit by two (127.0.0.1"), refused
        # A heartbeat may have told it before: then it commits as one that has asked to join again.
        assert "was refused: it is no member" in refused[0] or "it named generation -1" in refused[0], refused
    else:
        scene.unknown = "that it wanted to commit: this client gives the commit up, or joins again before it"
        answer = two.answers_to_commits()[before]
        since = two.events[events_before:]
        joined_again = "assigned" in [each["event"] for each in since[: since.index(answer)]]
        assert answer["event"] == "failed" or joined_again, since
    assert (Cause.NEW_MEMBER, "two") in triggers(scene.history().generations[-1])
    one.leave()
    two.leave()
