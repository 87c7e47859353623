"""The steps of a heartbeat: what the member says, the group epoch, the target, its assignment, its initialization.

Counterpart in Kafka: `GroupMetadataManager.shareGroupHeartbeat`.
"""

from typing import Any, Final

import msgspec

from coordinator.config.share_group_keys import GROUP_SHARE_INITIALIZE_RETRY_INTERVAL_MS, GROUP_SHARE_MAX_SIZE
from coordinator.core.causes import Cause
from coordinator.core.consumer.assignors.registry import result_of
from coordinator.core.consumer.long_heartbeats import sorted_names
from coordinator.core.consumer.named_topics import NAMES_PER_OPERATION, ChangedNames
from coordinator.core.consumer.target import is_due
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Effect, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.background_work import StartWork
from coordinator.core.sessions import SessionRenewed, SessionStarted
from coordinator.core.share.assignors import simple
from coordinator.core.share.events import (
    ShareGroupEpochBumped,
    ShareMemberAssigned,
    ShareMemberJoined,
    ShareMemberUpdated,
    SharePartitionsInitializing,
    ShareTargetComputed,
    ShareTargetStarted,
    ShareTopicsChecked,
)
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.initialization import InitializationRequest
from coordinator.core.share.member import UNASSIGNED, ShareAssignment, ShareMemberMetadata
from coordinator.core.share.settings import share_settings_of
from coordinator.core.share.subscription import (
    has_unassigned,
    hash_of_topics,
    not_begun,
    uninitialized,
    uninitialized_now,
)
from coordinator.core.share.target import ShareTargetInput, is_large, share_target_steps
from coordinator.core.share.workers import COMPUTE_SHARE_TARGET, INITIALIZE_STATES

NO_METADATA: Final = ShareMemberMetadata("", "")
OPERATIONS_PER_EVENT: Final = 2
"""To store an event, apply it and report it takes as long as so many operations."""


