"""What to try against a rebalance, from its cause and its cost."""

from collections.abc import Iterator
from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.clients import can_cooperate, sends_poll_interval
from coordinator.explain.facts import identity
from coordinator.explain.generation import Generation, Removal
from coordinator.explain.reasons import Context, Leaving
from coordinator.explain.words import duration

EAGER_ASSIGNORS: Final = frozenset({"range", "roundrobin", "sticky"})
"""Kafka's assignors whose members give up all partitions before they join (KIP-429); sticky at least moves few."""

STATIC_MEMBERSHIP: Final = (
    "set group.instance.id (static membership): a restart within the session timeout then causes no rebalance"
)
SLOW_REJOIN_MS: Final = 1_000
"""How much later than all others a member joins until that is worth an advice."""

SHORTER_POLL: Final = "process less per poll() (max.poll.records)"
LONGER_INTERVAL: Final = (
    f"{SHORTER_POLL}; a larger max.poll.interval.ms avoids this too, but then each rebalance may wait as long for it"
)

COOPERATIVE_STICKY: Final = (
    "use cooperative-sticky, with which members go on consuming what they keep (KIP-429), in two rolling restarts: the"
    " first with partition.assignment.strategy = cooperative-sticky and the present assignor behind it, the second with"
    " cooperative-sticky alone"
)


STATIC_FOR_GOOD: Final = (
    "if the static member was shut down for good, remove it with Admin.removeMembersFromConsumerGroup: then its"
    " partitions do not wait for its session timeout; if it was not, look at why its process ended"
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
    if fixed is not None and not _is_first_since_load(generation):
        yield fixed
    held = generation.held_up()
    if held is not None and held[1] >= SLOW_REJOIN_MS and not generation.late_members:
        yield (
            f"{context.names.of(held[0])} joined late: a member learns of a rebalance with its next heartbeat"
            " (heartbeat.interval.ms) and joins in its next poll() (max.poll.records)"
        )
    if generation.pending_members:
        yield "look for a client that asks for a member id and never joins, such as one that is killed at its start"
    yield from _for_moves(context)


PROCESS_ENDED: Final = (
    "look at why the process of the silent member ended (its exit code, its log, the memory limit), or what closed its"
    " connection; a longer session.timeout.ms would not help: only its partitions would wait longer"
)


def _is_first_since_load(generation: Generation) -> bool:
    """Whether the member that rejoined may have changed nothing."""
    found = generation.changes.resubscribed
    return bool(found) and all(each.is_first_since_load and not each.came and not each.went for each in found)


def _for_removal(removal: Removal, context: Context) -> str | None:
    if removal.is_unheard:
        return "look at why the coordinator stood still (its log tells); members that it did not hear are not to blame"
    if removal.cause is Cause.SESSION_EXPIRED and removal.may_be_closed:
        return STATIC_FOR_GOOD
    if removal.is_disconnected:
        return PROCESS_ENDED
    match removal.cause:
        case Cause.SESSION_EXPIRED:
            timeout_ms = removal.session_timeout_ms
            above = f" above {duration(timeout_ms)}" if timeout_ms else ""
            what = "pause" if removal.connection_open else "crash, pause"
            return (
                f"look at what stopped the silent member ({what}, GC, network); if it pauses and comes back, raise"
                f" session.timeout.ms{above}"
            )
        case Cause.REBALANCE_TIMEOUT:
            return f"the member that did not rejoin was busy or hung between two calls of poll(): {SHORTER_POLL}"
        case Cause.SYNC_TIMEOUT:
            return "look at why the member stopped between JoinGroup and SyncGroup; its assignor may hang"
        case Cause.MEMBER_LEFT:
            return _for_leave(removal, context)
    return None


def _for_leave(removal: Removal, context: Context) -> str | None:
    """A member that is closed for good does nothing wrong; one that comes back at once was restarted."""
    leaving, member = Leaving(removal), removal.member
    if leaving.by_administrator:
        return None
    if leaving.by_poll_timeout:
        return LONGER_INTERVAL
    idle_ms, limit_ms = leaving.idle_ms, removal.rebalance_timeout_ms
    if leaving.is_unknown and sends_poll_interval(member) and idle_ms and limit_ms and idle_ms >= limit_ms:
        return f"if it was not closed on purpose: {LONGER_INTERVAL}"
    is_back = any(identity(each.member) == identity(member) for each in context.generation.changes.joined)
    return STATIC_MEMBERSHIP if is_back and member.group_instance_id is None else None


_BY_CAUSE: Final[dict[Cause, str]] = {
    Cause.GROUP_MAX_SIZE_REACHED: "run fewer members, or raise group.max.size",
    Cause.TOO_MANY_PENDING_MEMBERS: "find the client that asks for member ids and does not join, or raise "
    "max.pending.members.per.ip",
    Cause.GROUP_TOO_LARGE: "run fewer members, or raise group.max.size",
    Cause.ASSIGNMENT_TOO_LARGE: "raise message.max.bytes, or split the group: fewer members or fewer partitions",
    Cause.METADATA_CHANGED: (
        "give all members the same topics and assignors; expect one such rebalance per member while a new version is"
        " rolled out"
    ),
}


def _for_moves(context: Context) -> Iterator[str]:
    generation = context.generation
    needless = generation.moved_needlessly
    eager = generation.protocol_name in EAGER_ASSIGNORS
    may_cooperate = can_cooperate(part.member for part in generation.members.values())
    if needless:
        yield (
            f"the assignor {generation.protocol_name} moves more than it has to: {COOPERATIVE_STICKY}"
            if eager and generation.protocol_name != "sticky" and may_cooperate
            else "look at the assignor: it moves more partitions than it has to"
        )
    elif (
        eager
        and may_cooperate
        and context.previous is not None
        and context.previous.partitions
        and generation.partitions_moved == 0
        and generation.unowned_partition_ms
    ):
        yield f"members stopped although nothing moved: {COOPERATIVE_STICKY}"
