"""What keeps a group from going on, now: offsets that stand still, rights that are refused, topics that are missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from coordinator.audit.schema import AuthorizationDenied, MemberRef
from coordinator.explain.claims.claim import DERIVED, SEEN
from coordinator.explain.claims.findings import (
    Goes,
    Kind,
    RightOnTopicLost,
    StandingPartition,
    StandsStill,
    SubscribedTopicMissing,
)
from coordinator.explain.folded_group import STABLE
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings.positions import Position, offsets_of

STANDS_REPORTED_MS: Final = 120_000
"""From this time on an offset stands still: twice the longest of the usual times between commits, the minute of
Kafka Connect (`offset.flush.interval.ms`). Kafka Streams commits every 30 s, other consumers every 5 s, or after a
batch. `max.poll.interval.ms`, 5 min, would be sure of long batches, too, but late for who waits for the records.
"""

GOES_ON_MS: Final = 90_000
"""A denial that goes on has an event each minute; half a minute more is for the way of the event and of the request."""

OPERATIONS: Final = frozenset({"READ", "DESCRIBE"})
APIS: Final = frozenset(
    {
        "Fetch",
        "Metadata",
        "DescribeTopicPartitions",
        "ListOffsets",
        "OffsetForLeaderEpoch",
        "OffsetCommit",
        "OffsetFetch",
        "ConsumerGroupHeartbeat",
    }
)
"""What a consumer asks about its topics."""


class Member(Protocol):
    """A member of a group, see `client/group_members.py`."""

    @property
    def member_id(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...
    @property
    def topics(self) -> tuple[str, ...]: ...


class Group(Protocol):
    """A group as it is now, see `client/group_description.py`."""

    @property
    def state(self) -> str: ...
    @property
    def members(self) -> Sequence[Member]: ...
    @property
    def partitions(self) -> Sequence[Position]: ...
    @property
    def missing_topics(self) -> Sequence[str]: ...


Found = StandsStill | RightOnTopicLost | SubscribedTopicMissing

Denials = Sequence[AuthorizationDenied]
"""Those of one principal about one topic, without a pause between them, the oldest first."""


def without_progress(
    group: Group,
    now_ms: int,
    history: GroupHistory | None = None,
    denials: Iterable[Denials] = (),
    heard_since_ms: int = 0,
) -> Iterator[Found]:
    """What keeps a group from going on.

    `denials` are those that `go_on` now; `history` knows members by principal. The server has heard its clients since
    `heard_since_ms`: while it was away, nobody could commit.
    """
    denied = tuple(denials)
    may_stand = now_ms - heard_since_ms >= STANDS_REPORTED_MS and any(
        _stands(partition, now_ms) for partition in group.partitions
    )
    if not denied and not group.missing_topics and not may_stand:
        return
    members = _refs(group.members, history)
    lost = list(rights_lost(group, members, denied))
    yield from lost
    refused = {
        (right_on_topic_lost.topic, member.member_id)
        for right_on_topic_lost in lost
        for member in right_on_topic_lost.members
    }
    if may_stand:
        yield from stands_still(group, members, refused, now_ms)
    yield from topics_missing(group, members, history, now_ms)


def _refs(members: Iterable[Member], history: GroupHistory | None) -> dict[str, MemberRef]:
    """Member id → the member, as the audit knows it if that has the same client, or took the place of a static one.

    Of that the description goes on to tell the client before, as Kafka does.
    """
    found = {}
    for member in members:
        ref = MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)
        existing = None if history is None else history.members.get(member.member_id)
        is_same = existing is not None and (existing.member.client_id, existing.member.client_host) == (
            member.client_id,
            member.client_host,
        )
        is_replaced = history is not None and member.member_id in history.clients
        found[member.member_id] = existing.member if existing is not None and (is_same or is_replaced) else ref
    return found


# ---- offsets that stand still


def stands_still(
    group: Group, members: Mapping[str, MemberRef], refused: set[tuple[str, str]], now_ms: int
) -> Iterator[StandsStill]:
    """One claim for each way in which the other partitions of the owners go on, or do not."""
    if group.state != STABLE:
        return
    by_owner: dict[str, list[Position]] = {}
    for partition in group.partitions:
        if partition.member_id is not None and partition.member_id in members:
            by_owner.setdefault(partition.member_id, []).append(partition)
    found: dict[Goes, list[StandingPartition]] = {}
    for member_id, owned in by_owner.items():
        standing = [
            _standing(position, members[member_id])
            for position in owned
            if (position.topic, member_id) not in refused and _stands(position, now_ms)
        ]
        if standing:
            found.setdefault(_others(owned, standing), []).extend(standing)
    for others in Goes:
        if others in found:
            yield StandsStill(
                kind=Kind.STANDS_STILL,
                from_ms=min(stalled.since_ms for stalled in found[others]),
                until_ms=now_ms,
                partitions=tuple(sorted(found[others], key=lambda standing: standing.since_ms)),
                others=others,
                evidence=DERIVED,
            )


def _stands(position: Position, now_ms: int) -> bool:
    """Whether a partition stands still for long, and for no reason that is known."""
    standing, oldest_ms = position.standing, position.oldest_ms
    return (
        standing is not None
        and oldest_ms is not None
        and now_ms - max(standing.since_ms, oldest_ms) >= STANDS_REPORTED_MS
        and (position.lag or 0) > 0
        and not position.waits_for_transaction
        and not position.deleted_unread
    )


def _standing(position: Position, owner: MemberRef) -> StandingPartition:
    """A partition that stands still."""
    standing, oldest_ms = position.standing, position.oldest_ms
    assert standing is not None
    assert oldest_ms is not None
    return StandingPartition(
        offsets_of(position),
        owner,
        position.lag or 0,
        max(standing.since_ms, oldest_ms),
        standing.is_longer and standing.since_ms >= oldest_ms,
        oldest_ms,
        standing.committed_ms,
    )


def _others(owned: Sequence[Position], standing: Sequence[StandingPartition]) -> Goes:
    """What an owner's partitions do beside those that stand still."""
    since_ms = min(stalled.since_ms for stalled in standing)
    places = {(stalled.partition.topic, stalled.partition.partition) for stalled in standing}
    others = [position.standing for position in owned if (position.topic, position.partition) not in places]
    if any((other.moved_ms or 0) > since_ms for other in others if other is not None):
        return Goes.ON
    waiting = sum((position.lag or 0) > 0 for position in owned)
    return Goes.NOT if waiting == len(standing) > 1 else Goes.UNKNOWN


