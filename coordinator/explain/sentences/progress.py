"""What keeps a group from going on, in words."""

from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims.findings import (
    Goes,
    PartitionOffsets,
    RightOnTopicLost,
    StandingPartition,
    StandsStill,
    SubscribedTopicMissing,
)
from coordinator.explain.sentences.positions import NAMED, name, which
from coordinator.explain.words import Clock, Names, counted, plain

# ---- offsets that stand still


def stands_headline(claim: StandsStill, clock: Clock) -> str:
    """A clause."""
    where = which([partition.partition for partition in claim.partitions])
    since = f"since {clock(claim.from_ms)}{_or_before(claim)}"
    if len(claim.partitions) == 1:
        has = f"the committed offset has not moved {since}"
    else:
        has = f"the committed offsets have not moved, the first of them {since}"
    return f"{where}: {has}, while records wait{_and_others(claim)}"


def _or_before(claim: StandsStill) -> str:
    return (
        " or before"
        if any(partition.is_longer for partition in claim.partitions if partition.since_ms == claim.from_ms)
        else ""
    )


def _and_others(claim: StandsStill) -> str:
    is_one = len({partition.owner.member_id for partition in claim.partitions}) == 1
    if claim.others is Goes.ON:
        return f", and {'its owner goes' if is_one else 'their owners go'} on with other partitions"
    if claim.others is Goes.NOT:
        return f"; nothing else that {'their owner has' if is_one else 'their owners have'} to read moves either"
    return ""


def stands_evidence(claim: StandsStill, clock: Clock) -> Iterator[str]:
    names = Names(partition.owner for partition in claim.partitions)
    for partition in claim.partitions[:NAMED]:
        yield stands(partition, names, clock)
    more = len(claim.partitions) - NAMED
    if more > 0:
        yield counted(more, "more partition stands still", "more partitions stand still")
    yield (
        "the sessions of the owners are kept; whether a record cannot be processed, the consumer is paused, or its"
        " application is blocked, in one long batch, or commits more rarely is not known here"
    )


def stands(standing: StandingPartition, names: Names, clock: Clock) -> str:
    """A clause about one partition."""
    offset = f"{standing.partition.committed_offset:,}"
    waits = f"{counted(standing.records, 'record waits', 'records wait')} from offset {offset} on"
    before = " or before" if standing.is_longer else ""
    again = (
        ""
        if standing.committed_ms is None or standing.committed_ms <= standing.since_ms
        else (f", which committed the same offset again at {clock(standing.committed_ms)}")
    )
    return (
        f"{name(standing.partition)}: {waits}, where it has stood"
        f" since {clock(standing.since_ms)}{before}; the oldest is of {clock(standing.oldest_ms)}; owned by"
        f" {names.full(standing.owner)}{again}"
    )


def stands_advice(claim: StandsStill) -> str:
    first = claim.partitions[0].partition
    record = f"the record at offset {first.committed_offset} of {name(first)} ({_kcat(first)})"
    if claim.others is Goes.ON:
        return (
            f"look at {record} and at what the consumer does with it: it may fail and be tried again, or the"
            " partition is paused"
        )
    return (
        f"look at what the consumer does (its log, a thread dump): whether it is blocked, paused or slow, and whether"
        f" it commits at all (enable.auto.commit); then at {record}"
    )


def _kcat(partition: PartitionOffsets) -> str:
    return f"kcat -C -t {plain(partition.topic)} -p {partition.partition} -o {partition.committed_offset} -c 1"


# ---- rights


def right_headline(claim: RightOnTopicLost, clock: Clock) -> str:
    """A clause."""
    who = Names(claim.members).listed(claim.members)
    since = f"since {clock(claim.from_ms)}{' or before' if claim.is_longer else ''}"
    gets = "gets" if len(claim.members) == 1 else "get"
    return (
        f"{plain(claim.principal)} may not {claim.operation} topic {plain(claim.topic)} {since}: {who} {gets} none of"
        " its records"
    )


def right_evidence(claim: RightOnTopicLost, clock: Clock) -> Iterator[str]:
    names = Names(claim.members)
    count = counted(claim.requests, "request was", "requests were")
    yield f"{count} refused until {clock(claim.until_ms)}, the last one {claim.api} (TOPIC_AUTHORIZATION_FAILED)"
    for member in claim.members[:NAMED]:
        yield names.full(member)
    if claim.partitions:
        owns = "it owns" if len(claim.members) == 1 else "they own"
        yield f"{owns} {counted(claim.partitions, 'partition')} of the topic"


def right_advice(claim: RightOnTopicLost) -> str:
    return (
        f"give {plain(claim.principal)} the right to READ the topic again (coordinator acls add), or have its consumers"
        " subscribe to what they may read; as long as they are members, nobody else gets their partitions"
    )


# ---- topics


def missing_headline(claim: SubscribedTopicMissing) -> str:
    """A clause."""
    who = Names(claim.members).listed(claim.members)
    subscribes = "subscribes" if len(claim.members) == 1 else "subscribe"
    return f"there is no topic {plain(claim.topic)}, to which {who} {subscribes}: nothing is read of it"


def missing_evidence(claim: SubscribedTopicMissing, clock: Clock) -> Iterator[str]:
    if claim.gone_ms is not None:
        yield f"the group noticed at {clock(claim.gone_ms)} that the topic was deleted"
    names = Names(claim.members)
    yield from (names.full(member) for member in claim.members[:NAMED])


MISSING_ADVICE: Final = (
    "create the topic, or look at its name in the configuration of the consumer; who subscribes by a pattern notices a"
    " deleted topic at its next look at the metadata (metadata.max.age.ms)"
)
