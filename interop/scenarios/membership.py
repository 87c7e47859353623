"""Members come and go: by themselves, one after the other, many at once."""

from coordinator.audit import schema
from coordinator.core.causes import Cause
from interop.driver import Member
from interop.scenarios.scenario import LONG_SESSION_MS, Scenario, all_read, caused, check
from interop.scene import Scene


def first_join(scene: Scene) -> None:
    scene.produce(5)
    one = scene.member("one")
    scene.steady(one)
    all_read(scene, one)
    if scene.audited:
        (joined,) = scene.of_kind(schema.MemberJoined)
        assert (joined.member.client_id, joined.subscribed_topics) == ("one", [scene.topic]), joined
    caused(scene, Cause.NEW_MEMBER, "one")
    check(scene, 1)
    one.leave()


def scale(scene: Scene) -> None:
    """1 → 5 → 2."""
    scene.produce(5)
    one = scene.member("m0")
    scene.steady(one)
    driver = scene.driver()
    others = [scene.again(driver, f"m{index}", (scene.topic,)) for index in range(1, 5)]
    scene.steady(one, *others)
    for member in others[1:]:
        member.leave()
    scene.steady(one, others[0])
    all_read(scene, *scene.members)
    caused(scene, Cause.MEMBER_LEFT, "m4")
    check(scene, 9)
    one.leave()
    others[0].leave()


def polite_leave(scene: Scene) -> None:
    one = scene.member("one")
    two = scene.member("two")
    scene.steady(one, two)
    two.leave()
    scene.steady(one)
    if scene.audited:
        removed = scene.one_of_kind(schema.MemberRemoved)
        assert (removed.cause, removed.member.client_id) == (Cause.MEMBER_LEFT, "two"), removed
    caused(scene, Cause.MEMBER_LEFT, "two")
    check(scene, 4)
    one.leave()
    scene.wait_for_state("Empty")


def fifty_members(scene: Scene) -> None:
    """All in one process, started at once."""
    driver = scene.driver()
    members = [
        scene.again(driver, f"m{index}", (scene.topic,), session_timeout_ms=LONG_SESSION_MS, heartbeat_interval_ms=500)
        for index in range(50)
    ]
    scene.steady(*members, seconds=100)
    check(scene, 15)
    driver.kill()


def rolling_restart(scene: Scene) -> None:
    """Each member leaves, and another comes in its place."""
    scene.produce(5)
    driver = scene.driver()
    members = [scene.again(driver, f"old{index}", (scene.topic,)) for index in range(3)]
    scene.steady(*members)
    for index in range(3):
        members[index].leave()
        members[index] = scene.again(driver, f"new{index}", (scene.topic,))
        scene.steady(*members)
    all_read(scene, *scene.members)
    check(scene, 10)
    _leave(members)


def two_groups(scene: Scene) -> None:
    """Two groups in one process: what happens to one does not touch the other.

    That is as close as stock clients come to two groups on one connection: each of their consumers has its own.
    """
    scene.produce(5)
    driver = scene.driver()
    one = scene.again(driver, "one", (scene.topic,))
    other_group = f"{scene.group}-2"
    two = scene.again(driver, "two", (scene.topic,), group=other_group)
    scene.steady(one)
    scene.steady(two, group=other_group)
    all_read(scene, one)
    all_read(scene, two)
    before = len(two.of_kind("assigned"))
    three = scene.again(driver, "three", (scene.topic,))
    scene.steady(one, three)
    assert len(two.of_kind("assigned")) == before, "the other group was rebalanced too"
    check(scene, 4, (one, three))
    _leave([one, two, three])


def _leave(members: list[Member]) -> None:
    for member in members:
        member.leave()


SCENARIOS = (
    Scenario("First join", first_join),
    Scenario("1 → 5 → 2 members", scale, partitions=10),
    Scenario("A member closes", polite_leave),
    Scenario("50 members at once", fifty_members, partitions=50, is_heavy=True, seconds=150),
    Scenario("Rolling restart of three members", rolling_restart, partitions=6),
    Scenario("Two groups in one process", two_groups),
)
