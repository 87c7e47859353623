"""Why a rebalance was necessary: each cause as a clause, and what can be known of a member that left."""

from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.audit.schema import MemberRef, Trigger
from coordinator.core.causes import Cause
from coordinator.explain.clients import Library, library_of, never_says_why, sends_poll_interval
from coordinator.explain.generation import Generation, Removal, Replacement, Resubscription
from coordinator.explain.words import Names, counted, duration, host_of, listed, plain, quoted, requester

# What Kafka's own consumer says when it leaves (KIP-800; AbstractCoordinator.maybeLeaveGroup).
POLL_TIMEOUT: Final = "consumer poll timeout has expired"
CLOSED: Final = "the consumer is being closed"
UNSUBSCRIBED: Final = "the consumer unsubscribed from all topics"
MEMBER_ID_REQUIRED: Final = "need to re-join with the given member-id"
"""What Java's consumer says with every first join (KIP-394): no reason of its own."""
REMOVED_BY_ADMIN: Final = "member was removed by an admin"
TOPICS_NAMED: Final = 3


class Leaving(msgspec.Struct, frozen=True, gc=False):
    """Which way of leaving the events show."""

    removal: Removal

    @property
    def by_administrator(self) -> bool:
        return self.removal.requested_by is not None or self._says(REMOVED_BY_ADMIN)

    @property
    def by_poll_timeout(self) -> bool:
        return self._says(POLL_TIMEOUT)

    @property
    def is_closed(self) -> bool:
        return self._says(CLOSED) or self._says(UNSUBSCRIBED)

    @property
    def is_unknown(self) -> bool:
        return not self.removal.reason and self.removal.requested_by is None

    @property
    def idle_ms(self) -> int | None:
        """The time since its last JoinGroup or OffsetCommit; None if neither is known."""
        known = [at for at in (self.removal.last_joined_ms, self.removal.last_committed_ms) if at is not None]
        return max(0, self.removal.at_ms - max(known)) if known else None

    def _says(self, text: str) -> bool:
        return self.removal.reason.lower().startswith(text.lower())


class Context(msgspec.Struct, frozen=True, gc=False):
    """What a clause may need beside its trigger."""

    generation: Generation
    names: Names
    previous: Generation | None

    def removal_of(self, trigger: Trigger) -> Removal:
        for each in self.generation.changes.removed:
            if trigger.member is not None and each.member.member_id == trigger.member.member_id:
                return each
        return Removal(trigger.member or MemberRef(""), trigger.cause, trigger.reason, trigger.at_ms)

    def resubscription_of(self, trigger: Trigger) -> Resubscription | None:
        for each in self.generation.changes.resubscribed:
            if trigger.member is not None and each.member.member_id == trigger.member.member_id:
                return each
        return None

    def replacement_of(self, trigger: Trigger) -> Replacement | None:
        for each in self.generation.changes.replaced:
            if trigger.member is not None and each.member.member_id == trigger.member.member_id:
                return each
        return None


def clause(trigger: Trigger, context: Context) -> str:
    """The cause as a clause after "because": `billing-3 (10.0.4.7) was silent for 10.2 s, …`."""
    make = _CLAUSES.get(trigger.cause)
    return make(trigger, context) if make else f"of {trigger.cause.value}"


def _said(trigger: Trigger) -> str:
    return f", saying {quoted(trigger.reason)}" if trigger.reason else ""


def _who(trigger: Trigger, context: Context) -> str:
    return "a member" if trigger.member is None else context.names.full(trigger.member)


def _new_member(trigger: Trigger, context: Context) -> str:
    is_usual = trigger.reason.startswith(MEMBER_ID_REQUIRED)
    return f"{_who(trigger, context)} joined{'' if is_usual else _said(trigger)}"


def _metadata_changed(trigger: Trigger, context: Context) -> str:
    who, found = _who(trigger, context), context.resubscription_of(trigger)
    if found is None:
        return f"{who} rejoined with another subscription or other assignors{_said(trigger)}"
    changes = [
        f"{verb} {topics_named(topics)}"
        for verb, topics in (("subscribed to", found.came), ("unsubscribed from", found.went))
        if topics
    ]
    if changes:
        return f"{who} {' and '.join(changes)}{_said(trigger)}"
    if context.generation.is_epoch:
        return f"{who} subscribed to another regular expression"
    if found.is_first_since_load:
        return (
            f"{who} rejoined with the same topics{_said(trigger)}; whether anything else changed is not known, because"
            " the coordinator had restarted and stores one assignor of each member only"
        )
    return f"{who} rejoined with other assignors or other data for them{_said(trigger)}"


def _leader_rejoined(trigger: Trigger, context: Context) -> str:
    changes = topic_changes(context.generation)
    if changes:
        return f"{changes}, and the leader, {_who(trigger, context)}, asked for a new assignment{_said(trigger)}"
    unknown = "" if trigger.reason else ", with an unchanged subscription and without a reason"
    if not trigger.reason and context.previous is not None and context.previous.partitions == 0:
        unknown = ", after its last one had no partitions"
    return f"the leader, {_who(trigger, context)}, rejoined to ask for a new assignment{_said(trigger)}{unknown}"


