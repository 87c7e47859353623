"""Claims about why a rebalance began, and who came and went in it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from coordinator.audit.schema import (
    MemberRef,
    RequestRejected,
    Trigger,
)
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.changes import Removal
from coordinator.explain.claims.causes import (
    AssignmentTooLarge,
    AssignorChanged,
    Caused,
    Change,
    DidNotComeBack,
    Evicted,
    FaultInjected,
    Joined,
    Late,
    LeaderAsked,
    Left,
    Missing,
    PatternTopics,
    Rejoined,
    RemovedByAdministrator,
    Restarted,
    Resubscribed,
    TopicChanged,
    TopicsFound,
    Undecided,
    Untold,
    Way,
)
from coordinator.explain.claims.claim import Claim, derived, seen, unknown
from coordinator.explain.claims.silences import Muted, Refused, Silent, Unheard
from coordinator.explain.clients import Library, library_of
from coordinator.explain.generation import Generation
from coordinator.explain.leaving import MEMBER_ID_REQUIRED, OTHER_REJOINS, Leaving
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.unsaid import left_unsaid

GIVES_UP_MS: Final = 10_000
"""So soon a member of a cooperative assignor has given up what it lost, and joins again: in its next poll()."""
CONSUMERS: Final = "consumer"
"""The protocol type of consumers, whose protocols are assignors."""


def first_trigger(generation: Generation) -> Trigger | None:
    if generation.cause is not None:
        return Trigger(generation.cause, generation.member, generation.reason, generation.rebalance_started_ms or 0)
    return generation.triggers[0] if generation.triggers else None


def cause_claims(context: Context) -> Iterator[Claim]:
    """Why it began: one claim, or those about the topics that changed and then the leader that asked for them."""
    trigger = first_trigger(context.generation)
    if trigger is None:
        yield Untold(evidence=unknown(context.generation.first_seq))
        return
    if trigger.cause in _TOPICS_CHANGED:
        yield from topic_changes(context.generation)
        if trigger.cause is Cause.TOPICS_CHANGED and context.generation.topic_changes:
            return
    yield _claim_of(trigger, context)


def other_causes(context: Context) -> Iterator[Claim]:
    """All that made the rebalance necessary or changed its members, except its first cause; like ones together."""
    first = first_trigger(context.generation)
    by_kind: dict[object, list[Claim]] = {}
    for trigger in _all_triggers(context.generation):
        if first is not None and (trigger.cause, _id_of(trigger)) == (first.cause, _id_of(first)):
            continue
        claim = _claim_of(trigger, context)
        by_kind.setdefault(_kind_of(claim), []).append(claim)
    for claims in by_kind.values():
        yield from claims
    if context.generation.unnamed_triggers:
        yield Untold(count=context.generation.unnamed_triggers, evidence=unknown(context.generation.first_seq))
    if first is None or first.cause not in _TOPICS_CHANGED:
        yield from topic_changes(context.generation)
    yield from _another_assignor(context)
    yield from left_unsaid(context.generation.changes.removed, context.history)


def _kind_of(claim: Claim) -> tuple[object, ...]:
    """What claims have in common that are told together."""
    return type(claim), *(getattr(claim, name, None) for name in ("way", "missing", "change"))


_TOPICS_CHANGED: Final = frozenset({Cause.LEADER_REJOINED, Cause.TOPICS_CHANGED})
"""Causes that changed topics explain, so both are told together."""


def topic_changes(generation: Generation) -> Iterator[TopicChanged]:
    for topic, (before, now) in sorted(generation.topic_changes.items()):
        is_again = topic in generation.recreated_topics
        yield TopicChanged(
            topic=topic,
            partitions_before=before,
            partitions_now=now,
            is_created_again=is_again,
            evidence=seen(generation.first_seq),
        )


def _id_of(trigger: Trigger) -> str | None:
    return trigger.member.member_id if trigger.member else None


def _all_triggers(generation: Generation) -> list[Trigger]:
    """The recorded triggers, and the changes of the members that are not among them, in order."""
    found = {(recorded.cause, _id_of(recorded)): recorded for recorded in generation.triggers}
    changes = generation.changes
    for removed in changes.removed:
        trigger = Trigger(removed.cause, removed.member, removed.reason, removed.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    for joined in changes.joined:
        if generation.is_epoch and joined.at_ms < (generation.rebalance_started_ms or 0):
            continue  # who raised no epoch is a member since before
        trigger = Trigger(Cause.NEW_MEMBER, joined.member, joined.reason, joined.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    for replaced in changes.replaced:
        trigger = Trigger(replaced.cause, replaced.member, replaced.reason, replaced.at_ms)
        found.setdefault((trigger.cause, _id_of(trigger)), trigger)
    return sorted(found.values(), key=lambda said: said.at_ms)


def _claim_of(trigger: Trigger, context: Context) -> Claim:
    found = context.found_at(trigger.at_ms) if trigger.cause is Cause.TOPICS_CHANGED else None
    if found is not None:
        topics = tuple(PatternTopics(pattern, tuple(topics)) for pattern, topics in found.patterns.items())
        return TopicsFound(found=topics, evidence=seen(found.seq))
    make = _CLAIMS.get(trigger.cause)
    if make is None or (trigger.member is None and trigger.cause in _ABOUT_A_MEMBER):
        return Caused(cause=trigger.cause, evidence=seen(context.generation.first_seq))
    return make(trigger, context)


def _member(trigger: Trigger) -> MemberRef:
    assert trigger.member is not None
    return trigger.member


def _joined(trigger: Trigger, context: Context) -> Claim:
    said = "" if trigger.reason.startswith(MEMBER_ID_REQUIRED) else trigger.reason
    return Joined(member=_member(trigger), said=said, evidence=seen(context.event_of(trigger)))


def _resubscribed(trigger: Trigger, context: Context) -> Claim:
    found = context.resubscription_of(trigger)
    member, said, event = _member(trigger), trigger.reason, context.event_of(trigger)
    protocol = context.generation.protocol
    if found is None:
        change = Change.PROCESS if protocol.same_topics is Change.PROCESS else Change.UNKNOWN
        return Resubscribed(member=member, change=change, said=said, evidence=unknown(event))
    if found.came or found.went:
        return Resubscribed(
            member=member,
            change=Change.TOPICS,
            subscribed=found.came,
            unsubscribed=found.went,
            said=said,
            evidence=seen(event),
        )
    if found.is_first_since_load and protocol.has_client_assignors:
        return Resubscribed(member=member, change=Change.NONE_KNOWN, said=said, evidence=unknown(event))
    return Resubscribed(member=member, change=protocol.same_topics, said=said, evidence=derived(event))


def _leader_asked(trigger: Trigger, context: Context) -> Claim:
    previous = context.previous
    had_none = not trigger.reason and previous is not None and previous.partitions == 0
    return LeaderAsked(
        member=_member(trigger),
        said=trigger.reason,
        had_no_partitions=had_none,
        is_seen_whole=not context.history.is_observed,
        evidence=seen(context.generation.first_seq),
    )


def _rejoined(trigger: Trigger, context: Context) -> Claim:
    previous, member = context.previous, _member(trigger)
    part = None if previous is None else previous.members.get(member.member_id)
    return Rejoined(
        member=member,
        said=trigger.reason,
        # After a rebalance that was lost with its coordinator members rejoin for that one.
        assigns_revoked=part is not None
        and part.has_lost
        and part.join_ms is not None  # one that was absent then does not know what it lost
        and previous is not None
        and trigger.at_ms - (previous.ended_ms or 0) <= GIVES_UP_MS
        and context.generation.tries == 1
        and _may_assign_revoked(trigger, previous),
        evidence=seen(context.generation.first_seq),
    )


def _may_assign_revoked(trigger: Trigger, previous: Generation | None) -> bool:
    """Whether a member may have rejoined because it gave up partitions (KIP-429). Java says why else it did."""
    is_cooperative = previous is not None and previous.is_cooperative
    says_nothing = not trigger.reason and trigger.member is not None and library_of(trigger.member) is Library.JAVA
    return is_cooperative and not says_nothing and not trigger.reason.startswith(OTHER_REJOINS)


def _left(trigger: Trigger, context: Context) -> Claim:
    removal = context.removal_of(trigger)
    leaving, member, event = Leaving(removal), _member(trigger), seen(context.event_of(trigger))
    if leaving.by_administrator:
        return RemovedByAdministrator(member=member, by=removal.requested_by, said=trigger.reason, evidence=event)
    if leaving.by_poll_timeout:
        limit_ms = removal.rebalance_timeout_ms or None
        return Left(member=member, way=Way.POLL_TIMEOUT, at_ms=trigger.at_ms, limit_ms=limit_ms, evidence=event)
    way = Way.OTHER if trigger.reason else Way.NOT_SAID
    if leaving.is_unsubscribed:
        way = Way.UNSUBSCRIBED
    elif leaving.is_closed:
        way = Way.CLOSED
    is_reason_seen = context.history.reasons_are_seen or removal.is_seen_by_node
    return Left(
        member=member,
        way=way,
        at_ms=trigger.at_ms,
        said=trigger.reason,
        is_reason_seen=is_reason_seen and not removal.gives_no_reason,
        evidence=event,
    )


def _undecided(trigger: Trigger, context: Context) -> Claim:
    cause = InferredCause(trigger.cause)
    return Undecided(cause=cause, member=trigger.member, evidence=unknown(context.event_of(trigger)))


def _silent(trigger: Trigger, context: Context) -> Claim:
    removal = context.removal_of(trigger)
    is_sure = removal.is_surely_silent and not context.may_be_refused(removal)
    return silence_of(removal, context.event_of(trigger), context.rejected_in_silence(removal), is_sure=is_sure)


def silence_of(
    removal: Removal, event: int | None, rejected: RequestRejected | None = None, *, is_sure: bool = True
) -> Silent | Unheard | Refused | Muted | DidNotComeBack:
    """What is claimed of a member whose session ended: what the coordinator did to it comes before its silence.

    `is_sure`: it is known that the coordinator did nothing to it.
    """
    timeout_ms = removal.session_timeout_ms or None
    if removal.left_ms is not None:
        return DidNotComeBack(
            member=removal.member, left_ms=removal.left_ms, timeout_ms=timeout_ms, evidence=derived(event)
        )
    if removal.is_unheard:
        paused_ms = removal.connection_closed_in_pause_ms if removal.gave_up else removal.coordinator_paused_ms
        return Unheard(
            member=removal.member,
            paused_ms=paused_ms or 0,
            timeout_ms=timeout_ms,
            is_closed=removal.connection_open is False,
            found_closed=removal.gave_up,
            evidence=unknown(event) if removal.may_have_ended else seen(event),
        )
    if removal.is_refused and removal.denied is not None:
        denied = removal.denied
        return Refused(
            member=removal.member,
            api=denied.api,
            operation=denied.operation,
            resource_type=denied.resource_type,
            resource_name=denied.resource_name,
            since_ms=denied.since_ms,
            count=denied.count,
            evidence=seen(event),
        )
    if removal.is_muted:
        muted_ms = removal.muted_ms or 0
        return Muted(member=removal.member, muted_ms=muted_ms, timeout_ms=timeout_ms, evidence=seen(event))
    since_ms = None if removal.last_heard_ms is None else min(removal.last_heard_ms, removal.at_ms)
    return Silent(
        member=removal.member,
        until_ms=removal.at_ms,
        since_ms=since_ms,
        timeout_ms=timeout_ms,
        committed_ms=_committed_since(removal),
        rejected=removal.rejected if rejected is None else rejected.error,
        evidence=seen(event) if is_sure else unknown(event),
    )


def _committed_since(removal: Removal) -> int | None:
    """When it committed last, if that was after its last heartbeat: in a consumer group that renews no session."""
    committed_ms, heard_ms = removal.last_committed_ms, removal.last_heard_ms
    if heard_ms is None:
        heard_ms = removal.at_ms - (removal.session_timeout_ms or 0)
    return committed_ms if committed_ms is not None and committed_ms > heard_ms else None


def _was_revoking(removal: Removal, missing: Missing, context: Context) -> bool:
    """Brokers log what a member of another Kafka's consumer group did not do in time."""
    history = context.history
    joins_again = context.generation.protocol.joins_again
    is_logged = history.is_observed and not joins_again and missing is Missing.REJOIN
    return removal.was_revoking or (is_logged and removal.member.member_id not in history.late_to_rejoin)


