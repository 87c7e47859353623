"""Findings about the records of share groups: from what the last intervals tell of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coordinator.audit.schema import EndedRecords, MemberRef, SharePartitionRecords, ShareRecordCounts, ShareRecords
from coordinator.explain.claims.claim import derived, seen
from coordinator.explain.claims.findings import Kind
from coordinator.explain.claims.share import GivenUp, LetsLocksEnd, RecordsGivenUp, StartStands, TakesAll
from coordinator.explain.facts import Facts
from coordinator.explain.generation import Outcome
from coordinator.explain.history import GroupHistory

RECENT_MS: Final = 600_000
"""Intervals that ended within this time are looked at."""
INTERVALS_MIN: Final = 2
"""In so many intervals something must have happened to be more than an accident."""
STANDS_REPORTED_MS: Final = 120_000
"""A start offset that has not moved for so long is reported, as a committed offset is."""
ALL_ACQUIRED_MIN: Final = 100
"""Of fewer records it means nothing that one member has acquired all."""
RECORDS_NAMED_MAX: Final = 20
OTHERS_NAMED_MAX: Final = 10


def _recent(history: GroupHistory, now_ms: int) -> list[ShareRecords]:
    return [
        event
        for event in history.share_records
        if event.created_seq == history.created_seq and now_ms - event.time_ms <= RECENT_MS
    ]


def _of_one_run(events: Sequence[ShareRecords]) -> list[ShareRecords]:
    """Those since the last start of the coordinator: what it had counted before is lost with the stop."""
    return [event for event in events if event.coordinator_epoch == events[-1].coordinator_epoch] if events else []


def _from_ms(event: ShareRecords) -> int:
    return event.time_ms - event.interval_ms


def given_up(facts: Facts, now_ms: int) -> Iterator[GivenUp]:
    """One for each share partition."""
    found: dict[tuple[str, int], list[tuple[ShareRecords, SharePartitionRecords]]] = defaultdict(list)
    for event in _recent(facts.history, now_ms):
        for partition in event.partitions:
            if partition.counts.archived or partition.counts.rejected:
                found[partition.topic, partition.partition].append((event, partition))
    for (topic, index), several in found.items():
        records = [
            RecordsGivenUp(event.time_ms, *_values(ended), ended.member)
            for event, partition in several
            for ended in partition.records
        ]
        yield GivenUp(
            kind=Kind.POISON_RECORD,
            from_ms=_from_ms(several[0][0]),
            until_ms=several[-1][0].time_ms,
            topic=topic,
            partition=index,
            archived=sum(partition.counts.archived for _, partition in several),
            rejected=sum(partition.counts.rejected for _, partition in several),
            records=tuple(records[-RECORDS_NAMED_MAX:]),
            evidence=seen(*(event.seq for event, _ in several)),
        )


def _values(ended: EndedRecords) -> tuple[int, int, int, str]:
    return ended.first_offset, ended.last_offset, ended.delivery_count, ended.ended_by


class _Of(NamedTuple):
    """What several intervals tell of a member."""

    member: MemberRef
    events: list[ShareRecords]
    counts: list[ShareRecordCounts]

    def sum(self, *names: str) -> int:
        return sum(getattr(counts, name) for counts in self.counts for name in names)


def _by_member(events: Sequence[ShareRecords]) -> dict[str, _Of]:
    found: dict[str, _Of] = {}
    for event in events:
        for counted in event.members:
            of = found.get(counted.member.member_id)
            if of is None or (counted.member.client_id and not of.member.client_id):
                of = found[counted.member.member_id] = _Of(counted.member, *(of[1:] if of else ([], [])))
            of.events.append(event)
            of.counts.append(counted.counts)
    return found


def lets_locks_end(facts: Facts, now_ms: int) -> Iterator[LetsLocksEnd]:
    """One for each member that did so in several intervals."""
    events = _of_one_run(_recent(facts.history, now_ms))
    are_all_named = not any(event.unnamed_members for event in events)
    for of in _by_member(events).values():
        if sum(counts.lock_ended > 0 for counts in of.counts) < INTERVALS_MIN:
            continue
        acknowledged, late = of.sum("accepted", "released", "rejected"), of.sum("late")
        if late:
            kind = Kind.LOCKS_TOO_SHORT
        elif acknowledged:
            kind = Kind.SLOW_TO_ACKNOWLEDGE
        elif are_all_named:
            kind = Kind.NEVER_ACKNOWLEDGES
        else:
            continue  # it may have acknowledged something in an interval that does not name it
        yield LetsLocksEnd(
            kind=kind,
            from_ms=_from_ms(of.events[0]),
            until_ms=of.events[-1].time_ms,
            member=of.member,
            acquired=of.sum("acquired"),
            acknowledged=acknowledged,
            lock_ended=of.sum("lock_ended"),
            late=late,
            lock_duration_ms=of.events[-1].lock_duration_ms,
            evidence=derived(*(event.seq for event in of.events)),
        )


def takes_all(facts: Facts, now_ms: int) -> Iterator[TakesAll]:
    """One member has all records since the last rebalance, though others share its partitions."""
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or latest.ended_ms is None:
        return
    events = [event for event in _of_one_run(_recent(history, now_ms)) if _from_ms(event) >= latest.ended_ms]
    acquiring = {member_id: of for member_id, of in _by_member(events).items() if of.sum("acquired")}
    if len(events) < INTERVALS_MIN or any(event.unnamed_members for event in events) or len(acquiring) != 1:
        return
    ((member_id, of),) = acquiring.items()
    acquirer, acquired = history.members.get(member_id), of.sum("acquired")
    if acquirer is None or acquired < ALL_ACQUIRED_MIN or len(of.events) < INTERVALS_MIN:
        return
    own = {(topic, index) for topic, indexes in acquirer.partitions.items() for index in indexes}
    others = [
        other.member
        for other_id, other in history.members.items()
        if other_id != member_id
        and any((topic, index) in own for topic, indexes in other.partitions.items() for index in indexes)
    ]
    if others:
        yield TakesAll(
            kind=Kind.TAKES_ALL,
            from_ms=_from_ms(events[0]),
            until_ms=events[-1].time_ms,
            member=of.member,
            acquired=acquired,
            others=tuple(others[:OTHERS_NAMED_MAX]),
            evidence=derived(latest.last_seq, *(event.seq for event in events)),
        )


def start_stands(facts: Facts, now_ms: int) -> Iterator[StartStands]:
    """One for each share partition of the last interval, as long as that is the last one that may have been told."""
    events = _recent(facts.history, now_ms)
    if not events or now_ms - events[-1].time_ms > 2 * events[-1].interval_ms:
        return
    last = events[-1]
    for partition in last.partitions:
        first = partition.first
        if first is not None and last.time_ms - first.since_ms >= STANDS_REPORTED_MS:
            yield StartStands(
                kind=Kind.START_STANDS,
                from_ms=first.since_ms,
                until_ms=last.time_ms,
                topic=partition.topic,
                partition=partition.partition,
                start_offset=partition.start_offset,
                delivery_count=first.delivery_count,
                member=first.member,
                in_flight=partition.in_flight,
                lag=partition.lag,
                evidence=seen(last.seq),
            )