def _member_rejoined(trigger: Trigger, context: Context) -> str:
    why = ""
    if "cooperative" in (
        context.generation.protocol_name or (context.previous.protocol_name if context.previous else "")
    ):
        why = ": the second rebalance of the cooperative protocol, which assigns what the first one revoked"
    return f"{_who(trigger, context)} rejoined with the same subscription{_said(trigger)}{why}"


def _member_left(trigger: Trigger, context: Context) -> str:
    leaving = Leaving(context.removal_of(trigger))
    who = _who(trigger, context)
    removal = leaving.removal
    if leaving.by_administrator:
        by = f", {requester(removal.requested_by)}," if removal.requested_by else ""
        return f"an administrator{by} removed {who}{_said(trigger)}"
    if leaving.by_poll_timeout:
        limit = f" ({duration(removal.rebalance_timeout_ms)})" if removal.rebalance_timeout_ms else ""
        return f"{who} left by itself: its application did not call poll() within max.poll.interval.ms{limit}"
    if removal.reason.lower().startswith(UNSUBSCRIBED):
        return f"{who} unsubscribed from all topics and left"
    if leaving.is_closed:
        return f"{who} was closed and left"
    unsaid = "" if context.generation.is_epoch else " without giving a reason"  # KIP-848 has no reasons
    return f"{who} left{_said(trigger) or unsaid}"


def _session_expired(trigger: Trigger, context: Context) -> str:
    removal = context.removal_of(trigger)
    who = _who(trigger, context)
    timeout = duration(removal.session_timeout_ms) if removal.session_timeout_ms else ""
    if removal.gave_up:
        paused = duration(removal.connection_closed_in_pause_ms or 0)
        return f"the coordinator itself stood still for {paused}, and found the connection of {who} closed after that"
    if removal.is_unheard:
        return (
            f"the coordinator itself stood still for {duration(removal.coordinator_paused_ms or 0)}, and did not hear"
            f" {who} within its session timeout, {timeout}"
        )
    if removal.silent_ms is None:
        known = f", {timeout}" if timeout else ""
        return f"nothing was heard of {who} for its session timeout{known}"
    if not timeout:
        return f"{who} was silent for {duration(removal.silent_ms)}, longer than its session timeout"
    if duration(removal.silent_ms) == timeout:
        return f"{who} was silent for {timeout}, its session timeout"
    return f"{who} was silent for {duration(removal.silent_ms)}, and its session timeout is {timeout}"


def several_unheard(removals: list[Removal], names: Names) -> str:
    """As `_session_expired`, of several members together whose sessions ended because the coordinator stood still."""
    whose = names.listed([each.member for each in removals])
    paused_ms = max(max(each.connection_closed_in_pause_ms or 0, each.coordinator_paused_ms or 0) for each in removals)
    text = f"the coordinator itself stood still for {duration(paused_ms)}, and"
    if all(each.gave_up for each in removals):
        return f"{text} found the connections of {whose} closed after that"
    return f"{text} did not hear {whose} within their session timeouts"


def _late(what: str) -> Callable[[Trigger, Context], str]:
    def late(trigger: Trigger, context: Context) -> str:
        removal = context.removal_of(trigger)
        did_not = "give up its partitions" if removal.was_revoking else what
        limit = f", {duration(removal.rebalance_timeout_ms)}" if removal.rebalance_timeout_ms else ""
        if removal.has_no_time:
            limit = f", for which its client asks for {removal.rebalance_timeout_ms} ms: nobody can be in time"
        return f"{_who(trigger, context)} did not {did_not} within the rebalance timeout{limit}"

    return late


def _static_replaced(trigger: Trigger, context: Context) -> str:
    found = context.replacement_of(trigger)
    text = f"the static member {_who(trigger, context)} was restarted{_said(trigger)}"
    if found is None:
        return text
    differences = [
        f"{what} {plain(now)} instead of {plain(before)}"
        for what, now, before in (
            ("client id", found.member.client_id, found.old_client_id),
            ("host", host_of(found.member.client_host), host_of(found.old_client_host)),
        )
        if now and before and now != before
    ]
    if (
        found.subscribed_topics
        and found.old_subscribed_topics
        and found.subscribed_topics != found.old_subscribed_topics
    ):
        now, before = topics_named(found.subscribed_topics), topics_named(found.old_subscribed_topics)
        differences.append(f"a subscription to {now} instead of {before}")
    return f"{text} with {listed(differences)}" if differences else text


def topics_named(names: tuple[str, ...]) -> str:
    """The first of these topics, and how many more there are."""
    return listed([plain(each) for each in names[:TOPICS_NAMED]], more=max(0, len(names) - TOPICS_NAMED))


def _assignment_too_large(trigger: Trigger, context: Context) -> str:
    return f"the assignment that the leader, {_who(trigger, context)}, sent is larger than message.max.bytes allows"


def _topics_changed(trigger: Trigger, context: Context) -> str:
    return topic_changes(context.generation) or "the topics that it subscribes to changed"


