"""The steps of a request of a member: what it asks for, the group epoch, the target, its next assignment.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat`, from `hasMemberSubscriptionChanged` on.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS, GROUP_CONSUMER_MAX_SIZE
from coordinator.core.causes import Cause
from coordinator.core.consumer.events import (
    ConsumerMemberAssigned,
    ConsumerMemberJoined,
    ConsumerMemberReplaced,
    ConsumerMemberUpdated,
    GroupEpochBumped,
    PartitionMetadataRemoved,
    PatternForgotten,
    PatternResolutionStarted,
    TargetAssignmentComputed,
    TopicsChecked,
)
from coordinator.core.consumer.failed_work import is_paused
from coordinator.core.consumer.group import (
    NO_TARGET,
    UNCHECKED,
    ConsumerGroup,
    FoundSubscription,
    ResolvedPattern,
    change_count,
    preferred_assignor,
)
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.identification import JOINS, REJOIN, Displaces, Existing, Identified, Joins, Replaces
from coordinator.core.consumer.large_targets import MEMBERS_PER_OPERATION, is_large, target_work
from coordinator.core.consumer.member import (
    MEMBER_STABLE,
    NO_EPOCH,
    NO_PATTERN,
    UNASSIGNED,
    UNREVOKED_PARTITIONS,
    CurrentAssignment,
    MemberMetadata,
)
from coordinator.core.consumer.named_topics import NAMES_PER_OPERATION
from coordinator.core.consumer.patterns import invalid_reason, patterns_to_resolve
from coordinator.core.consumer.reconciliation import Reconciliation, reconcile
from coordinator.core.consumer.settings import settings_of
from coordinator.core.consumer.silence import last_heard_ms
from coordinator.core.consumer.subscription import (
    Subscriptions,
    changed_subscriptions,
    current_subscriptions,
    subscribed_ids,
)
from coordinator.core.consumer.target import TargetInput, compute_target, is_due
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition, TopicPartitions, not_among
from coordinator.core.consumer.workers import COMPUTE_TARGET, RESOLVE_PATTERNS
from coordinator.core.decision import Effect, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.connection_at_removal import heard_before, last_sign_ms, rejected_as
from coordinator.core.sessions import SessionChange, SessionEnded, SessionRenewed, SessionStarted
from coordinator.deadlines import FAR_FUTURE_MS

NO_METADATA: Final = MemberMetadata("", "")
NO_PATTERNS: Final[Mapping[str, ResolvedPattern]] = {}
OPERATIONS_PER_EVENT: Final = 2
"""To store an event, apply it and report it takes as long as so many operations: 50 µs."""
NAMES_LOOKED_UP_PER_OPERATION: Final = 2_000
"""So many names are looked up among the topics in the time of an operation."""
EVENTS_OF_ONE_MEMBER: Final = frozenset({ConsumerMemberAssigned})
"""Those that change nothing for the other members, as long as they have all that they are to have."""
EVENTS_OF_WAITING_GROUP: Final = EVENTS_OF_ONE_MEMBER | {ConsumerMemberJoined, GroupEpochBumped}
"""Those that change nothing for the other members while they wait for the assignment interval."""
CAUSES: Final[Mapping[type, Cause]] = {
    Existing: Cause.METADATA_CHANGED,
    Joins: Cause.NEW_MEMBER,
    Replaces: Cause.STATIC_REPLACED,
    Displaces: Cause.STATIC_REPLACED,
}
"""Who sends a request → why the group epoch rises with it, unless topics have changed."""


class MemberUpdate:
    """What one request says of its member, from there to the next assignment of the member.

    It collects events and changes nothing.
    """

    def __init__(
        self,
        group: ConsumerGroup,
        context: OperationContext,
        member_id: str,
        identified: Identified,
        update: Callable[[MemberMetadata], MemberMetadata],
        owned: Sequence[Any] | None,
    ) -> None:
        """`update` makes the metadata of the member from those before; `owned` is what it says it owns, None: nothing.

        The partitions are structs with `topic_id` and `partitions`.
        """
        self._group = group
        self._context = context
        self._topics = context.environment.topics
        times = settings_of(context.environment).of(group.group_id)
        timeout_ms, self.heartbeat_interval_ms, self._assignment_interval_ms = times
        self._member_id = member_id
        self._owned = owned
        self._sender = identified
        before, self.had, target_of = NO_METADATA, UNASSIGNED, member_id
        """`had` is the assignment before."""
        if type(identified) is not Joins:
            member = identified.member
            before, self.had, target_of = member.metadata, member.current, member.member_id
            if type(identified) is not Existing:
                self.had = msgspec.structs.replace(self.had, epoch=NO_EPOCH, previous_epoch=NO_EPOCH)
        self._before = before
        self.metadata = update(before)
        names, names_before = self.metadata.topics, before.topics
        self._names_changed = names is not names_before and names != names_before
        if names is not names_before and not self._names_changed:
            # So that nothing compares them again.
            self.metadata = msgspec.structs.replace(self.metadata, topics=names_before)
        classic = self.metadata.classic
        self._session_timeout_ms = timeout_ms if classic is None else classic.session_timeout_ms
        self._has_patterns = bool(self.metadata.pattern or group.pattern_subscribers)
        self.events: list[Event] = []
        self.group_epoch = group.epoch
        self._target_epoch = group.target_epoch
        self._work: tuple[StartWork, ...] = ()
        self._is_target_due = False
        self._target_operations = 0
        """As how many operations the target counts that the request computes."""
        self._target: TopicPartitions = group.targets.get(target_of, NO_TARGET)

    def decide(self, *, keeps_target: bool = False) -> CurrentAssignment | Rejection:
        """The next assignment of the member, or why its request is rejected: then it changes nothing.

        `keeps_target`: no target is computed, and a member is not reconciled with one that is too old.
        """
        if self._says_nothing_new and not keeps_target:
            self._update_target()
            return self._reconcile(has_subscription_changed=False)
        rejection = self._check_pattern()
        if rejection is not None:
            return rejection
        self._update_member()
        if self._joins_as_others and not keeps_target:
            self._raise_epoch(self._group.subscribed_hash, CAUSES[type(self._sender)])
            self._update_target()
            return self._reconcile(has_subscription_changed=True)
        pattern_changed = self.metadata.pattern != self._before.pattern
        after = self._subscriptions()
        bump = self._update_pattern(after) or self._names_changed
        is_homogeneous = self._update_epoch(after, bump)
        if not keeps_target:
            self._update_target(is_homogeneous)
        elif self._target_epoch < self.group_epoch:
            return self.had
        return self._reconcile(self._names_changed or pattern_changed)

    @property
    def is_member(self) -> bool:
        """Whether the request is of a member of the group, under the id that it has."""
        return type(self._sender) is Existing

    @property
    def _says_nothing_new(self) -> bool:
        """Whether the member is the one that the group knows, and what it and all others subscribe to is known."""
        group = self._group
        return (
            self.metadata is self._before
            and type(self._sender) is Existing
            and not group.pattern_subscribers
            and group.checked_version == self._topics.topics_version
        )

    @property
    def _joins_as_others(self) -> bool:
        """Whether the group gets a member more that subscribes to what others do, and the topics of that are known."""
        group = self._group
        return (
            self._sender is JOINS
            and group.checked_version == self._topics.topics_version
            and bool(self.metadata.topics)
            and self.metadata.topics in group.named_topics.subscriptions
            and not self._has_patterns
            and group.kept_homogeneity is None
        )

    @property
    def weight(self) -> int:
        """As how many usual operations the request counts beside the one that it is."""
        names = len(self.metadata.topics)
        if not self.events:
            return names // NAMES_LOOKED_UP_PER_OPERATION
        return len(self.events) * OPERATIONS_PER_EVENT + names // NAMES_PER_OPERATION + self._target_operations

    # ----------------------------------------------------------------------------------------------------- the member

    def _update_member(self) -> None:
        group_id, at_ms, context = self._group.group_id, self._context.wall_ms, self._context
        sender = self._sender
        if type(sender) is Joins:
            joined = ConsumerMemberJoined(
                group_id=group_id,
                at_ms=at_ms,
                member_id=self._member_id,
                metadata=self.metadata,
                session_timeout_ms=self._session_timeout_ms,
                client_details=context.client_details,
                client_connection=context.client_connection,
                fills_group=len(self._group.members) + 1 >= context.config[GROUP_CONSUMER_MAX_SIZE],
                rejected_as=rejected_as(context),
            )
            self.events.append(joined)
            return
        if type(sender) is not Existing:
            replaced = ConsumerMemberReplaced(
                group_id=group_id,
                at_ms=at_ms,
                old_member_id=sender.member.member_id,
                member_id=self._member_id,
                metadata=self._before,
                returned=self.metadata,
                current=self.had,
                target=self._target,
                session_timeout_ms=self._session_timeout_ms,
                client_details=context.client_details,
                client_connection=context.client_connection,
                old_last_heard_ms=last_sign_ms(last_heard_ms(group_id, sender.member, context), sender.member, context),
            )
            self.events.append(replaced)
        if self._names_changed or self.metadata != self._before:
            updated = ConsumerMemberUpdated(
                group_id=group_id, at_ms=at_ms, member_id=self._member_id, metadata=self.metadata, before=self._before
            )
            self.events.append(updated)

    # ----------------------------------------------------------------------------------------------- the subscriptions

    def _subscriptions(self) -> Subscriptions:
        """Those of all members after the request."""
        sender = self._sender
        gone = [] if sender is JOINS else [self._before]
        if type(sender) is Displaces:
            gone.append(sender.displaced.metadata)
        elif self.metadata is self._before and sender is not JOINS:
            return current_subscriptions(self._group)
        return changed_subscriptions(self._group, gone, (self.metadata,))

    def _check_pattern(self) -> Rejection | None:
        pattern = self.metadata.pattern
        if not pattern or pattern == self._before.pattern or pattern in self._group.pattern_subscribers:
            return None
        reason = invalid_reason(pattern)
        if reason is None:
            return None
        return Rejection(ErrorCode.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex is not valid: {reason}.")

    def _update_pattern(self, after: Subscriptions) -> bool:
        """Whether the group epoch rises at once: the topics of the new regular expression, or none, are known."""
        group, old, new = self._group, self._before.pattern, self.metadata.pattern
        if old and old != new and old not in after.by_pattern:
            forgotten = PatternForgotten(
                group_id=group.group_id, at_ms=self._context.wall_ms, pattern=old, was_resolved=old in group.patterns
            )
            self.events.append(forgotten)
        is_required = bool(new) and new != old and new not in group.pattern_subscribers
        to_resolve = patterns_to_resolve(group, after, is_required, self._context)
        if to_resolve:
            started = PatternResolutionStarted(
                group_id=group.group_id,
                at_ms=self._context.wall_ms,
                patterns=to_resolve,
                member_id=self._member_id,
                client_host=self._context.client_host,
                principal=self._context.principal,
            )
            self._start(RESOLVE_PATTERNS, started)
        if (old or NO_PATTERN) == (new or NO_PATTERN):
            return False
        return not new or (new in group.pattern_subscribers and new in group.patterns)

    # ------------------------------------------------------------------------------------------- group epoch and target

    def _update_epoch(self, after: Subscriptions, bump: bool) -> bool:
        """Raise the group epoch if it has to rise; returns whether the members subscribe to the same by now."""
        group, topics = self._group, self._topics
        version = topics.topics_version
        if not bump and group.checked_version == version and self.metadata.pattern == self._before.pattern:
            return group.is_homogeneous
        is_compared = bump or self._have_topics_changed(version)
        found_hash = after.hash_of_topics(topics)
        if bump or (is_compared and found_hash != group.metadata_hash):
            is_its_own = bump or self._changes_alone()
            self._raise_epoch(found_hash, CAUSES[type(self._sender)] if is_its_own else Cause.TOPICS_CHANGED)
        else:
            checked = TopicsChecked(
                group_id=group.group_id,
                at_ms=self._context.wall_ms,
                topics_version=version,
                subscribed_hash=found_hash,
            )
            self.events.append(checked)
        if is_compared and group.has_partition_metadata:
            self.events.append(PartitionMetadataRemoved(group_id=group.group_id, at_ms=self._context.wall_ms))
        return after.is_homogeneous if is_compared else group.is_homogeneous

    def _raise_epoch(self, found_hash: int, cause: Cause) -> None:
        self.group_epoch += 1
        bumped = GroupEpochBumped(
            group_id=self._group.group_id,
            at_ms=self._context.wall_ms,
            epoch=self.group_epoch,
            metadata_hash=found_hash,
            cause=cause,
            member_id="" if cause is Cause.TOPICS_CHANGED else self._member_id,
            topics_version=self._topics.topics_version,
        )
        self.events.append(bumped)

    def _have_topics_changed(self, version: int) -> bool:
        """Whether topics that the group subscribed to before the request were created, deleted, or grew.

        Kafka looks at the hash then, and when the group was loaded. What the request itself changes does not count: a
        regular expression that takes the place of another raises the epoch when its topics are known.
        """
        group = self._group
        if group.checked_version in (version, UNCHECKED):
            return group.checked_version == UNCHECKED
        return current_subscriptions(group).hash_of_topics(self._topics) != group.subscribed_hash

    def _changes_alone(self) -> bool:
        """Whether the first request after a load changes what the group subscribes to, and no topic has changed."""
        group = self._group
        if group.checked_version != UNCHECKED or self.metadata.pattern == self._before.pattern:
            return False
        return current_subscriptions(group).hash_of_topics(self._topics) == group.metadata_hash

    def _update_target(self, is_homogeneous: bool | None = None) -> None:
        """Compute the target of the group epoch, unless the last one is too recent. None: as the group has it."""
        group, context = self._group, self._context
        if group.target_epoch >= self.group_epoch or group.computing is not None:
            return
        if is_paused(group.failed_target, context):
            return
        if not is_due(group.target_computed_ms, self._assignment_interval_ms, context.wall_ms):
            return
        self._is_target_due = True
        members = {member_id: member.metadata for member_id, member in group.members.items()}
        targets = group.targets
        sender = self._sender
        if type(sender) is not Existing and type(sender) is not Joins:
            members.pop(sender.member.member_id)
            targets = {**targets, self._member_id: self._target}
        members[self._member_id] = self.metadata
        patterns = group.patterns
        forgotten = {event.pattern for event in self.events if isinstance(event, PatternForgotten)}
        if forgotten:
            patterns = {pattern: resolution for pattern, resolution in patterns.items() if pattern not in forgotten}
        if is_homogeneous is None:
            is_homogeneous = group.is_homogeneous
        asked = TargetInput(self._assignor(), members, targets, patterns, is_homogeneous)
        work = target_work(len(members), group, self._topics)
        if is_large(work):
            self._compute_later(asked)
            return
        self._target_operations = work // MEMBERS_PER_OPERATION
        computed = TargetAssignmentComputed(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            epoch=self.group_epoch,
            assignor=asked.assignor,
            targets=compute_target(asked, self._topics),
            member_id=self._member_id,
        )
        self.events.append(computed)
        self._target_epoch = self.group_epoch
        self._target = computed.targets.get(self._member_id, self._target)

    def _compute_later(self, asked: TargetInput) -> None:
        """What the group has meanwhile is changed by others, so the computation gets a copy."""
        started = TargetComputationStarted(
            group_id=self._group.group_id,
            at_ms=self._context.wall_ms,
            epoch=self.group_epoch,
            member_id=self._member_id,
            asked=msgspec.structs.replace(asked, targets=dict(asked.targets), patterns=dict(asked.patterns)),
        )
        self._start(COMPUTE_TARGET, started)

    def _start(self, work: str, started: PatternResolutionStarted | TargetComputationStarted) -> None:
        self.events.append(started)
        self._work = (*self._work, StartWork(work, started, self._context.client_host))

    def _assignor(self) -> str:
        """The assignor that most members ask for; the first of the setting if none does."""
        votes = dict(self._group.assignor_votes)
        before, asked = self._before.server_assignor, self.metadata.server_assignor
        if before is not None:
            change_count(votes, before, -1)
        newcomer = asked if asked not in votes else None
        if asked is not None:
            change_count(votes, asked, +1)
        return preferred_assignor(votes, newcomer) or self._context.config[GROUP_CONSUMER_ASSIGNORS][0]

    # --------------------------------------------------------------------------------------------------- the assignment

    def _reconcile(self, has_subscription_changed: bool) -> CurrentAssignment | Rejection:
        """The next step of the member towards its target."""
        group, had, context = self._group, self.had, self._context
        is_there = had.state is MEMBER_STABLE and had.epoch == self._target_epoch
        if is_there and not has_subscription_changed:
            return had
        asked = Reconciliation(
            self._target_epoch,
            self._target,
            self._subscribed_ids(),
            group.owners,
            self._owned,
            has_subscription_changed,
        )
        current = reconcile(had, asked)
        if current is None:
            return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, f"The state of the member is unknown. {REJOIN}")
        if current is not had and current != had:
            deadline_ms = None
            if current.state is UNREVOKED_PARTITIONS and self.metadata.classic is None:
                deadline_ms = context.now_ms + max(self.metadata.rebalance_timeout_ms, 0)
            assigned = ConsumerMemberAssigned(
                group_id=group.group_id,
                at_ms=context.wall_ms,
                member_id=self._member_id,
                current=current,
                revocation_deadline_ms=deadline_ms,
                # That of a new member is in the event of its join.
                client_connection=context.client_connection if type(self._sender) is Existing else None,
                last_heard_ms=self._heard_before(),
                unclaimed=self._unclaimed(),
            )
            self.events.append(assigned)
        return current

    def _heard_before(self) -> int | None:
        """When the member was heard before this request, which may have come late."""
        sender = self._sender
        if type(sender) is not Existing:
            return None
        return heard_before(last_heard_ms(self._group.group_id, sender.member, self._context), self._context)

    def _unclaimed(self) -> EpochsByPartition:
        """What the member was assigned and does not own, as it says. One of the classic protocol has given all up."""
        if self._owned is None or self.metadata.classic is not None or type(self._sender) is not Existing:
            return NO_PARTITIONS
        return not_among(self._owned, self.had.assigned)

    def _subscribed_ids(self) -> frozenset[bytes]:
        """Mostly all members name the same topics, so the group remembers what was found last."""
        metadata, group, topics = self.metadata, self._group, self._topics
        if metadata.pattern:
            return subscribed_ids(metadata, group.patterns, topics)
        version, names = topics.topics_version, metadata.topics
        found = group.found_subscription
        if found is None or found.topics_version != version or found.names != names:
            ids = subscribed_ids(metadata, NO_PATTERNS, topics)
            found = group.found_subscription = FoundSubscription(version, names, ids)
        return found.topic_ids

    def steady_until_ms(self, current: CurrentAssignment) -> int | None:
        """Until when only events, topics and settings can change what the member is answered; None: time can now.

        In the time of deadlines. A member that waits for the assignment interval has to be asked about when that ends.
        """
        group = self._group
        if current.state is not MEMBER_STABLE or current.epoch != self._target_epoch or self._has_patterns:
            return None
        if self._target_epoch == self.group_epoch:
            return FAR_FUTURE_MS
        if group.computing is not None or group.failed_target is not None or self._is_target_due:
            return None  # a large target may be on its way
        context = self._context
        since_ms = context.wall_ms - group.target_computed_ms
        return context.now_ms + self._assignment_interval_ms - since_ms

    @property
    def keeps_heartbeats(self) -> bool:
        """Whether the events change nothing of what other members are answered that are steady.

        The next step of a member changes nothing for those that have all they are to have, and neither does a higher
        group epoch for those that wait for the assignment interval already. A regular expression that comes or goes is
        an event of its own, and while there is one, nobody is steady.
        """
        is_waiting = self._group.epoch > self._group.target_epoch
        allowed = EVENTS_OF_WAITING_GROUP if is_waiting else EVENTS_OF_ONE_MEMBER
        return allowed.issuperset(map(type, self.events))

    def effects(self) -> tuple[Effect, ...]:
        """The sessions that begin, go on or end, and the work that is to be done beside the requests."""
        timeout_ms = self._session_timeout_ms
        sessions: tuple[SessionChange, ...]
        sender = self._sender
        if type(sender) is Existing:
            sessions = (SessionRenewed(self._member_id, timeout_ms),)
        else:
            started = SessionStarted(self._member_id, self.metadata.group_instance_id, timeout_ms, timeout_ms)
            sessions = (started,)
            if type(sender) is not Joins and sender.member.member_id != self._member_id:
                sessions = (SessionEnded(sender.member.member_id), started)
        return (*sessions, *self._work) if self._work else sessions