# ---- rights


def go_on(denials: Iterable[AuthorizationDenied], now_ms: int) -> list[Denials]:
    """Of denials in order of time: those of what consumers ask about topics that go on now."""
    runs: dict[tuple[str, str], list[AuthorizationDenied]] = {}
    for event in denials:
        if event.resource_type == "TOPIC" and event.operation in OPERATIONS and event.api in APIS:
            run = runs.setdefault((event.principal, event.resource_name), [])
            if run and event.time_ms - run[-1].time_ms > GOES_ON_MS:
                run.clear()
            run.append(event)
    return [run for _, run in sorted(runs.items()) if now_ms - run[-1].time_ms <= GOES_ON_MS]


def rights_lost(
    group: Group, members: Mapping[str, MemberRef], denials: Iterable[Denials]
) -> Iterator[RightOnTopicLost]:
    """One for each principal and topic."""
    topics = {member.member_id: member.topics for member in group.members}
    for run in denials:
        last = run[-1]
        principal, topic = last.principal, last.resource_name
        clients = {(denied.client_id, denied.client_host) for denied in run}
        found = [
            member
            for member in members.values()
            if topic in topics[member.member_id]
            and (member.client_id, member.client_host) in clients
            and member.principal in ("", principal)
        ]
        own = {ref.member_id for ref in found}
        owned = [partition for partition in group.partitions if partition.topic == topic and partition.member_id in own]
        if found and not _has_moved_since(owned, last.time_ms):
            yield RightOnTopicLost(
                kind=Kind.RIGHT_ON_TOPIC_LOST,
                from_ms=run[0].time_ms,
                until_ms=last.time_ms,
                topic=topic,
                principal=principal,
                members=tuple(found),
                api=last.api,
                operation=last.operation,
                requests=sum(1 + denied.suppressed for denied in run),
                partitions=len(owned),
                is_longer=run[0].suppressed > 0,
                evidence=SEEN,
            )


def _has_moved_since(positions: Iterable[Position], time_ms: int) -> bool:
    return any((position.standing.moved_ms or 0) > time_ms for position in positions if position.standing is not None)


# ---- topics


def topics_missing(
    group: Group, members: Mapping[str, MemberRef], history: GroupHistory | None, now_ms: int
) -> Iterator[SubscribedTopicMissing]:
    """One for each topic that members subscribe to and that is not there."""
    for topic in group.missing_topics:
        gone_ms = None if history is None else _gone_ms(history, topic)
        yield SubscribedTopicMissing(
            kind=Kind.SUBSCRIBED_TOPIC_MISSING,
            from_ms=now_ms if gone_ms is None else gone_ms,
            until_ms=now_ms,
            topic=topic,
            members=tuple(members[member.member_id] for member in group.members if topic in member.topics),
            gone_ms=gone_ms,
            evidence=SEEN,
        )


def _gone_ms(history: GroupHistory, topic: str) -> int | None:
    """When the last rebalance began that noticed a change of the topic, if that was its end."""
    for generation in reversed(history.generations):
        if topic in generation.topic_changes:
            _, partitions = generation.topic_changes[topic]
            return None if partitions else generation.rebalance_started_ms
    return None
