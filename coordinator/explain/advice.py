"""What to try against a rebalance, from its cause and its cost."""

from collections.abc import Iterable, Iterator
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain.assignor_advice import EAGER_ASSIGNORS, cooperative, sticky
from coordinator.explain.clients import JOIN_IN_POLL, all_are, sends_poll_interval
from coordinator.explain.facts import identity
from coordinator.explain.generation import Generation, Removal
from coordinator.explain.reasons import Context, Leaving
from coordinator.explain.silences import runs_streams
from coordinator.explain.words import duration

STATIC_MEMBERSHIP: Final = (
    "set group.instance.id (static membership): a restart within the session timeout then causes no rebalance"
)
SLOW_REJOIN_MS: Final = 1_000
"""How much later than all others a member joins until that is worth an advice."""

STOPPED_MS: Final = 500
"""How long partitions have no owner in a rebalance that moves nothing, until that is worth an advice."""

STATIC_FOR_GOOD: Final = (
    "if the static member was shut down for good, remove it by its group.instance.id (removeMembersFromConsumerGroup of"
    " Java's Admin): then its partitions do not wait for its session timeout; if it was not, look at why its process"
    " ended"
)
PROCESS_ENDED: Final = (
    "look at why the process of the silent member ended (its exit code, its log, the memory limit), or what closed its"
    " connection; a longer session.timeout.ms would not help: only its partitions would wait longer"
)


def shorter_poll(members: Iterable[MemberRef]) -> str:
    """How an application comes back to poll() sooner, in the words of its client."""
    setting = " (max.poll.records)" if all_are(members, JOIN_IN_POLL) else ""
    return f"process less between two calls of poll(){setting}"


def _longer_interval(member: MemberRef) -> str:
    return (
        f"{shorter_poll([member])}; a larger max.poll.interval.ms avoids this too, but then each rebalance may wait as"
        " long for it"
    )


def advice_for(context: Context) -> Iterator[str]:
    """One sentence per thing to try, the most useful first; none for a rebalance that was due and cheap."""
    generation = context.generation
    given: set[str] = set()
    for removal in generation.changes.removed:
        advice = _for_removal(removal, context)
        if advice is not None and advice not in given:
            given.add(advice)
            yield advice
    fixed = _BY_CAUSE.get(generation.cause) if generation.cause is not None else None
    if fixed is not None:
        yield fixed
    if _differ_in_topics(generation):
        yield DIFFERENT_TOPICS
    if generation.is_epoch and (asked_late := _asked_late(context)) is not None:
        yield asked_late
    held = generation.held_up()
    if held is not None and held[1] >= SLOW_REJOIN_MS and not generation.late_members:
        yield _joined_late(held[0], context)
    if generation.pending_members and not any(each.is_unheard for each in generation.changes.removed):
        yield "look for a client that asks for a member id and never joins, such as one that is killed at its start"
    yield from _for_moves(context)


def _joined_late(member: MemberRef, context: Context) -> str:
    text = f"{context.names.of(member)} joined late: a member learns of a rebalance with its next heartbeat"
    if not all_are([member], JOIN_IN_POLL):
        return f"{text} (heartbeat.interval.ms)"
    return f"{text} (heartbeat.interval.ms) and joins in its next poll(): {shorter_poll([member])}"


def _asked_late(context: Context) -> str | None:
    """About a member of a consumer group that others waited for before it was even asked."""
    reconciliations = context.generation.reconciliations
    slowest = None if reconciliations is None else reconciliations.slowest()
    if slowest is None or slowest.asked_after_ms < SLOW_REJOIN_MS:
        return None
    return (
        f"{context.names.of(slowest.member)} was asked late: a member learns what to give up in the answer to its next"
        " heartbeat (consumer.heartbeat.interval.ms of the group)"
    )


DIFFERENT_TOPICS: Final = (
    "give all members the same topics, unless they are meant to differ; while a new subscription is rolled out, expect"
    " one such rebalance for each member"
)


def _differ_in_topics(generation: Generation) -> bool:
    """Whether some members of several changed the topics that they subscribe to, and not all of them alike."""
    changes = {(each.came, each.went) for each in generation.changes.resubscribed}
    is_about_topics = any(came or went for came, went in changes)
    several = len(generation.members) > 1
    alike = len(changes) == 1 and len(generation.changes.resubscribed) == len(generation.members)
    return generation.cause is Cause.METADATA_CHANGED and is_about_topics and several and not alike


