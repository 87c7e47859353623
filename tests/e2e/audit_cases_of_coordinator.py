"""Cases in which the coordinator itself is away, stands still or waits: no member is to blame."""

import os
import signal
import threading
from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.notes import notes
from interop.scene import SECONDS, SESSION_MS, Scene
from tests.cluster.running import WatchedKafka
from tests.servers import RunningServer
from tests.waiting import wait_for

PAUSE_SECONDS: Final = 6
"""Three session timeouts."""

INITIAL_DELAY_MS: Final = 2_000
OF_A_BROKER: Final = "that the coordinator was away: it is a broker, of which nodes see its groups alone"


def own_server(scene: Scene) -> RunningServer | WatchedKafka:
    assert isinstance(scene.server, RunningServer | WatchedKafka)
    return scene.server


def the_coordinator_stands_still(scene: Scene) -> None:
    """SIGSTOP. Clients may give up meanwhile; their sessions end after it, and they are not blamed for that."""
    one, two = scene.member("one"), scene.member("two")
    scene.steady(one, two)
    pid = own_server(scene).pid
    os.kill(pid, signal.SIGSTOP)
    threading.Event().wait(PAUSE_SECONDS)
    os.kill(pid, signal.SIGCONT)

    def pauses() -> list[str]:
        return [note.text for note in notes(scene.history_so_far()) if "the coordinator stood still for" in note.text]

    if scene.is_watched:
        scene.unknown = OF_A_BROKER
    else:
        wait_for(pauses, SECONDS, "the pause in the audit", every_ms=100)
    threading.Event().wait(2 * SESSION_MS / 1_000)  # sessions of members that gave up end in this time
    scene.steady(one, two)
    removed = [each for generation in scene.history().generations for each in generation.changes.removed]
    for generation in scene.history().generations:
        if not scene.is_watched and any(each.cause is Cause.SESSION_EXPIRED for each in generation.changes.removed):
            scene.tells(generation, "the coordinator itself stood still for")
            # A client that gave up and is back at once looks like one that was replaced meanwhile.
            told = scene.story(generation)
            assert "it is no fault of" in told or "gave up because nobody answered, or" in told, told
            scene.advises(generation, "look at why the coordinator stood still")
    assert scene.is_watched or all(each.is_unheard for each in removed), removed
    scene.never_tells(
        "removed: its process ended",
        "removed: their processes ended",
        "silent",
        "raise session.timeout.ms",
        "or hung",
        "never joins",
    )
    one.leave()
    two.leave()


def the_coordinator_restarts_in_order(scene: Scene) -> None:
    """And members that changed nothing rejoin for another one: nothing is said to have changed."""
    options = {"session_timeout_ms": 20_000}
    one, two = scene.member("one", **options), scene.member("two", **options)
    scene.steady(one, two)
    server = own_server(scene)
    server.stop()
    server.start()
    three = scene.member("three", **options)
    scene.steady(one, two, three)
    told = [note.text for note in notes(scene.history())]
    if scene.is_watched:
        scene.unknown = OF_A_BROKER
        assert not any("the coordinator" in line or " led the group" in line for line in told), told
    else:
        assert any("the coordinator was stopped" in line for line in told), told
        assert any("after its stop" in line for line in told), told
    scene.never_tells(
        "another subscription", "other assignors", "subscribed", "vanished", "appeared", "give all members"
    )
    for member in (one, two, three):
        member.leave()


def an_empty_group_waits(scene: Scene) -> None:
    """For `group.initial.rebalance.delay.ms`: nobody held it up."""
    one, two = scene.member("one"), scene.member("two")
    scene.steady(one, two)
    first = scene.history().generations[0]
    assert first.join_ms is not None
    assert first.join_ms >= INITIAL_DELAY_MS
    scene.tells(first, "the group, which was empty, waited for further members (group.initial.rebalance.delay.ms)")
    scene.advises(first)
    scene.never_tells("held up", "joined late")
    one.leave()
    two.leave()
