"""What is wrong with the records of a share group, in words."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims import share
from coordinator.explain.claims.findings import Found, Kind
from coordinator.explain.sentences.finding_words import FindingWords
from coordinator.explain.sentences.labels import label_of
from coordinator.explain.words import Clock, counted, duration, listed, plain, were

RECORDS_NAMED: Final = 5
OTHERS_NAMED: Final = 3

ENDED_BY: Final[dict[str, str]] = {
    "released": "{} released it",
    "rejected": "{} rejected it",
    "lock_ended": "the lock of {} ended",
    "closed": "{} closed its share session",
    "disconnected": "the connection of {} was closed",
}
OTHERWISE_ENDED: Final = "{} had it no longer"
"""A way that a later version tells and this one does not know."""
SEVERAL_ENDED_BY: Final[Mapping[str, str]] = ENDED_BY | {
    "released": "{} released them",
    "rejected": "{} rejected them",
}


def _who(member: MemberRef) -> str:
    """Who fetches may be no member of the group: then only the member id of its session is known."""
    return label_of(member) if member.client_id else plain(member.member_id)


def _partition(claim: share.GivenUp | share.StartStands) -> str:
    return plain(f"{claim.topic}-{claim.partition}")


def _took(claim: Found) -> str:
    return duration(claim.until_ms - claim.from_ms)


def _given_up(claim: share.GivenUp, clock: Clock) -> FindingWords:
    archived = f"{counted(claim.archived, 'record')} {were(claim.archived)} archived at the delivery count limit"
    rejected = f"{counted(claim.rejected, 'record')} {were(claim.rejected)} rejected"
    ways = [text for count, text in ((claim.archived, archived), (claim.rejected, rejected)) if count]
    return FindingWords(
        f"{_partition(claim)}: {listed(ways)} in {_took(claim)}: nobody gets them any more",
        tuple(_ended(records, clock) for records in claim.records[-RECORDS_NAMED:]),
        "look at these records and at what their readers say of them; more attempts"
        " (share.delivery.count.limit of the group) help only if the failure passes",
        _partition(claim),
    )


def _ended(records: share.RecordsGivenUp, clock: Clock) -> str:
    first, last = records.first_offset, records.last_offset
    which, ways = (f"record {first}", ENDED_BY) if first == last else (f"records {first} to {last}", SEVERAL_ENDED_BY)
    how = ways.get(records.ended_by, OTHERWISE_ENDED).format(_who(records.member))
    return f"{which}, by {clock(records.at_ms)}: delivered {counted(records.delivery_count, 'time')}, then {how}"


def _lets_locks_end(claim: share.LetsLocksEnd, clock: Clock) -> FindingWords:
    who, lock = _who(claim.member), duration(claim.lock_duration_ms)
    ended = f"the locks of {counted(claim.lock_ended, 'record')} ended"
    evidence = (
        f"from {clock(claim.from_ms)} to {clock(claim.until_ms)} it acquired {counted(claim.acquired, 'record')} and"
        f" acknowledged {claim.acknowledged:,}",
    )
    longer = "a longer share.record.lock.duration.ms of the group, fewer records per poll() (max.poll.records)"
    if claim.kind is Kind.NEVER_ACKNOWLEDGES:
        return FindingWords(
            f"{who} acquires records, and no acknowledgement of it was stored: {ended} in {_took(claim)}",
            evidence,
            "look whether its application hangs, or never acknowledges"
            " (share.acknowledgement.mode=explicit without acknowledge())",
            who,
        )
    if claim.kind is Kind.LOCKS_TOO_SHORT:
        requests = counted(claim.late, "request")
        return FindingWords(
            f"{who} may be slower than its locks, now of {lock}: {ended} before it acknowledged them, and {requests}"
            " acknowledged records, these or others, that it did not have",
            evidence,
            f"if it takes that long: {longer}, or locks that it renews",
            who,
        )
    return FindingWords(
        f"{who} is slow to acknowledge: {ended} in {_took(claim)} before it acknowledged them; locks last {lock} now",
        evidence,
        f"look at what slows it; else {longer}, or locks that it renews",
        who,
    )


def _takes_all(claim: share.TakesAll, clock: Clock) -> FindingWords:
    others = [_who(other) for other in claim.others[:OTHERS_NAMED]]
    names = listed(others, more=len(claim.others) - len(others))
    return FindingWords(
        f"{_who(claim.member)} acquired all of {counted(claim.acquired, 'record')} in {_took(claim)}, and {names} none",
        ("each of them has partitions that it has, too",),
        "look whether the others fetch at all; if they do, let it take fewer at a time (max.poll.records, and"
        " share.acquire.mode=record_limit)",
        _who(claim.member),
    )


def _start_stands(claim: share.StartStands, clock: Clock) -> FindingWords:
    held = "nobody had acquired it" if claim.member is None else f"{_who(claim.member)} had acquired it"
    delivered = f"delivered {counted(claim.delivery_count, 'time')}" if claim.delivery_count else "never delivered"
    return FindingWords(
        f"{_partition(claim)}: the start offset stood at {claim.start_offset:,} for {_took(claim)} or longer, until"
        f" {clock(claim.until_ms)} at least",
        (
            f"record {claim.start_offset}: {delivered}; {held} then",
            f"{counted(claim.in_flight, 'record')} in flight from there on; the lag was {claim.lag:,}",
        ),
        "look at what this member does with the record"
        if claim.member is not None
        else "look whether a member fetches this partition, and what the last one did with the record",
        _partition(claim),
    )


WORDS: Final[Mapping[type[Found], Callable[[Any, Clock], FindingWords]]] = {
    share.GivenUp: _given_up,
    share.LetsLocksEnd: _lets_locks_end,
    share.TakesAll: _takes_all,
    share.StartStands: _start_stands,
}
