"""A streams group after a load: its members get new sessions, and new time to give up tasks.

Counterpart in Kafka: `GroupMetadataManager.onLoaded`.
"""

from coordinator.core.decision import NOTHING, Decision, Effect, Environment, OperationContext
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.group import Group
from coordinator.core.sessions import SessionStarted
from coordinator.core.streams.events import StreamsRevocationsStarted
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import TasksState
from coordinator.core.streams.settings import streams_settings
from coordinator.core.streams.workers import RESUME_LOADED_STREAMS


def effects_of_loaded(group: StreamsGroup, environment: Environment) -> list[Effect]:
    timeout_ms = streams_settings(environment, group.group_id).session_timeout_ms
    effects: list[Effect] = [SessionStarted(member_id, None, timeout_ms, timeout_ms) for member_id in group.members]
    if any(_has_to_revoke(group, member_id) for member_id in group.members):
        effects.append(StartWork(RESUME_LOADED_STREAMS, None))
    return effects


def resume(group: Group[StreamsGroup] | None, request: None, context: OperationContext) -> Decision:
    """The time to give up tasks begins again."""
    if group is None:
        return NOTHING
    streams = group.membership
    deadlines = {
        member_id: context.now_ms + max(member.metadata.rebalance_timeout_ms, 0)
        for member_id, member in streams.members.items()
        if _has_to_revoke(streams, member_id)
    }
    if not deadlines:
        return NOTHING
    started = StreamsRevocationsStarted(group_id=group.group_id, at_ms=context.wall_ms, deadlines_ms=deadlines)
    return Decision((started,))


def _has_to_revoke(group: StreamsGroup, member_id: str) -> bool:
    return group.members[member_id].current.state is TasksState.UNREVOKED_TASKS