def _for_removal(removal: Removal, context: Context) -> str | None:
    if removal.is_unheard:
        return "look at why the coordinator stood still (its log tells); members that it did not hear are not to blame"
    if removal.cause is Cause.SESSION_EXPIRED and removal.may_be_closed:
        return STATIC_FOR_GOOD
    if removal.has_no_time:
        return (
            "set the rebalance timeout of that client to a positive time (max.poll.interval.ms, or"
            f" rebalance.timeout.ms): with {removal.rebalance_timeout_ms} ms no member can join and sync in time"
        )
    if removal.is_disconnected:
        is_streams = runs_streams(context.generation, context.previous)
        return f"if it was not shut down on purpose, {PROCESS_ENDED}" if is_streams else PROCESS_ENDED
    match removal.cause:
        case Cause.SESSION_EXPIRED:
            return _for_silence(removal, context)
        case Cause.REBALANCE_TIMEOUT if context.generation.is_epoch:
            poll = shorter_poll([removal.member])
            return f"the member that kept its partitions was busy between two calls of poll(), or stood still: {poll}"
        case Cause.REBALANCE_TIMEOUT:
            if all_are([removal.member], JOIN_IN_POLL):
                poll = shorter_poll([removal.member])
                return f"the member that did not rejoin was busy between two calls of poll(), or stood still: {poll}"
            return "look at what kept the member from rejoining: its application, or a process that stood still"
        case Cause.SYNC_TIMEOUT:
            return (
                "look at why the member stopped between JoinGroup and SyncGroup; if it was the leader, its assignor may"
                " hang"
            )
        case Cause.MEMBER_LEFT:
            return _for_leave(removal, context)
    return None


def _for_silence(removal: Removal, context: Context) -> str:
    """A longer session timeout helps a member that pauses and comes back; for any other it makes the outage longer."""
    if not removal.connection_open:
        return "look at what stopped the silent member (crash, pause, GC, network)"
    timeout_ms = removal.session_timeout_ms
    above = f" above {duration(timeout_ms)}" if timeout_ms else ""
    setting = "consumer.session.timeout.ms of the group" if context.generation.is_epoch else "session.timeout.ms"
    return (
        "look at what stopped the silent member (pause, GC, network); only if it pauses and comes back, raise"
        f" {setting}{above}"
    )


def _for_leave(removal: Removal, context: Context) -> str | None:
    """A member that is closed for good does nothing wrong; one that comes back at once was restarted."""
    leaving, member = Leaving(removal), removal.member
    if leaving.by_administrator:
        return None
    if leaving.by_poll_timeout:
        return _longer_interval(member)
    # A member of a consumer group joins once, so the time since then says nothing.
    idle_ms = None if context.generation.is_epoch else leaving.idle_ms
    limit_ms = removal.rebalance_timeout_ms
    if leaving.is_unknown and sends_poll_interval(member) and idle_ms and limit_ms and idle_ms >= limit_ms:
        return f"if it was not closed on purpose: {_longer_interval(member)}"
    is_back = any(identity(each.member) == identity(member) for each in context.generation.changes.joined)
    return STATIC_MEMBERSHIP if is_back and member.group_instance_id is None else None


_BY_CAUSE: Final[dict[Cause, str]] = {
    Cause.GROUP_MAX_SIZE_REACHED: "run fewer members, or raise group.max.size",
    Cause.TOO_MANY_PENDING_MEMBERS: "find the client that asks for member ids and does not join, or raise "
    "max.pending.members.per.ip",
    Cause.GROUP_TOO_LARGE: "run fewer members, or raise group.max.size",
    Cause.ASSIGNMENT_TOO_LARGE: "raise message.max.bytes, or split the group: fewer members or fewer partitions",
}


def _for_moves(context: Context) -> Iterator[str]:
    """About the assignor, if it moved or stopped more than it had to and that had a price."""
    generation = context.generation
    if generation.is_epoch:
        return  # the server's assignors move partitions one by one
    members = [part.member for part in generation.members.values()]
    name = generation.protocol_name
    if generation.moved_needlessly:
        other = sticky(members, name) if name in EAGER_ASSIGNORS - {"sticky"} else ""
        is_known = f"the assignor {name} moves more than it has to: {other}"
        yield is_known if other else "look at the assignor: it moves more partitions than it has to"
    elif name in EAGER_ASSIGNORS and _stopped_for_nothing(context) and (other := cooperative(members, name)):
        yield f"members stopped although nothing moved: {other}"


def _stopped_for_nothing(context: Context) -> bool:
    generation, previous = context.generation, context.previous
    stopped_ms = max((each.ms for each in generation.absences), default=0)
    return (
        previous is not None
        and bool(previous.partitions)
        and generation.partitions_moved == 0
        and not generation.first_owned
        and len(generation.members) > 1
        and stopped_ms >= STOPPED_MS
    )