def _fixed(text: str) -> Callable[[Trigger, Context], str]:
    return lambda trigger, context: text


_CLAUSES: Final[dict[Cause, Callable[[Trigger, Context], str]]] = {
    Cause.NEW_MEMBER: _new_member,
    Cause.METADATA_CHANGED: _metadata_changed,
    Cause.TOPICS_CHANGED: _topics_changed,
    Cause.LEADER_REJOINED: _leader_rejoined,
    Cause.MEMBER_REJOINED: _member_rejoined,
    Cause.MEMBER_LEFT: _member_left,
    Cause.SESSION_EXPIRED: _session_expired,
    Cause.REBALANCE_TIMEOUT: _late("rejoin"),
    Cause.SYNC_TIMEOUT: _late("send SyncGroup"),
    Cause.STATIC_REPLACED: _static_replaced,
    Cause.GROUP_MAX_SIZE_REACHED: lambda trigger, context: (
        f"{_who(trigger, context)} had to go: group.max.size was reached before it rejoined"
    ),
    Cause.TOO_MANY_PENDING_MEMBERS: _fixed("clients of one address asked for more member ids than they joined with"),
    Cause.GROUP_TOO_LARGE: _fixed("the loaded group has more members than group.max.size allows"),
    Cause.ASSIGNMENT_TOO_LARGE: _assignment_too_large,
    Cause.OFFSETS_EXPIRED: _fixed("its last committed offset expired"),
    Cause.NO_OFFSETS: _fixed("it had neither members nor committed offsets"),
    Cause.STORE_FAILED: _fixed("the coordinator could not write to its disk and loaded the group again"),
    Cause.NOT_STORED: _fixed("the coordinator crashed before the group was stored"),
    Cause.INVARIANT_VIOLATED: _fixed("of a defect of the coordinator, which loaded the group again"),
    Cause.ADMIN: _fixed("an administrator asked for it"),
    Cause.FAULT: lambda trigger, context: (
        f"a test injected a fault{f' at {_who(trigger, context)}' if trigger.member else ''}{_said(trigger)}"
    ),
    Cause.TOPIC_DELETED: _fixed("a topic was deleted"),
    Cause.GROUP_REMOVED: _fixed("the group was removed"),
}


def topic_changes(generation: Generation) -> str:
    """`topic orders grew from 4 to 6 partitions`; empty if no topic changed or if it is not known."""
    parts = []
    for topic, (before, now) in sorted(generation.topic_changes.items())[:TOPICS_NAMED]:
        name = plain(topic)
        if topic in generation.recreated_topics:
            differs = f" instead of {before:,}" if now != before else ""
            parts.append(f"topic {name} was deleted and created again with {counted(now, 'partition')}{differs}")
        elif not before:
            parts.append(f"topic {name} appeared with {counted(now, 'partition')}")
        elif not now:
            parts.append(f"topic {name} vanished, which had {counted(before, 'partition')}")
        else:
            parts.append(f"topic {name} {'grew' if now > before else 'shrank'} from {before:,} to {now:,} partitions")
    more = max(0, len(generation.topic_changes) - TOPICS_NAMED)
    return listed(parts + ([counted(more, "other topic") + " changed"] if more else []))


def unknown_leave(leaving: Leaving, names: Names) -> str:
    """What can and what cannot be known of a member that left without a reason."""
    removal = leaving.removal
    who = names.of(removal.member)
    limit_ms, idle_ms = removal.rebalance_timeout_ms, leaving.idle_ms
    if not sends_poll_interval(removal.member):
        limit_ms = None
    limit = f" ({duration(limit_ms)})" if limit_ms else ""
    unknown = (
        f"{who} gave no reason ({_usual_reason(removal)}), so the protocol does not tell whether it was closed"
        f" or its application exceeded max.poll.interval.ms{limit}."
    )
    if idle_ms is None:
        return f"{unknown} When it last joined or committed is unknown too."
    did = "committed offsets" if removal.last_committed_ms == removal.at_ms - idle_ms else "joined"
    last = f"It last {did} {duration(idle_ms)} before"
    if limit_ms is None:
        return f"{unknown} {last}."
    if idle_ms < limit_ms:
        return f"{unknown} {last}, which is less: most likely it was closed."
    return f"{unknown} {last}, which is more: an exceeded max.poll.interval.ms would fit."


def _usual_reason(removal: Removal) -> str:
    """Whether clients of this software give reasons when they leave (KIP-800)."""
    member = removal.member
    software = member.client_software_name
    if not software and removal.was_loaded:
        return "what its client is is not known, as the coordinator had restarted since it joined"
    if library_of(member) is Library.JAVA:
        return "Java consumers give one since 3.2"
    if never_says_why(member):
        return f"{plain(software)} gives none"
    if software:
        return f"whether {plain(software)} gives reasons is unknown"
    return "this client does not say what it is"


def unknown_leaves(members: list[MemberRef], names: Names) -> str:
    """As `unknown_leave`, of several members together."""
    return (
        f"{names.listed(members)} gave no reason, so the protocol does not tell whether they were closed or their"
        " applications exceeded max.poll.interval.ms."
    )
