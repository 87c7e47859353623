"""Findings about members without partitions, and partitions without commits."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import derived
from coordinator.explain.claims.findings import IdleMembers, Kind, NoCommits
from coordinator.explain.facts import Facts
from coordinator.explain.generation import SHARE, Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.causes import CONSUMERS

SUBSCRIPTIONS_MAX: Final = 20
"""Different subscriptions of idle members that are told: each is compared with those of all members."""

COMMITS_AWAITED_MS: Final = 10 * 60_000
"""After this time in one generation without a commit, a group does not commit."""


def idle_members(facts: Facts, now_ms: int) -> Iterator[IdleMembers]:
    """Members that own nothing because their topics have fewer partitions than subscribers."""
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or not latest.partitions or not history.exists:
        return
    idle = [part.member for part in latest.members.values() if part.is_assigned and not _owns_any(history, part.member)]
    if latest.protocol_type != CONSUMERS or not idle:
        return
    for topics, members, partitions in _too_many(history, latest, idle):
        yield IdleMembers(
            kind=Kind.IDLE_MEMBERS,
            from_ms=latest.ended_ms or 0,
            until_ms=now_ms,
            members=tuple(members),
            of=latest.member_count or len(latest.members),
            partitions=partitions,
            topics=topics,
            evidence=derived(latest.last_seq),
        )


def _too_many(
    history: GroupHistory, latest: Generation, idle: list[MemberRef]
) -> Iterator[tuple[tuple[str, ...], list[MemberRef], int]]:
    """The topics, idle members and partitions of each subscription with fewer partitions than subscribers.

    No topics: all members subscribe alike, or not all is known by name, so all partitions of the group are counted.
    """
    assert latest.partitions is not None
    subscriptions = {member_id: tuple(sorted(seen.subscribed_topics)) for member_id, seen in history.members.items()}
    is_whole = all(subscriptions.values()) and not any(member.unnamed_partitions for member in latest.members.values())
    if not is_whole or len(set(subscriptions.values())) == 1:
        if len(latest.members) > latest.partitions:
            yield (), idle, latest.partitions
        return
    counts = {topic: len(owners) for topic, owners in latest.owners().items()}
    by_topics: dict[tuple[str, ...], list[MemberRef]] = defaultdict(list)
    for member in idle:
        by_topics[subscriptions.get(member.member_id, ())].append(member)
    for topics, members in islice(by_topics.items(), SUBSCRIPTIONS_MAX):
        partitions = sum(counts.get(topic, 0) for topic in topics)
        subscribers = sum(not set(topics).isdisjoint(subscription) for subscription in subscriptions.values())
        if topics and partitions and subscribers > partitions:
            yield topics, members, partitions


def _owns_any(history: GroupHistory, member: MemberRef) -> bool:
    existing = history.members.get(member.member_id)
    return existing is None or bool(existing.partitions) or existing.unnamed_partitions > 0


def no_commits(facts: Facts, now_ms: int) -> Iterator[NoCommits]:
    history = facts.history
    latest = history.latest
    if latest is None or latest.outcome is not Outcome.STABLE or not latest.partitions or latest.ended_ms is None:
        return
    if history.group_type == SHARE:
        return  # its members acknowledge records, and commit nothing
    since_ms = now_ms - latest.ended_ms
    if not history.exists or latest.commits or latest.lag_after == 0 or since_ms < COMMITS_AWAITED_MS:
        return
    yield NoCommits(
        kind=Kind.NO_COMMITS,
        from_ms=latest.ended_ms,
        until_ms=now_ms,
        generation_id=latest.generation_id,
        is_epoch=latest.is_epoch,
        partitions=latest.partitions,
        last_commit_ms=history.last_commit_ms,
        lag=latest.lag_after,
        evidence=derived(latest.last_seq),
    )
