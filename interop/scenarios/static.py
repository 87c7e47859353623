"""Static members (KIP-345)."""

from typing import Final

from coordinator.audit import schema
from interop.builds import CLASSIC, CONSUMER
from interop.scenarios.scenario import LONG_SESSION_MS, Scenario, check
from interop.scene import Scene
from tests.waiting import wait_for

FENCED_SECONDS: Final = 10
"""Much longer than a heartbeat takes."""


def static_restart(scene: Scene) -> None:
    """A killed process comes back under its instance id: nobody else is rebalanced."""
    one = scene.member("one", instance_id="pod-0")
    two = scene.member("two", instance_id="pod-1")
    scene.steady(one, two)
    before, owned = len(one.of_kind("assigned")), set(two.owned)
    two.driver.kill()
    again = scene.member("again", instance_id="pod-1")
    scene.steady(one, again)
    assert len(one.of_kind("assigned")) == before, "the other member was rebalanced"
    assert again.owned == owned, "it got other partitions than before"
    if scene.audited:
        (replaced,) = scene.of_kind(schema.StaticMemberReplaced)
        assert (replaced.member.group_instance_id, replaced.member.client_id) == ("pod-1", "again")
    check(scene, 4)
    one.driver.kill()
    again.driver.kill()


def static_fencing(scene: Scene) -> None:
    """Two processes with one instance id: the newer one owns the partitions, the older one fails."""
    one = scene.member("one", instance_id="pod-0")
    scene.steady(one)
    one.falls_silent()
    twin = scene.member("twin", instance_id="pod-0")
    wait_for(lambda: one.latest().failure, FENCED_SECONDS, "the first member to be told that it is fenced", every_ms=50)
    scene.steady(twin)
    if scene.audited:
        rejected = [each for each in scene.of_kind(schema.RequestRejected) if each.error == "FENCED_INSTANCE_ID"]
        assert rejected and rejected[0].member.group_instance_id == "pod-0"
    check(scene, 2)
    one.driver.kill()
    twin.driver.kill()


def static_returns(scene: Scene) -> None:
    """With the new protocol a static member that closes is away for a while, and gets its partitions again."""
    one = scene.member("one", instance_id="pod-0")
    two = scene.member("two", instance_id="pod-1")
    scene.steady(one, two)
    before, owned = len(one.of_kind("assigned")), set(two.latest().owned)
    two.leave()
    again = scene.member("again", instance_id="pod-1")
    scene.steady(one, again)
    assert len(one.of_kind("assigned")) == before, "the other member was rebalanced"
    assert again.owned == owned, "it got other partitions than before"
    check(scene, 4)
    one.driver.kill()
    again.driver.kill()


def static_refused(scene: Scene) -> None:
    """With the new protocol the second process with an instance id fails, and the first one keeps its partitions."""
    one = scene.member("one", instance_id="pod-0")
    scene.steady(one)
    twin = scene.member("twin", instance_id="pod-0")
    wait_for(lambda: twin.latest().of_kind("failed"), FENCED_SECONDS, "the second member to be refused", every_ms=50)
    assert not twin.owned, twin.owned
    scene.steady(one)
    check(scene, 1, (one,))
    one.driver.kill()
    twin.driver.kill()


SCENARIOS = (
    Scenario("A static member restarts", static_restart, ("static",), session_ms=LONG_SESSION_MS, protocol=CLASSIC),
    Scenario("A static member is fenced", static_fencing, ("static",), session_ms=LONG_SESSION_MS, protocol=CLASSIC),
    Scenario(
        "A static member closes, and returns",
        static_returns,
        ("static",),
        session_ms=LONG_SESSION_MS,
        protocol=CONSUMER,
    ),
    Scenario(
        "A second static member is refused", static_refused, ("static",), session_ms=LONG_SESSION_MS, protocol=CONSUMER
    ),
)
