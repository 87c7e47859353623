"""The steps of a heartbeat of one member: who it is, what it asks for, the group epoch, the target, its next assignment.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat`, from `hasMemberSubscriptionChanged` on.
"""

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS
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
from coordinator.core.consumer.group import ConsumerGroup, change_count, preferred_assignor
from coordinator.core.consumer.heartbeat_requests import (
    UNCHANGED_TIMEOUT,
    Rejection,
    assignment_of,
    has_assignment_changed,
    is_full_request,
)
from coordinator.core.consumer.identification import REJOIN, Identified
from coordinator.core.consumer.member import (
    NO_EPOCH,
    NO_PATTERN,
    UNASSIGNED,
    CurrentAssignment,
    MemberMetadata,
    MemberState,
)
from coordinator.core.consumer.patterns import invalid_reason, patterns_to_resolve
from coordinator.core.consumer.reconciliation import Reconciliation, reconcile
from coordinator.core.consumer.subscription import (
    Subscriptions,
    changed_subscriptions,
    current_subscriptions,
    subscribed_ids,
)
from coordinator.core.consumer.target import TargetInput, compute_target, is_due
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.event import Event
from coordinator.core.sessions import (
    HeartbeatsOpened,
    SessionChange,
    SessionEnded,
    SessionRenewed,
    SessionStarted,
)


