"""The server is killed and starts again. What a server does that is there but fails belongs here, too."""

from typing import Final

from coordinator.audit import schema
from interop.builds import CLASSIC
from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for

SESSION_MS: Final = 10_000
"""Longer than the server takes to start. Some clients join as new members, and wait for their old session to end."""


def server_restarts(scene: Scene) -> None:
    """A stable group goes on, and its commits work, if the client commits when it is asked to."""
    scene.produce(5)
    one = scene.member("one")
    two = scene.member("two")
    scene.steady(one, two)
    all_read(scene, one, two)
    scene.server.kill()
    scene.server.start()
    if "commit" in one.driver.can:
        wait_for(lambda: one.commit()["event"] == "committed", SECONDS, "a commit after the restart", every_ms=200)
    scene.steady(one, two)
    scene.produce(5)
    all_read(scene, one, two)
    check(scene, 5)
    one.leave()
    two.leave()


def server_restarts_in_a_rebalance(scene: Scene) -> None:
    """A member stands still, so the rebalance waits for it when the server is killed."""
    one = scene.member("one")
    two = scene.member("two")
    scene.steady(one, two)
    two.driver.stop()
    three = scene.member("three")
    wait_for(lambda: scene.state() == "PreparingRebalance", SECONDS, "a rebalance", every_ms=50)
    scene.server.kill()
    scene.server.start()
    two.driver.go_on()
    scene.steady(one, two, three)
    scene.produce(5)
    all_read(scene, one, two, three)
    if scene.is_watched:
        assert scene.of_kind(schema.GroupUnseen), "the audit does not tell that the node was away"
    elif scene.audited:
        assert scene.of_kind(schema.GroupLoaded), "the audit does not tell that the group was loaded"
    check(scene, 8)
    for member in (one, two, three):
        member.leave()


SCENARIOS = (
    Scenario("The server is killed and restarts", server_restarts, session_ms=SESSION_MS, own_server=True),
    Scenario(
        "The server is killed in a rebalance",
        server_restarts_in_a_rebalance,
        session_ms=SESSION_MS,
        own_server=True,
        protocol=CLASSIC,
    ),
)
