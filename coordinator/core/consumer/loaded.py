"""A consumer group after a load: its members get new sessions, and new time to give up partitions.

Counterpart in Kafka: `GroupMetadataManager.onLoaded`.
"""

from coordinator.core.consumer.events import RevocationDeadlinesStarted
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import MemberState
from coordinator.core.consumer.settings import settings_of
from coordinator.core.consumer.workers import RESUME_LOADED
from coordinator.core.decision import NOTHING, Decision, Effect, Environment, OperationContext
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.group import Group
from coordinator.core.sessions import SessionStarted


def effects_of_loaded(group: ConsumerGroup, environment: Environment) -> list[Effect]:
    """Every member gets a session of the timeout of the group, members of the classic protocol too."""
    timeout_ms, _, _ = settings_of(environment).of(group.group_id)
    effects: list[Effect] = [
        SessionStarted(member.member_id, member.group_instance_id, timeout_ms, timeout_ms)
        for member in group.members.values()
    ]
    if any(_has_to_revoke(group, member_id) for member_id in group.members):
        effects.append(StartWork(RESUME_LOADED, None))
    return effects


def resume(group: Group[ConsumerGroup] | None, request: None, context: OperationContext) -> Decision:
    """The time to give up partitions begins again."""
    if group is None:
        return NOTHING
    members = group.membership.members
    deadlines = {
        member_id: context.now_ms + max(members[member_id].metadata.rebalance_timeout_ms, 0)
        for member_id in members
        if _has_to_revoke(group.membership, member_id)
    }
    if not deadlines:
        return NOTHING
    started = RevocationDeadlinesStarted(group_id=group.group_id, at_ms=context.wall_ms, deadlines_ms=deadlines)
    return Decision((started,))


def _has_to_revoke(group: ConsumerGroup, member_id: str) -> bool:
    return group.members[member_id].current.state is MemberState.UNREVOKED_PARTITIONS
