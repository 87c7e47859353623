"""Groups that break an invariant, and what is asked of them."""

from typing import Any

from msgspec.structs import replace

from coordinator.core.causes import Cause
from coordinator.core.classic.events import MemberRemoved
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated
from coordinator.core.offsets.events import OffsetsCommitted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST
from tests.runtime.test_shard import answering, drain
from tests.simulation.simulation import GROUP_ID, Simulation

OTHER = "billing"
GENERATION = 2
"""Of the group when a test begins."""


def committed(group_id: str, topic: str, offset: int, now_ms: int) -> OffsetsCommitted:
    return OffsetsCommitted(
        group_id=group_id, at_ms=now_ms, offsets={topic: {0: CommittedOffset(offset, -1, "", now_ms)}}
    )


def removed(group_id: str, now_ms: int, member_id: str) -> MemberRemoved:
    """Cannot be applied if there is no such member."""
    return MemberRemoved(group_id=group_id, at_ms=now_ms, member_id=member_id, cause=Cause.MEMBER_LEFT, reason="")


def commit_for(sim: Simulation, group_id: str, topic: str, offset: int) -> None:
    """Commit an offset of any group; a group that does not exist is created."""

    def events_of(group_id: str, now_ms: int) -> list[Event]:
        created = [] if group_id in sim.shard.machine.groups else [GroupCreated(group_id=group_id, at_ms=now_ms)]
        return [*created, committed(group_id, topic, offset, now_ms)]

    sim.queue_events(group_id, events_of)
    sim.coordinator.drain(sim.now_ms)


def offset_of(sim: Simulation, group_id: str, topic: str) -> int | None:
    found = sim.shard.machine.groups[group_id].offsets.by_topic.get(topic, {}).get(0)
    return None if found is None else found.offset


def break_group(sim: Simulation, group_id: str = GROUP_ID) -> list[Any]:
    """Let a group break an invariant; returns what is logged."""
    sim.queue_events(group_id, lambda group_id, now_ms: [removed(group_id, now_ms, "?")])
    return drain(sim)


def breaking(context: OperationContext) -> Decision:
    """An event that cannot be applied."""
    return replace(answering(context), events=(removed(GROUP_ID, 0, "nobody"),))


def rebuild(sim: Simulation) -> None:
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert sim.shard.failed_keys.by_key == {}


def make_due(sim: Simulation) -> None:
    """The time of the rebuild comes; it begins in the next iteration of the loop."""
    sim.clock.advance(REBUILD_RETRY_MS_AT_FIRST)
    sim.end_iteration()
    assert sim.shard.failed_keys.due == [GROUP_ID]


def is_taken(sim: Simulation, member_id: str) -> bool:
    return sim.sessions.answer_heartbeat(GROUP_ID, member_id, None, GENERATION, sim.now_ms)


def simulation() -> Simulation:
    """One Stable group of two members and one with a committed offset, in the same partition."""
    sim = Simulation()
    sim.stable_with("a", "b")
    commit_for(sim, OTHER, "t", 7)
    return sim
