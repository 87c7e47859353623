"""A board with the events of simulated groups."""

import msgspec

from coordinator.audit.schema import AuditEvent
from coordinator.core.causes import Cause
from coordinator.dashboard.board import Board
from tests.audit.stories import rejoin, sync
from tests.pipeline.history import History, member
from tests.simulation.simulation import GROUP_ID, Simulation


def story() -> list[AuditEvent]:
    """Two members share four partitions of `t`; a second later the second leaves, and the first gets all of them."""
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    rejoin(sim)
    sync(sim, {a: {"t": [0, 1]}, b: {"t": [2, 3]}})
    sim.advance(1_000)
    sim.leave(b)
    rejoin(sim)
    sync(sim, {a: {"t": [0, 1, 2, 3]}})
    return sim.audited()


def emptied() -> list[AuditEvent]:
    """A group whose only member left, and to which another came a second later."""
    sim = Simulation()
    (a,) = sim.stable_with("a")
    rejoin(sim)
    sync(sim, {a: {"t": [0]}})
    sim.leave(a)
    sim.advance(1_000)
    (b,) = sim.stable_with("b")
    rejoin(sim)
    sync(sim, {b: {"t": [0]}})
    return sim.audited()


def crowd(members: int, group_id: str = "crowd") -> list[AuditEvent]:
    """As many members as partitions, of which each owns one; in the third generation all are there but the last."""
    refs = [member(f"consumer-{number:04}") for number in range(members)]
    history = History(group_id).created()
    for cause, there in ((Cause.NEW_MEMBER, refs), (Cause.LEADER_REJOINED, refs), (Cause.MEMBER_LEFT, refs[:-1])):
        history.rebalance(cause, refs[-1], members=len(there)).started(len(there))
        for number, each in enumerate(there):
            history.assigned(each, [number])
        history.stable(len(there), moved=0)
        history.now_ms += 60_000
    return history.events


def renamed(events: list[AuditEvent], group_id: str) -> list[AuditEvent]:
    """The same events of a group of another name."""
    return [msgspec.structs.replace(event, group_id=group_id) for event in events]


def board_of(*groups: list[AuditEvent]) -> Board:
    board = Board()
    for events in groups:
        board.apply(events)
    return board


__all__ = ["GROUP_ID", "board_of", "crowd", "emptied", "renamed", "story"]