class ShareMemberUpdate:
    """What one heartbeat says of its member, from there to the next assignment of the member.

    It collects events and changes nothing.
    """

    def __init__(self, group: ShareGroup, context: OperationContext, request: Any) -> None:
        """`request` is a ShareGroupHeartbeatRequest, or one with sorted names."""
        self._group = group
        self._context = context
        self._topics = context.environment.topics
        times = share_settings_of(context.environment).of(group.group_id)
        self._session_timeout_ms, self.heartbeat_interval_ms, self._assignment_interval_ms = times
        self._member_id: str = request.member_id
        member = group.members.get(self._member_id)
        self.is_member = member is not None
        self._before = NO_METADATA if member is None else member.metadata
        self.had = UNASSIGNED if member is None else member.current
        self.metadata = _updated(self._before, request, context)
        self._names_changed = self.metadata.topics != self._before.topics
        self._named = ChangedNames(group.named_topics)
        """What the members name after the request."""
        if self._names_changed or not self.is_member:
            gone = (self._before.topics,) if self.is_member else ()
            self._named = group.named_topics.after(gone, (self.metadata.topics,))
        self.events: list[Event] = []
        self.group_epoch = group.epoch
        self._target_epoch = group.target_epoch
        self._target: TopicPartitions = group.target(self._member_id)
        self._work: tuple[StartWork, ...] = ()
        self._has_missing = False
        """Whether subscribed partitions have no states yet: after a time they are begun again."""

    def decide(self) -> ShareAssignment:
        """The next assignment of the member."""
        self._update_member()
        self._update_epoch()
        self._update_target()
        current = self._assign()
        self._initialize()
        return current

    @property
    def weight(self) -> int:
        """As how many usual operations the request counts beside the one that it is."""
        return len(self.events) * OPERATIONS_PER_EVENT + len(self.metadata.topics) // NAMES_PER_OPERATION

    def effects(self) -> tuple[Effect, ...]:
        """The session that begins or goes on, and the work that is to be done beside the requests."""
        timeout_ms = self._session_timeout_ms
        if self.is_member:
            return (SessionRenewed(self._member_id, timeout_ms), *self._work)
        return (SessionStarted(self._member_id, None, timeout_ms, timeout_ms), *self._work)

    @property
    def is_steady(self) -> bool:
        """Whether only events, topics and settings can change what the member is answered."""
        group = self._group
        return (
            not self.events
            and not self._has_missing
            and group.computing is None
            and self.had.epoch == group.target_epoch == group.epoch
        )

    def _update_member(self) -> None:
        group_id, at_ms, context = self._group.group_id, self._context.wall_ms, self._context
        if not self.is_member:
            joined = ShareMemberJoined(
                group_id=group_id,
                at_ms=at_ms,
                member_id=self._member_id,
                metadata=self.metadata,
                session_timeout_ms=self._session_timeout_ms,
                client_details=context.client_details,
                client_connection=context.client_connection,
                fills_group=len(self._group.members) + 1 >= context.config[GROUP_SHARE_MAX_SIZE],
            )
            self.events.append(joined)
        elif self.metadata != self._before:
            updated = ShareMemberUpdated(
                group_id=group_id, at_ms=at_ms, member_id=self._member_id, metadata=self.metadata, before=self._before
            )
            self.events.append(updated)

    def _update_epoch(self) -> None:
        """Raise the group epoch if the subscriptions, the topics or what can be assigned have changed."""
        group, version = self._group, self._topics.topics_version
        cause: Cause | None = None
        if self._names_changed:
            cause = Cause.METADATA_CHANGED if self.is_member else Cause.NEW_MEMBER
        elif group.epoch <= group.target_epoch and has_unassigned(group, self._topics):
            cause = Cause.PARTITIONS_INITIALIZED
        if cause is None and group.checked_version == version:
            return
        found_hash = hash_of_topics(self._named, self._topics)
        if cause is None and found_hash != group.metadata_hash:
            cause = Cause.TOPICS_CHANGED
        if cause is None:
            self.events.append(
                ShareTopicsChecked(group_id=group.group_id, at_ms=self._context.wall_ms, topics_version=version)
            )
            return
        self.group_epoch += 1
        is_by_member = cause in (Cause.METADATA_CHANGED, Cause.NEW_MEMBER)
        bumped = ShareGroupEpochBumped(
            group_id=group.group_id,
            at_ms=self._context.wall_ms,
            epoch=self.group_epoch,
            metadata_hash=found_hash,
            cause=cause,
            member_id=self._member_id if is_by_member else "",
            topics_version=version,
        )
        self.events.append(bumped)

    def _update_target(self) -> None:
        """Compute the target of the group epoch, unless the last one is too recent."""
        group, context = self._group, self._context
        if group.target_epoch >= self.group_epoch or group.computing is not None:
            return
        if not is_due(group.target_computed_ms, self._assignment_interval_ms, context.wall_ms):
            return
        subscriptions = {member_id: member.metadata.topics for member_id, member in group.members.items()}
        subscriptions[self._member_id] = self.metadata.topics
        asked = ShareTargetInput(
            subscriptions, group.targets, group.states.initialized, self._named.is_one_subscription
        )
        if is_large(asked):
            self._compute_later(asked)
            return
        computed = ShareTargetComputed(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            epoch=self.group_epoch,
            assignor=simple.NAME,
            targets=result_of(share_target_steps(asked, self._topics)),
            member_id=self._member_id,
        )
        self.events.append(computed)
        self._target_epoch = self.group_epoch
        self._target = computed.targets.get(self._member_id, self._target)

    def _compute_later(self, asked: ShareTargetInput) -> None:
        """What the group has meanwhile is changed by others, so the computation gets a copy."""
        started = ShareTargetStarted(
            group_id=self._group.group_id,
            at_ms=self._context.wall_ms,
            epoch=self.group_epoch,
            member_id=self._member_id,
            asked=msgspec.structs.replace(asked, targets=dict(asked.targets)),
        )
        self.events.append(started)
        self._work = (StartWork(COMPUTE_SHARE_TARGET, started, self._context.client_host),)

    def _assign(self) -> ShareAssignment:
        """The member gets to its target at once: partitions are shared, so it waits for nobody."""
        had, epoch = self.had, self._target_epoch
        if had.epoch == epoch and self.is_member and not self._names_changed:
            return had
        subscribed = frozenset(map(self._topics.topic_id, self._topics.existing(self.metadata.topics)))
        partitions = {topic_id: indexes for topic_id, indexes in self._target.items() if topic_id in subscribed}
        previous = had.previous_epoch if had.epoch == epoch else had.epoch
        current = ShareAssignment(epoch, previous, partitions)
        if current != had:
            assigned = ShareMemberAssigned(
                group_id=self._group.group_id, at_ms=self._context.wall_ms, member_id=self._member_id, current=current
            )
            self.events.append(assigned)
        return current

    def _initialize(self) -> None:
        """Have the states of subscribed partitions initialized that have none."""
        group, context = self._group, self._context
        if context.environment.share_states is None:
            return
        is_changed = self._names_changed or not self.is_member
        missing = uninitialized(group, self._named, self._topics) if is_changed else None
        if missing is None:
            missing = uninitialized_now(group, self._topics)
        self._has_missing = bool(missing)
        topics = missing and not_begun(
            group, missing, context.config[GROUP_SHARE_INITIALIZE_RETRY_INTERVAL_MS], context.now_ms
        )
        if not topics:
            return
        states = group.states.begin(topics)
        initializing = SharePartitionsInitializing(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            states=states,
            topics=topics,
            state_epoch=self.group_epoch,
            since_ms=context.now_ms,
            is_repeated=states == group.states,
        )
        self.events.append(initializing)
        request = InitializationRequest(group.group_id, topics, self.group_epoch)
        self._work = (*self._work, StartWork(INITIALIZE_STATES, request, context.client_host))


def _updated(before: ShareMemberMetadata, request: Any, context: OperationContext) -> ShareMemberMetadata:
    """What the request says of the member; null is unchanged."""
    names = request.subscribed_topic_names
    if (
        names is None
        and (request.rack_id is None or request.rack_id == before.rack_id)
        and before.client_id == context.client_id
        and before.client_host == context.client_host
    ):
        return before
    return ShareMemberMetadata(
        client_id=context.client_id,
        client_host=context.client_host,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        topics=before.topics if names is None else sorted_names(names),
    )