def _late(missing: Missing) -> Callable[[Trigger, Context], Claim]:
    def late(trigger: Trigger, context: Context) -> Claim:
        removal = context.removal_of(trigger)
        return Late(
            member=_member(trigger),
            missing=Missing.GIVE_UP if _was_revoking(removal, missing, context) else missing,
            limit_ms=removal.rebalance_timeout_ms,
            has_no_time=removal.has_no_time,
            evidence=seen(context.event_of(trigger)),
        )

    return late


def _restarted(trigger: Trigger, context: Context) -> Claim:
    found, member = context.replacement_of(trigger), _member(trigger)
    evidence = seen(context.event_of(trigger))
    if found is None:
        return Restarted(member=member, said=trigger.reason, evidence=evidence)
    return Restarted(
        member=member,
        client_id_before=found.old_client_id,
        host_before=found.old_client_host,
        topics_before=found.old_subscribed_topics,
        topics_now=found.subscribed_topics,
        said=trigger.reason,
        evidence=evidence,
    )


def _evicted(trigger: Trigger, context: Context) -> Claim:
    return Evicted(member=_member(trigger), evidence=seen(context.event_of(trigger)))


def _assignment_too_large(trigger: Trigger, context: Context) -> Claim:
    return AssignmentTooLarge(member=trigger.member, evidence=seen(context.generation.first_seq))


