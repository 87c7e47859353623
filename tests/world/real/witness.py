"""The truth of a play, in the form of the world's: spans of processes, holdings as clients told them, members by id."""

from collections.abc import Iterable
from typing import Final

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent
from interop.driver import Event
from tests.world.real.playing import TOPIC_ID, Player, Process, now
from tests.world.topics import Partition
from tests.world.truth import Holding, Plan, ProcessTruth, Truth

LATE_MS: Final = 1_500
"""A request of a process that has ended may be read so much later."""


def truth_of(player: Player, events: Iterable[AuditEvent]) -> Truth:
    """All that is known of a play. `events` tell who was a member under which id, and what was assigned."""
    truth = Truth()
    truth.processes = [process.truth for process in player.processes]
    truth.away, truth.topic_changes = player.away, player.topic_changes
    truth.ended_ms = now()
    for event in sorted(events, key=lambda each: each.seq):
        _take(truth, event)
    for process in player.processes:
        _take_holdings(truth, process)
        _name_departures(truth, process.truth)
    truth.states = []
    return truth


def _take(truth: Truth, event: AuditEvent) -> None:
    match event:
        case schema.MemberJoined():
            _came(truth, event.member, event.time_ms)
        case schema.StaticMemberReplaced():
            if event.old_member_id in truth.present:
                truth.removed(event.old_member_id, event.time_ms)
            _came(truth, event.member, event.time_ms)
            _take_over(truth, event)
        case schema.MemberRemoved():
            if event.member.member_id in truth.present:
                truth.removed(event.member.member_id, event.time_ms)
        case schema.GroupConverted():
            for departed in event.departed:
                if departed.member.member_id in truth.present:
                    truth.removed(departed.member.member_id, departed.at_ms)
        case schema.GroupLoaded():
            there = {member.member.member_id: member.member for member in event.members}
            for member_id in [each for each in truth.present if each not in there]:
                truth.removed(member_id, event.time_ms)
            for member_id, member in there.items():
                if member_id not in truth.present:
                    _came(truth, member, event.time_ms)
        case schema.MemberAssigned() | schema.MemberReconciled():
            owned = frozenset((t, TOPIC_ID, index) for t, indexes in event.partitions.items() for index in indexes)
            protocol = "classic" if isinstance(event, schema.MemberAssigned) else ""
            plan = Plan(event.time_ms, event.generation_id, protocol, {event.member.member_id: owned}, is_whole=False)
            truth.plans.append(plan)


def _take_over(truth: Truth, event: schema.StaticMemberReplaced) -> None:
    """It is assigned what the one before was assigned last."""
    before = (each for each in reversed(truth.plans) if event.old_member_id in each.assigned)
    plan = next(before, None)
    if plan is not None:
        assigned = {event.member.member_id: plan.assigned[event.old_member_id]}
        truth.plans.append(plan._replace(at_ms=event.time_ms, assigned=assigned))


def _came(truth: Truth, member: schema.MemberRef, at_ms: int) -> None:
    """A member is there: of the process of its client that ran then."""
    known = truth.by_member.get(member.member_id)
    process = known or process_at(truth, member.client_id, at_ms)
    truth.present[member.member_id] = process, at_ms
    if process is not None:
        truth.by_member.setdefault(member.member_id, process)


def process_at(truth: Truth, client_id: str, at_ms: int) -> ProcessTruth | None:
    theirs = [process for process in truth.processes if process.client_id == client_id and process.started_ms <= at_ms]
    running = [their for their in theirs if at_ms <= their.ended_ms]
    late = [their for their in theirs if at_ms - their.ended_ms <= LATE_MS]
    found = running or late
    return found[-1] if found else None


def _take_holdings(truth: Truth, process: Process) -> None:
    """What the client told that it was assigned, and that it lost; all that it has ends with its process."""
    held: dict[Partition, int] = {}
    for event in process.member.events:
        for partition in partitions_of(event):
            if event["event"] == "assigned":
                held.setdefault(partition, event["time_ms"])
            elif partition in held:
                _hold(truth, process.truth, partition, held.pop(partition), event["time_ms"])
    for partition, since_ms in held.items():
        _hold(truth, process.truth, partition, since_ms, process.truth.ended_ms)


def partitions_of(event: Event) -> list[Partition]:
    found = event.get("partitions", {}) if event["event"] in ("assigned", "revoked", "lost") else {}
    return [(topic, TOPIC_ID, index) for topic, indexes in found.items() for index in indexes]


def _hold(truth: Truth, process: ProcessTruth, partition: Partition, from_ms: int, until_ms: int) -> None:
    member_id = member_at(truth, process, from_ms)
    if from_ms + 1 < until_ms:
        # It was told after it had been assigned, if in the same ms.
        holding = Holding(partition, process, member_id, (from_ms + 1, until_ms))
        truth.holdings.append(holding)
        truth.by_partition[partition].append(holding)


def member_at(truth: Truth, process: ProcessTruth, at_ms: int) -> str:
    """The member id of a process at a time; the last one before, else the first."""
    theirs = sorted(
        (membership for membership in truth.all_memberships() if membership.process is process),
        key=lambda each: each.from_ms,
    )
    before = [their.member_id for their in theirs if their.from_ms <= at_ms]
    return (before or [their.member_id for their in theirs][:1] or [""])[-1]


def _name_departures(truth: Truth, process: ProcessTruth) -> None:
    """A departure is of the member that the process was then."""
    process.departures = [
        departure._replace(member_id=member_at(truth, process, departure.at_ms)) for departure in process.departures
    ]
