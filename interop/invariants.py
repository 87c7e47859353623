"""What holds in every scenario, by the clients' own reports: partitions have one owner at a time, no record is lost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from interop.driver import Event, Member, Partition

NEVER: Final = 1 << 62


class Owned(NamedTuple):
    """A time in which a member owned a partition, by its own reports."""

    member: str
    since_ms: int
    until_ms: int


class Read(NamedTuple):
    """A run of records that a member read."""

    member: str
    first: int
    next: int


def partitions_of(event: Event) -> list[Partition]:
    return [(topic, index) for topic, indexes in event["partitions"].items() for index in indexes]


def ownership(members: Iterable[Member]) -> dict[Partition, list[Owned]]:
    """Who owned each partition when, in order of time.

    A member that is paused, stopped, killed or closing cannot tell when it loses a partition: its time ends there.
    """
    found: dict[Partition, list[Owned]] = defaultdict(list)
    for member in members:
        since: dict[Partition, int] = {}

        def end(
            partition: Partition, time_ms: int, member: Member = member, since: dict[Partition, int] = since
        ) -> None:
            began = since.pop(partition, None)
            if began is not None:
                until = min([time_ms, *(silence for silence in member.silences if silence >= began)])
                found[partition].append(Owned(member.name, began, until))

        for event in member.events:
            if event["event"] == "assigned" and int(event["time_ms"]) < (member.closed_ms or NEVER):
                for partition in partitions_of(event):
                    end(partition, int(event["time_ms"]))
                    since[partition] = int(event["time_ms"])
            elif event["event"] in ("revoked", "lost"):
                for partition in partitions_of(event):
                    end(partition, int(event["time_ms"]))
        for partition in list(since):
            end(partition, NEVER)
    return {partition: sorted(times, key=lambda each: each.since_ms) for partition, times in found.items()}


def owned_by_two(members: Iterable[Member]) -> list[str]:
    """The partitions that two members owned at the same time."""
    found = []
    for (topic, index), times in ownership(members).items():
        for position, one in enumerate(times):
            for other in times[position + 1 :]:
                both_ms = min(one.until_ms, other.until_ms) - max(one.since_ms, other.since_ms)
                if both_ms > 0 and one.member != other.member:
                    long = f"for {both_ms} ms" if both_ms < NEVER // 2 else "to the end"
                    found.append(f"{topic}-{index}: {one.member} and {other.member} {long}")
    return found


def reads(members: Iterable[Member]) -> dict[Partition, list[Read]]:
    """What was read of each partition, by all members."""
    found: dict[Partition, list[Read]] = defaultdict(list)
    for member in members:
        for event in member.of_kind("records"):
            for topic, partitions in event["positions"].items():
                for index, following in partitions.items():
                    found[topic, int(index)].append(Read(member.name, event["from"][topic][index], following))
    return found


def lost(members: Iterable[Member], produced: Mapping[Partition, int]) -> list[str]:
    """The records that nobody has read, of all that were produced."""
    read = reads(members)
    found = []
    for (topic, index), end in produced.items():
        position = 0
        for run in sorted(read.get((topic, index), []), key=lambda each: each.first):
            if run.first > position:
                break
            position = max(position, run.next)
        if position < end:
            found.append(f"{topic}-{index}: read up to {position} of {end}")
    return found


def taken_and_given_back(member: Member, since_event: int = 0) -> set[Partition]:
    """The partitions that were taken from a member and that it owns now; a cooperative rebalance leaves none."""
    taken = {
        partition
        for event in member.events[since_event:]
        if event["event"] in ("revoked", "lost")
        for partition in partitions_of(event)
    }
    return taken & member.owned


def rebalances(members: Iterable[Member]) -> int:
    """The largest number of assignments that a member reported, without empty ones before it had any partition.

    Some clients join before they know the topic's partitions, and then once more.
    """
    return max((_assignments(member) for member in members), default=0)


def _assignments(member: Member) -> int:
    given = [any(event["partitions"].values()) for event in member.of_kind("assigned")]
    return len(given) - given.index(True) if True in given else 0
