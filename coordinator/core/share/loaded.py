"""A share group after a load: its members get new sessions, and states that were being initialized are tried again.

Counterpart in Kafka: `GroupMetadataManager.onLoaded`, `reconcileShareGroupStateInitializingState`.
"""

from coordinator.core.decision import Effect, Environment
from coordinator.core.groups.background_work import StartWork
from coordinator.core.sessions import SessionStarted
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.initialization import InitializationRequest
from coordinator.core.share.settings import share_settings_of
from coordinator.core.share.workers import INITIALIZE_STATES


def effects_of_loaded(group: ShareGroup, environment: Environment) -> list[Effect]:
    timeout_ms, _, _ = share_settings_of(environment).of(group.group_id)
    effects: list[Effect] = [SessionStarted(member_id, None, timeout_ms, timeout_ms) for member_id in group.members]
    topics = group.states.initializing
    if topics and environment.share_states is not None:
        request = InitializationRequest(group.group_id, topics, group.epoch)
        effects.append(StartWork(INITIALIZE_STATES, request))
    return effects
