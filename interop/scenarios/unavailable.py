"""A server that runs, but answers for a while that it does not serve the group: NOT_COORDINATOR, or that it loads it.

Both need faults, which Apache Kafka does not have: they are played on this server alone.
"""

from functools import partial
from typing import Final

from coordinator.audit import schema
from coordinator.core.causes import Cause
from interop.builds import CLASSIC
from interop.driver import Event, Member, Partition
from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for

SESSION_MS: Final = 10_000
"""Longer than the group is unavailable: a member that is removed did not go on in its place."""


def not_coordinator(scene: Scene) -> None:
    """Members of a stable group look for the coordinator until it is found again, and their commits are kept."""
    one, two = _stable(scene)
    generations = len(scene.history().generations)
    unavailable = scene.faults.inject("unavailable", group=scene.group)
    seen = [scene.faults.inject("delay", api="Heartbeat", member=each.name, ms=1) for each in (one, two)]
    for fault in seen:
        wait_for(partial(scene.faults.hits, fault), SECONDS, "each member to be told", every_ms=50)
    answers = len(one.answers_to_commits())
    one.send("commit")
    for fault in (unavailable, *seen):
        scene.faults.remove(fault)
    wait_for(lambda: len(one.answers_to_commits()) > answers, SECONDS, "an answer to the commit", every_ms=50)
    _goes_on(scene, one, two)
    new = len(scene.history().generations) - generations
    allowed = 2 + 2 * len(_expired(scene))
    assert new <= allowed, f"{new} generations after an interruption in which nobody came or went"
    check(scene, 5)
    one.leave()
    two.leave()


def load_in_progress(scene: Scene) -> None:
    """A member that commits and one that joins are told to wait; both try again until the group is loaded."""
    one, two = _stable(scene)
    unavailable = scene.faults.inject("unavailable", group=scene.group, error="COORDINATOR_LOAD_IN_PROGRESS")
    commits = scene.faults.inject("delay", api="OffsetCommit", member=one.name, ms=1)
    joins = scene.faults.inject("delay", api="JoinGroup", member="three", ms=1)
    answers = len(one.answers_to_commits())
    one.send("commit")
    three = scene.member("three")
    for fault, what in ((commits, "a commit"), (joins, "a join")):
        wait_for(partial(scene.faults.hits, fault), SECONDS, what, every_ms=50)
    for fault in (unavailable, commits, joins):
        scene.faults.remove(fault)
    wait_for(lambda: len(one.answers_to_commits()) > answers, SECONDS, "an answer to the commit", every_ms=50)
    _goes_on(scene, one, two, three)
    check(scene, 6)
    for member in (one, two, three):
        member.leave()


def _stable(scene: Scene) -> tuple[Member, Member]:
    """Two members that have committed what they read, and then read more."""
    scene.produce(5)
    one, two = scene.member("one"), scene.member("two")
    scene.steady(one, two)
    all_read(scene, one, two)
    for member in (one, two):
        _commits(scene, member)
    assert scene.committed() == scene.produced, scene.committed()
    scene.produce(5)
    all_read(scene, one, two)
    return one, two


def _commits(scene: Scene, member: Member) -> None:
    """Commit until all is committed that was produced to its partitions: it reads them again if they are new to it."""

    def has_committed() -> bool:
        answer = member.commit()
        wanted = {(topic, index): scene.produced[topic, index] for topic, index in member.owned}
        return answer["event"] == "committed" and wanted.items() <= _positions(answer).items()

    wait_for(has_committed, SECONDS, f"{member!r} to commit all", every_ms=100)


def _expired(scene: Scene) -> list[str]:
    """The clients whose old member was removed in its time.

    Some forget their member id and join as new ones; the group waits for the old one, and that is not for nothing.
    """
    expired = [
        each.member.client_id for each in scene.of_kind(schema.MemberRemoved) if each.cause is Cause.SESSION_EXPIRED
    ]
    joined = [each.member.client_id for each in scene.of_kind(schema.MemberJoined)]
    kept = [client for client in expired if joined.count(client) < 2]
    assert not kept, f"{kept[0]} was removed, though it had kept its place"
    return expired


def _goes_on(scene: Scene, *members: Member) -> None:
    """The group is whole again, nobody was removed, and what was acknowledged as committed is there."""
    scene.steady(*members)
    kept = scene.committed()
    tells = [member for member in members if "commit-answer" in member.driver.can]
    for event in (event for member in tells for event in member.of_kind("committed")):
        assert all(kept.get(where, -1) >= offset for where, offset in _positions(event).items()), (
            f"acknowledged, but not kept: {event['positions']} of {kept}"
        )
    _expired(scene)
    scene.produce(5)
    all_read(scene, *members)
    for member in members:
        _commits(scene, member)
    assert scene.committed() == scene.produced, scene.committed()


def _positions(committed: Event) -> dict[Partition, int]:
    """The positions of an event, by partition."""
    return {
        (topic, int(index)): offset
        for topic, positions in committed["positions"].items()
        for index, offset in positions.items()
    }


SCENARIOS = (
    Scenario(
        "NOT_COORDINATOR for a while",
        not_coordinator,
        needs=("commit",),
        session_ms=SESSION_MS,
        faults=True,
        protocol=CLASSIC,
    ),
    Scenario(
        "COORDINATOR_LOAD_IN_PROGRESS for a while",
        load_in_progress,
        needs=("commit",),
        session_ms=SESSION_MS,
        faults=True,
        protocol=CLASSIC,
    ),
)
