"""What a scenario is, and what all of them use."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from coordinator.core.causes import Cause
from interop.driver import Member
from interop.invariants import lost, owned_by_two, rebalances
from interop.scene import SECONDS, Scene, triggers
from tests.waiting import wait_for

LONG_SESSION_MS: Final = 30_000
POLL_INTERVAL_MS: Final = 3_500


@dataclass(frozen=True)
class Scenario:
    """`needs` are abilities of the client; `partitions` those of the topic; `seconds` ends a play that hangs.

    `own_server`: the server is killed, so no other play can share it. `is_heavy`: no other play runs beside it.
    `faults`: faults are injected into a server of its own; Apache Kafka has none, so it is played on this one alone.
    `in_group`: the client has to join groups, as all do that do not say otherwise.
    """

    title: str
    play: Callable[[Scene], None]
    needs: tuple[str, ...] = ()
    partitions: int = 4
    session_ms: int = 3_000
    own_server: bool = False
    is_heavy: bool = False
    faults: bool = False
    in_group: bool = True
    seconds: int = 90
    clients: tuple[str, ...] = ()
    """The clients that it is played with; all if empty."""
    others: tuple[str, ...] = ()
    """Other clients that it plays with; at least one of them has to be there."""
    protocol: str = ""
    """The group protocol of the clients that it is played with; any if empty."""
    security: str = ""
    """How its members connect (security.py); as nobody and without TLS if empty."""

    @property
    def name(self) -> str:
        return self.play.__name__

    @property
    def abilities(self) -> set[str]:
        """What the client has to be able to."""
        return {*self.needs, *({"group"} if self.in_group else ())}


def check(scene: Scene, rebalances_max: int, members: Iterable[Member] = ()) -> None:
    """Assert what always holds, and that no member was rebalanced more often than that."""
    played = list(members) or scene.members
    for member in played:
        if not member.driver.has_ended:
            member.driver.take_in_all()
    doubly = owned_by_two(played)
    assert not doubly, f"two owners at a time: {'; '.join(doubly[:3])}"
    count = rebalances(played)
    assert count <= rebalances_max, f"a member was assigned partitions {count} times, {rebalances_max} are needed"
    if scene.audited:
        # Of group epochs those count that have a target: each of several joins raises the epoch (KIP-848).
        told = scene.history().generations
        generations = sum(not line.is_epoch or line.generation_started_ms is not None for line in told)
        assert generations <= 2 * rebalances_max + 2, f"{generations} generations, {rebalances_max} are needed"


def all_read(scene: Scene, *members: Member) -> None:
    """Wait until the members have read all that was produced."""

    def nothing_lost() -> bool:
        for member in members:
            if not member.driver.has_ended:
                member.driver.take_in_all()
        return not lost(members, scene.produced)

    try:
        wait_for(nothing_lost, SECONDS, "all records to be read", every_ms=50)
    except AssertionError as problem:
        raise AssertionError(f"{problem}: {'; '.join(lost(members, scene.produced)[:3])}") from None


def caused(scene: Scene, cause: Cause, client_id: str) -> None:
    """Assert that the audit has a stable generation with this trigger."""
    if scene.audited:
        scene.stable_because(cause, client_id)


def reported_causes(scene: Scene) -> set[Cause]:
    return {cause for generation in scene.history().generations for cause, _ in triggers(generation)}