def _fault(trigger: Trigger, context: Context) -> Claim:
    return FaultInjected(member=trigger.member, said=trigger.reason, evidence=seen(context.event_of(trigger)))


_CLAIMS: Final[Mapping[Cause | InferredCause, Callable[[Trigger, Context], Claim]]] = {
    Cause.NEW_MEMBER: _joined,
    Cause.METADATA_CHANGED: _resubscribed,
    Cause.LEADER_REJOINED: _leader_asked,
    Cause.MEMBER_REJOINED: _rejoined,
    Cause.MEMBER_LEFT: _left,
    Cause.SESSION_EXPIRED: _silent,
    Cause.REBALANCE_TIMEOUT: _late(Missing.REJOIN),
    Cause.SYNC_TIMEOUT: _late(Missing.SYNC),
    Cause.STATIC_REPLACED: _restarted,
    Cause.GROUP_MAX_SIZE_REACHED: _evicted,
    Cause.ASSIGNMENT_TOO_LARGE: _assignment_too_large,
    Cause.FAULT: _fault,
    **dict.fromkeys(InferredCause, _undecided),
}
_ABOUT_A_MEMBER: Final = frozenset(_CLAIMS) - {Cause.ASSIGNMENT_TOO_LARGE, Cause.FAULT, *InferredCause}


def _another_assignor(context: Context) -> Iterator[Claim]:
    """In a consumer group, a member that asks for another one raises no epoch: the next epoch uses it."""
    generation, previous = context.generation, context.previous
    before = "" if previous is None or generation.protocol_type != CONSUMERS else previous.protocol_name
    now = generation.protocol_name
    if previous is not None and now and before and now != before:
        yield AssignorChanged(before=before, now=now, evidence=derived(previous.last_seq, generation.last_seq))
