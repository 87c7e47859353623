"""Plays a history again with what an advice asks for, and looks whether it would have helped."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from tests.world.history import ConsumerSetup, History
from tests.world.playing import play
from tests.world.spans import FOREVER, overlap
from tests.world.topics import Partition
from tests.world.truth import Ended, Fate, Membership, ProcessTruth, Truth

BEGUN: Final = frozenset({"PreparingRebalance", "Assigning", "Reconciling"})
"""States in which a rebalance has begun."""
COMPARED_MS: Final = 3_000
"""Two courses are compared in which a member joined so close to each other."""
REPLAYS_KEPT: Final = 64
GOES_ON_MS: Final = 10_000
"""A replay goes on for longer: who is back just before the end may come a moment later in it."""


@lru_cache(maxsize=REPLAYS_KEPT)
def _truth_of(history: History) -> Truth:
    return play(history._replace(reported_ms=(), until_ms=history.until_ms + GOES_ON_MS)).truth


def _with_consumers(history: History, change: Callable[[int, ConsumerSetup], ConsumerSetup]) -> History:
    consumers = tuple(change(number, consumer) for number, consumer in enumerate(history.setup.consumers))
    return history._replace(setup=history.setup._replace(consumers=consumers))


def longer_session_helps(history: History, member: Membership, timeout_ms: int) -> bool:
    """Whether a member that was removed for its silence would have stayed, and come back by itself."""
    truth = _with_session(history, member, timeout_ms)
    process = None if member.process is None else _same(truth, member.process)
    theirs = [
        membership
        for membership in truth.all_memberships()
        if membership.process is process and membership.from_ms < member.until_ms
    ]
    if process is None or not theirs:
        return True  # it never was a member: longer sessions of others kept it out
    if member.process is not None and process.ended is Ended.KILLED and process.ended_ms < member.process.ended_ms:
        return True  # it was killed while it joined, which it does at another time here
    stayed = [their for their in theirs if their.until_ms > member.until_ms]
    back = [
        arrival for arrival in process.arrivals if arrival.at_ms >= member.until_ms and arrival.fate is Fate.HANDLED
    ]
    if any(act.what == "remove" and act.at_ms >= member.until_ms for act in truth.acts):
        return True  # an administrator removes it, perhaps before it is back
    if not any(abs(their.from_ms - member.from_ms) <= COMPARED_MS for their in theirs):
        return True  # it became a member at another time, so what was done to it came in another phase
    if not stayed and not any(_was_silent(truth, their, timeout_ms) for their in theirs):
        return True  # something else ended its membership, as the group was full when it joined again
    return bool(stayed) and any(
        each.member_id == stayed[0].member_id and each.at_ms <= stayed[0].until_ms for each in back
    )


def _was_silent(truth: Truth, membership: Membership, timeout_ms: int) -> bool:
    """Whether a membership may have ended as nothing was heard of it for its session timeout."""
    heard_ms = truth.last_arrival(membership.member_id, membership.until_ms, Fate.HANDLED)
    return heard_ms is None or membership.until_ms - heard_ms >= timeout_ms


def _with_session(history: History, member: Membership, timeout_ms: int) -> Truth:
    """The course of a history in which the client of a member has another session timeout."""
    process = member.process
    if process is not None and process.kind.is_modern:
        return _truth_of(history._replace(setup=history.setup._replace(consumer_session_ms=timeout_ms)))
    return _truth_of(
        _with_consumers(
            history,
            lambda number, each: (
                each._replace(session_timeout_ms=timeout_ms)
                if process is not None and number == process.consumer
                else each
            ),
        )
    )


def longer_session_keeps_place(
    history: History, member: Membership, timeout_ms: int, back: ProcessTruth | None = None
) -> bool:
    """Whether a static member that was restarted would have been a member still when its next process came (`back`)."""
    truth = _with_session(history, member, timeout_ms)
    came = None if back is None else _same(truth, back)
    if came is not None and not came.arrivals:
        return True  # it asked for nothing there, as it ended or unsubscribed just before
    process = None if member.process is None else _same(truth, member.process)
    ends = [
        membership.until_ms for membership in truth.memberships if process is not None and membership.process is process
    ]
    if any(act.what == "remove" and act.at_ms >= member.until_ms for act in truth.acts):
        return True  # an administrator removes it, perhaps before it is back
    if process is None or not any(membership.process is process for membership in truth.all_memberships()):
        return True  # it never was a member: the place of the one before was kept for longer, too
    theirs = [membership for membership in truth.all_memberships() if membership.process is process]
    if not any(abs(their.from_ms - member.from_ms) <= COMPARED_MS for their in theirs):
        # A session of it that ended before, for another reason, ends later, too: so it joined at another time, or not
        # at all, and the membership that is advised about is not there to be kept.
        return True
    return any(
        membership.from_ms in ends
        and membership.process is not None
        and membership.process.consumer == process.consumer
        for membership in truth.all_memberships()
    )


def static_membership_helps(history: History, left: Membership) -> bool:
    """Whether nothing would have been rebalanced for a member that left and came back."""
    if left.process is None:
        return False
    consumer = left.process.consumer
    static = _with_consumers(
        history, lambda number, each: each._replace(instance_id=f"s-{number}") if number == consumer else each
    )
    truth = _truth_of(static)
    process = _same(truth, left.process)
    if process is None or process.ended_ms == FOREVER:
        return False
    ended = [
        membership
        for membership in truth.memberships
        if membership.process is process and membership.until_ms >= process.ended_ms
    ]
    if not ended:
        return True  # it is a member still
    gone_ms = ended[0].until_ms
    back = [
        membership
        for membership in truth.all_memberships()
        if membership.from_ms == gone_ms and membership.process is not process
    ]
    is_replaced = any(each.process is not None and each.process.consumer == consumer for each in back)
    others = [
        membership
        for membership in truth.all_memberships()
        if membership.process is not None
        and membership.process.consumer != consumer
        and gone_ms in (membership.from_ms, membership.until_ms)
    ]
    if others or is_disturbed(truth, gone_ms):
        return True  # the group may rebalance for them
    began = [state.at_ms for state in truth.states if state.state in BEGUN and state.at_ms == gone_ms]
    return is_replaced and not began


def is_disturbed(truth: Truth, at_ms: int) -> bool:
    """Whether the group was not stable just before a time, for whatever reason."""
    before = [state for state in truth.states if state.at_ms < at_ms]
    return bool(before) and before[-1].state != "Stable"


def with_assignor(history: History, assignor: str) -> Truth:
    """What would have happened if all clients of the classic protocol had used another assignor."""
    return _truth_of(
        _with_consumers(history, lambda number, each: each._replace(assignors=(assignor,)) if each.assignors else each)
    )


def owners_at(truth: Truth, at_ms: int) -> dict[Partition, int]:
    """Partition → the consumer whose process was last assigned it before a time."""
    found: dict[Partition, int] = {}
    for plan in truth.plans:
        for member_id, partitions in plan.assigned.items() if plan.at_ms < at_ms else ():
            process = truth.process_of(member_id)
            found.update(dict.fromkeys(partitions, -1 if process is None else process.consumer))
    return found


def processes_at(truth: Truth, at_ms: int) -> set[tuple[int, int]]:
    """Consumer and start of each process that was a member at a time."""
    present = (
        membership.process
        for membership in truth.all_memberships()
        if membership.from_ms <= at_ms < membership.until_ms
    )
    return {(process.consumer, process.started_ms) for process in present if process is not None}


def was_stable_with_others(truth: Truth, from_ms: int, until_ms: int) -> bool:
    """Whether the group was stable in a time with other members than at its end: not all came in one rebalance."""
    stable = (state.at_ms for state in truth.states if state.state == "Stable" and from_ms <= state.at_ms < until_ms)
    return any(processes_at(truth, at_ms) != processes_at(truth, until_ms) for at_ms in stable)


def is_joined(truth: Truth, from_ms: int, until_ms: int) -> bool:
    """Whether members came or went after a time, until another one: also those that come again by another id."""
    return any(
        from_ms < at_ms <= until_ms
        for membership in truth.all_memberships()
        for at_ms in (membership.from_ms, membership.until_ms)
    )


def moves(truth: Truth, from_ms: int, until_ms: int) -> int:
    """How often a partition got another owner than before in a time."""
    owners: dict[Partition, str] = {}
    moved = 0
    for plan in truth.plans:
        for member_id, partitions in plan.assigned.items() if plan.at_ms <= until_ms else ():
            for partition in partitions:
                before = owners.setdefault(partition, member_id)
                moved += plan.at_ms >= from_ms and not truth.is_same_member(before, member_id)
                owners[partition] = member_id
    return moved


def idle_ms(truth: Truth, partitions: Iterable[Partition], from_ms: int, until_ms: int) -> int:
    """For how many ms partitions were not processed, in sum."""
    found = 0
    for partition in partitions:
        spans = truth.perhaps_processed(partition)
        found += max(0, until_ms - from_ms - overlap(spans, from_ms, until_ms))
    return found


def _same(truth: Truth, process: ProcessTruth) -> ProcessTruth | None:
    """The same process in another course of the history: the same consumer's, started at the same time."""
    found = (
        each for each in truth.processes if each.consumer == process.consumer and each.started_ms == process.started_ms
    )
    return next(found, None)
