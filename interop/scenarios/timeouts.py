"""Members that do not answer: killed, stopped, or too busy to poll."""

from coordinator.audit import schema
from coordinator.core.causes import Cause
from interop.scenarios.scenario import POLL_INTERVAL_MS, Scenario, all_read, caused, check
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for


def killed(scene: Scene) -> None:
    scene.produce(5)
    one = scene.member("one")
    two = scene.member("two")
    scene.steady(one, two)
    two.driver.kill()
    scene.steady(one)
    all_read(scene, one, two)
    if scene.audited:
        (removed,) = scene.of_kind(schema.MemberRemoved)
        assert (removed.cause, removed.member.client_id) == (Cause.SESSION_EXPIRED, "two"), removed
    caused(scene, Cause.SESSION_EXPIRED, "two")
    check(scene, 4)
    one.leave()


def stopped_and_back(scene: Scene) -> None:
    """SIGSTOP for longer than the session; back, it learns that it was removed, and joins again."""
    one = scene.member("one")
    two = scene.member("two")
    scene.steady(one, two)
    two.driver.stop()
    scene.steady(one)
    two.driver.go_on()
    scene.steady(one, two)
    if scene.audited:
        removed = scene.of_kind(schema.MemberRemoved)[0]
        assert (removed.cause, removed.member.client_id) == (Cause.SESSION_EXPIRED, "two"), removed
        assert [each.member.client_id for each in scene.of_kind(schema.MemberJoined)].count("two") >= 2
    check(scene, 6)
    one.leave()
    two.leave()


def slow_poll(scene: Scene) -> None:
    """A record takes longer than max.poll.interval.ms: the member goes, and is back when it polls again."""
    options = {"max_poll_interval_ms": POLL_INTERVAL_MS}
    one = scene.member("one", **options)
    two = scene.member("two", **options)
    scene.steady(one, two)
    two.pause()
    scene.produce(5)
    scene.steady(one)
    if scene.audited:
        removed = scene.one_of_kind(schema.MemberRemoved)
        assert removed.cause in (Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED), removed
        assert removed.member.client_id == "two", removed
    two.resume()
    scene.steady(one, two)
    all_read(scene, one, two)
    check(scene, 6)
    one.leave()
    two.leave()


def stale_commit(scene: Scene) -> None:
    """A removed member commits: unless it has joined again before, what its successor committed stays.

    Whether the member is told is up to its client: sarama reports a rejected commit later, and not as its answer.
    """
    scene.produce(5)
    one = scene.member("one")
    scene.steady(one)
    all_read(scene, one)
    one.driver.stop()
    one.send("commit")
    two = scene.member("two")
    scene.steady(two)
    all_read(scene, two)
    scene.produce(5)
    all_read(scene, two)
    assert two.commit()["event"] == "committed"
    kept = scene.committed()
    assert set(kept.values()) == {10}, kept
    one.driver.go_on()
    wait_for(one.answers_to_commits, SECONDS, "an answer to the commit")
    has_joined_again = len(one.of_kind("assigned")) > 1
    if not has_joined_again:
        assert scene.committed() == kept, "a commit was accepted from a client that is no member"
    one.driver.kill()
    two.leave()


SCENARIOS = (
    Scenario("A process is killed", killed),
    Scenario("A suspended process resumes", stopped_and_back),
    Scenario("A record takes longer than max.poll.interval.ms", slow_poll, ("max-poll",)),
    Scenario("A commit after the session has ended", stale_commit, ("commit",)),
)