class MemberHeartbeat:
    """One heartbeat, from its member to the decision. It collects events and changes nothing."""

    def __init__(
        self,
        group: ConsumerGroup,
        request: ConsumerGroupHeartbeatRequest,
        context: OperationContext,
        member_id: str,
        identified: Identified,
    ) -> None:
        self._group = group
        self._request = request
        self._context = context
        self._member_id = member_id
        self._is_new = identified.member is None
        self._replaced = identified.replaced
        known = identified.member or identified.replaced
        displaced = None if identified.replaced is None else group.members.get(member_id)
        self._displaced = None if displaced is identified.replaced else displaced
        """The member that had the member id, and gives it up to take the place of the one that is replaced."""
        self._before = MemberMetadata("", "") if known is None else known.metadata
        self._had = UNASSIGNED if known is None else known.current
        if self._replaced is not None:
            self._had = self._had._replace(epoch=NO_EPOCH, previous_epoch=NO_EPOCH)
        self._metadata = self._updated_metadata()
        self._events: list[Event] = []
        self._group_epoch = group.epoch
        self._target_epoch = group.target_epoch
        self._target: TopicPartitions = group.target(member_id if known is None else known.member_id)

    def decide(self) -> Decision | Rejection:
        """The decision, or why the heartbeat is rejected: then it changes nothing."""
        rejection = self._check_pattern()
        if rejection is not None:
            return rejection
        self._update_member()
        names_changed = self._metadata.topics != self._before.topics
        pattern_changed = self._metadata.pattern != self._before.pattern
        after = self._subscriptions()
        bump = self._update_pattern(after) or names_changed
        is_homogeneous = self._update_epoch(after, bump)
        self._update_target(is_homogeneous)
        assigned = self._reconcile(names_changed or pattern_changed)
        return assigned if isinstance(assigned, Rejection) else self._answer(assigned)

    # ----------------------------------------------------------------------------------------------------- the member

    def _updated_metadata(self) -> MemberMetadata:
        """What the request says of the member; null is unchanged."""
        request, context, before = self._request, self._context, self._before
        changes: dict[str, object] = {}
        if before.client_id != context.client_id:
            changes["client_id"] = context.client_id
        if before.client_host != context.client_host:
            changes["client_host"] = context.client_host
        if request.instance_id is not None:
            changes["group_instance_id"] = request.instance_id
        if request.rack_id is not None:
            changes["rack_id"] = request.rack_id
        if request.rebalance_timeout_ms != UNCHANGED_TIMEOUT:
            changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
        if request.server_assignor is not None:
            changes["server_assignor"] = request.server_assignor
        if request.subscribed_topic_names is not None:
            changes["topics"] = tuple(sorted(set(request.subscribed_topic_names)))
        if request.subscribed_topic_regex is not None:
            changes["pattern"] = request.subscribed_topic_regex
        if before.classic is not None:
            changes["classic"] = None
        return before._replace(**changes) if changes else before  # type: ignore[arg-type]

    def _update_member(self) -> None:
        group_id, at_ms, context = self._group.group_id, self._context.wall_ms, self._context
        if self._replaced is not None:
            replaced = ConsumerMemberReplaced(
                group_id=group_id,
                at_ms=at_ms,
                old_member_id=self._replaced.member_id,
                member_id=self._member_id,
                session_timeout_ms=self._session_timeout_ms,
                client_software_name=context.client_software_name,
                client_software_version=context.client_software_version,
            )
            self._events.append(replaced)
        elif self._is_new:
            joined = ConsumerMemberJoined(
                group_id=group_id,
                at_ms=at_ms,
                member_id=self._member_id,
                metadata=self._metadata,
                session_timeout_ms=self._session_timeout_ms,
                client_software_name=context.client_software_name,
                client_software_version=context.client_software_version,
            )
            self._events.append(joined)
            return
        if self._metadata != self._before:
            updated = ConsumerMemberUpdated(
                group_id=group_id, at_ms=at_ms, member_id=self._member_id, metadata=self._metadata, before=self._before
            )
            self._events.append(updated)

    @property
    def _session_timeout_ms(self) -> int:
        return self._context.consumer_groups.session_timeout_ms(self._group.group_id)

    # ----------------------------------------------------------------------------------------------- the subscriptions

    @property
    def _joins(self) -> bool:
        """Whether the group has one member more after the request."""
        return self._is_new and self._replaced is None

    def _subscriptions(self) -> Subscriptions:
        """Those of all members after the request."""
        if self._metadata is self._before and not self._joins and self._displaced is None:
            return current_subscriptions(self._group)
        gone = [] if self._joins else [self._before]
        if self._displaced is not None:
            gone.append(self._displaced.metadata)
        return changed_subscriptions(self._group, gone, (self._metadata,))

    def _check_pattern(self) -> Rejection | None:
        pattern = self._metadata.pattern
        if not pattern or pattern == self._before.pattern or pattern in self._group.pattern_subscribers:
            return None
        reason = invalid_reason(pattern)
        if reason is None:
            return None
        return Rejection(ErrorCode.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex is not valid: {reason}.")

    def _update_pattern(self, after: Subscriptions) -> bool:
        """Whether the group epoch rises at once: the topics of the new regular expression, or none, are known."""
        group, old, new = self._group, self._before.pattern, self._metadata.pattern
        if old and old != new and old not in after.by_pattern:
            forgotten = PatternForgotten(
                group_id=group.group_id, at_ms=self._context.wall_ms, pattern=old, was_resolved=old in group.patterns
            )
            self._events.append(forgotten)
        is_required = bool(new) and new != old and new not in group.pattern_subscribers
        to_resolve = patterns_to_resolve(group, after, is_required, self._context)
        if to_resolve:
            started = PatternResolutionStarted(
                group_id=group.group_id, at_ms=self._context.wall_ms, patterns=to_resolve, member_id=self._member_id
            )
            self._events.append(started)
        if (old or NO_PATTERN) == (new or NO_PATTERN):
            return False
        return not new or (new in group.pattern_subscribers and new in group.patterns)

    # ------------------------------------------------------------------------------------------- group epoch and target

    def _update_epoch(self, after: Subscriptions, bump: bool) -> bool:
        """Raise the group epoch if it has to rise; returns whether the members subscribe to the same by now."""
        group, topics = self._group, self._context.topics
        version = topics.topics_version
        if not bump and group.checked_version == version:
            return current_subscriptions(group).is_homogeneous
        found_hash = after.hash_of_topics(topics)
        if bump or found_hash != group.metadata_hash:
            self._group_epoch += 1
            bumped = GroupEpochBumped(
                group_id=group.group_id,
                at_ms=self._context.wall_ms,
                epoch=self._group_epoch,
                metadata_hash=found_hash,
                cause=self._cause if bump else Cause.METADATA_CHANGED,
                member_id=self._member_id if bump else "",
                topics_version=version,
            )
            self._events.append(bumped)
        else:
            checked = TopicsChecked(group_id=group.group_id, at_ms=self._context.wall_ms, topics_version=version)
            self._events.append(checked)
        if group.has_partition_metadata:
            self._events.append(PartitionMetadataRemoved(group_id=group.group_id, at_ms=self._context.wall_ms))
        return after.is_homogeneous

    @property
    def _cause(self) -> Cause:
        if self._replaced is not None:
            return Cause.STATIC_REPLACED
        return Cause.NEW_MEMBER if self._is_new else Cause.METADATA_CHANGED

    def _update_target(self, is_homogeneous: bool) -> None:
        """Compute the target of the group epoch, unless the last one is too recent."""
        group, context = self._group, self._context
        if group.target_epoch >= self._group_epoch:
            return
        interval_ms = context.consumer_groups.assignment_interval_ms(group.group_id)
        if not is_due(group.target_computed_ms, interval_ms, context.wall_ms):
            return
        members = {member_id: member.metadata for member_id, member in group.members.items()}
        targets = group.targets
        if self._replaced is not None:
            members.pop(self._replaced.member_id)
            targets = {**targets, self._member_id: self._target}
        members[self._member_id] = self._metadata
        patterns = group.patterns
        forgotten = {each.pattern for each in self._events if isinstance(each, PatternForgotten)}
        if forgotten:
            patterns = {pattern: each for pattern, each in patterns.items() if pattern not in forgotten}
        asked = TargetInput(self._assignor(), members, targets, patterns, is_homogeneous)
        computed = TargetAssignmentComputed(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            epoch=self._group_epoch,
            assignor=asked.assignor,
            targets=compute_target(asked, context.topics),
            member_id=self._member_id,
        )
        self._events.append(computed)
        self._target_epoch = self._group_epoch
        self._target = computed.targets.get(self._member_id, self._target)

    def _assignor(self) -> str:
        """The assignor that most members ask for; the first of the setting if none does."""
        votes = dict(self._group.assignor_votes)
        for metadata, by in ((self._before, -1), (self._metadata, +1)):
            if metadata.server_assignor is not None:
                change_count(votes, metadata.server_assignor, by)
        return preferred_assignor(votes) or self._context.config[GROUP_CONSUMER_ASSIGNORS][0]

    # ---------------------------------------------------------------------------------------------------- the assignment

    def _reconcile(self, has_subscription_changed: bool) -> CurrentAssignment | Rejection:
        """The next step of the member towards its target."""
        group, had = self._group, self._had
        is_there = had.state is MemberState.STABLE and had.epoch == self._target_epoch
        if is_there and not has_subscription_changed:
            return had
        asked = Reconciliation(
            self._target_epoch,
            self._target,
            subscribed_ids(self._metadata, group.patterns, self._context.topics),
            lambda topic_id, partition: group.owner(topic_id, partition) is None,
            self._request.topic_partitions,
            has_subscription_changed,
        )
        current = reconcile(had, asked)
        if current is None:
            return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, f"The state of the member is unknown. {REJOIN}")
        if current != had:
            self._events.append(self._assigned(current))
        return current

    def _assigned(self, current: CurrentAssignment) -> ConsumerMemberAssigned:
        deadline_ms = None
        if current.state is MemberState.UNREVOKED_PARTITIONS:
            deadline_ms = self._context.now_ms + max(self._metadata.rebalance_timeout_ms, 0)
        return ConsumerMemberAssigned(
            group_id=self._group.group_id,
            at_ms=self._context.wall_ms,
            member_id=self._member_id,
            current=current,
            revocation_deadline_ms=deadline_ms,
        )

    # -------------------------------------------------------------------------------------------------------- the answer

    def _answer(self, current: CurrentAssignment) -> Decision:
        request, context = self._request, self._context
        response = ConsumerGroupHeartbeatResponse(
            member_id=self._member_id,
            member_epoch=current.epoch,
            heartbeat_interval_ms=context.consumer_groups.heartbeat_interval_ms(self._group.group_id),
        )
        if (
            request.member_epoch == NO_EPOCH
            or is_full_request(request)
            or has_assignment_changed(self._had.assigned, current.assigned)
        ):
            response.assignment = assignment_of(current.assigned)
        assert context.request_id is not None
        events = tuple(self._events)
        sessions = self._sessions()
        if self._is_settled(current):
            sessions = (*sessions, self._heartbeats_opened(response))
        return Decision(events, (Reply(context.request_id, response),), sessions, no_step_follows=not events)

    def _is_settled(self, current: CurrentAssignment) -> bool:
        """Whether only events, topics and settings can change what the member is answered, and time cannot."""
        group = self._group
        return (
            not self._events
            and current.state is MemberState.STABLE
            and current.epoch == group.target_epoch == group.epoch
            and not group.pattern_subscribers
        )

    def _heartbeats_opened(self, response: ConsumerGroupHeartbeatResponse) -> HeartbeatsOpened:
        return HeartbeatsOpened(
            self._member_id,
            response.member_epoch,
            response.heartbeat_interval_ms,
            self._context.client_id,
            self._context.client_host,
        )

    def _sessions(self) -> tuple[SessionChange, ...]:
        timeout_ms = self._session_timeout_ms
        if not self._is_new:
            return (SessionRenewed(self._member_id, timeout_ms),)
        started = SessionStarted(self._member_id, self._metadata.group_instance_id, timeout_ms, timeout_ms)
        if self._replaced is None or self._replaced.member_id == self._member_id:
            return (started,)
        return (SessionEnded(self._replaced.member_id), started)
