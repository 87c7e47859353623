"""Groups as JSON: what the routes under `/api/` answer. Times are wall-clock ms since the epoch."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import msgspec

from coordinator.audit.schema import MemberRef, TopicPartitions
from coordinator.client.groups import DEAD
from coordinator.dashboard import lag_views
from coordinator.dashboard.board import HOUR_MS, MS_PER_MINUTE, Board, GroupRow
from coordinator.dashboard.names import MemberNames
from coordinator.dashboard.record_views import records_of
from coordinator.dashboard.story_links import linked_story
from coordinator.explain.claims.notes import GroupGone
from coordinator.explain.findings import Finding
from coordinator.explain.generation import Generation, MemberPart, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import notes
from coordinator.explain.ownership import flat_owners, owner_spans
from coordinator.explain.sentences.storms import headline
from coordinator.explain.storms import Storm

Json = dict[str, Any]

OVERVIEW_HOURS: Final = 24
WORST_SHOWN: Final = 10
FINDINGS_SHOWN: Final = 50
STORMS_SHOWN: Final = 20
GROUPS_MAX: Final = 1_000
"""Groups in one answer of `/api/groups`."""
GENERATIONS_SHOWN: Final = 500
"""Generations in the answer about one group, the newest."""
PARTITIONS_SHOWN: Final = 1_000
"""Partitions whose owners are shown, the first by topic and index."""
OWNER_SPANS_SHOWN: Final = 100_000
"""Of all partitions together: of many generations the owners of fewer partitions are shown."""
LANES_SHOWN: Final = 300
"""Members whose lanes are shown, those that were in the group last."""
SPANS_SHOWN: Final = 30_000
"""Of all lanes together, about: of many generations the lanes of fewer members are shown."""
TOPICS_SHOWN: Final = 1_000
"""Topics in the answer about one group."""
MOVES_SHOWN: Final = 2_000

SORTS: Final = {
    "lag": lambda row: (1 if row.lag is None else -row.lag, row.group_id),
    "age": lambda row: (1 if row.lag_ms is None else -row.lag_ms, row.group_id),
    "group": lambda row: row.group_id,
    "state": lambda row: (row.state, row.group_id),
    "members": lambda row: (-row.members, row.group_id),
    "rebalances": lambda row: (-row.rebalances_last_hour, row.group_id),
    "findings": lambda row: (-row.findings, row.group_id),
    "latest": lambda row: (-(row.last_rebalance_ms or 0), row.group_id),
}
"""The ways to sort the list of groups."""


def overview(board: Board) -> Json:
    rows = board.rows()
    states: dict[str, int] = {}
    for row in rows:
        states[row.state or "Unknown"] = states.get(row.state or "Unknown", 0) + 1
    worst = sorted((row for row in rows if row.rebalances_last_hour), key=SORTS["rebalances"])[:WORST_SHOWN]
    findings = [
        {"group_id": row.group_id, **finding_json(finding, board.groups.get(row.group_id))}
        for row in rows
        if row.findings
        for finding in board.findings_of(row.group_id)
    ]
    return {
        "newest_ms": board.newest_ms,
        "lag": lag_views.total(board.lags),
        "groups": len(rows),
        "states": states,
        "members": sum(row.members for row in rows),
        "rebalances_per_hour": rebalances_per_hour(board),
        "worst": [row_json(row) for row in worst],
        "findings": findings[:FINDINGS_SHOWN],
        "findings_total": len(findings),
        "storms": [storm_json(storm) for storm in board.storms()[:STORMS_SHOWN]],
        "storms_total": len(board.storms()),
        "progress": msgspec.to_builtins(board.progress),
    }


def rebalances_per_hour(board: Board) -> list[list[int]]:
    """[beginning of the hour, rebalances of all groups that started in it], the last hours, oldest first."""
    last = board.newest_ms // HOUR_MS
    counts = dict.fromkeys(range(last - OVERVIEW_HOURS + 1, last + 1), 0)
    for minute, count in board.rebalances_by_minute.items():
        hour = minute * MS_PER_MINUTE // HOUR_MS
        if hour in counts:
            counts[hour] += count
    return [[hour * HOUR_MS, count] for hour, count in counts.items()]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which groups are listed: those whose id contains `search`, in `state` unless it is empty."""

    search: str = ""
    state: str = ""
    hides_dead: bool = False
    """Leaves out groups that were deleted, unless `state` is theirs."""

    def has(self, row: GroupRow) -> bool:
        if self.state:
            return row.state == self.state
        return not (self.hides_dead and row.state == DEAD)


def groups(board: Board, choice: Choice, sort: str, offset: int, limit: int) -> Json:
    needle = choice.search.casefold()
    found = [row for row in board.rows() if needle in row.group_id.casefold() and choice.has(row)]
    found.sort(key=SORTS[sort])
    shown = found[offset : offset + min(limit, GROUPS_MAX)]
    return {"total": len(found), "groups": [row_json(row) for row in shown]}


def group(board: Board, history: GroupHistory) -> Json:
    generations = list(history.generations)[-GENERATIONS_SHOWN:]
    names = MemberNames.of_history(history)
    return {
        **row_json(board.row(history.group_id)),
        "first_ms": history.first_ms,
        "newest_ms": board.newest_ms,
        "begins_in_the_middle": history.begins_in_the_middle,
        "has_events": history.last_seq >= 0,
        "gone": _gone(history),
        "gaps": [[gap.first_seq, gap.last_seq, gap.before_ms] for gap in history.gaps],
        "topics": topics_of(board, history),
        "members_now": [_member_now(history, member_id, names) for member_id in sorted(history.members)],
        "generations": [summary(generation, names) for generation in generations],
        "records": records_of(history, names),
        "findings_list": [finding_json(finding, history) for finding in board.findings_of(history.group_id)],
        **member_lanes(generations, names),
        "resets": [msgspec.to_builtins(reset) for reset in history.resets],
        "rejected": [msgspec.to_builtins(rejected) for rejected in history.rejected],
    }


def _gone(history: GroupHistory) -> str | None:
    """How the group went, if it is gone; None: it is there, or the events do not tell it."""
    if history.state != DEAD or not history.removals:
        return None
    (text,) = [note.text for note in notes(history) if isinstance(note.claim, GroupGone)][-1:]
    return text


def topics_of(board: Board, history: GroupHistory) -> list[str]:
    """The topics of which a group has offsets or partitions, or to which it subscribes, by name."""
    sampled = board.lags.group(history.group_id)
    found = {partition.topic for partition in sampled.group.partitions} if sampled is not None else set()
    found.update(topic for member in history.members.values() for topic in member.subscribed_topics)
    return sorted(found)[:TOPICS_SHOWN]


def summary(generation: Generation, names: MemberNames) -> Json:
    """A generation in the timeline of its group."""
    return {
        "generation_id": generation.generation_id,
        "name": generation.name,
        "is_epoch": generation.is_epoch,
        "created_seq": generation.created_seq,
        "first_seq": generation.first_seq,
        "cause": "" if generation.cause is None else str(generation.cause),
        "member": None if generation.member is None else names.of(generation.member),
        "reason": generation.reason,
        "outcome": generation.outcome.value,
        "is_void": generation.is_void,
        "started_ms": generation.started_ms,
        "generation_started_ms": generation.generation_started_ms,
        "ended_ms": generation.ended_ms,
        "members": generation.member_count,
        "join_ms": generation.join_ms,
        "sync_ms": generation.sync_ms,
        "rebalance_ms": generation.rebalance_ms,
        "partitions": generation.partitions,
        "partitions_moved": generation.partitions_moved,
        "moved_needlessly": generation.moved_needlessly,
        "unowned_partition_ms": generation.unowned_partition_ms,
        "silent_partition_ms": generation.silent_partition_ms,
        "protocol_name": generation.protocol_name,
    }


def generation(history: GroupHistory, one: Generation) -> Json:
    """A generation with its story, the part of each member, and what moved."""
    before, names = history.before(one), MemberNames.of_history(history)
    return {
        **summary(one, names),
        "story": linked_story(history, one),
        "leader": one.leader,
        "member_parts": [_part(part, names) for _, part in sorted(one.members.items())],
        "removed": [
            {
                "member": member_json(removal.member, names),
                "cause": str(removal.cause),
                "reason": removal.reason,
                "silent_ms": removal.silent_ms,
                "at_ms": removal.at_ms,
            }
            for removal in one.changes.removed
        ],
        "joined": [
            {"member": member_json(joining.member, names), "at_ms": joining.at_ms} for joining in one.changes.joined
        ],
        "topic_changes": one.topic_changes,
        "moves": moves(before, one, names),
        "before": None if before is None else before.generation_id,
        "commits_rejected": one.commits_rejected,
        "lag_before": one.lag_before,
        "lag_after": one.lag_after,
    }


def finding_json(finding: Finding, history: GroupHistory | None) -> Json:
    """A finding, with the generations that the events it rests on lie in: [generation, name]."""
    return {**msgspec.to_builtins(finding), "generations": [] if history is None else _generations_of(finding, history)}


def _generations_of(finding: Finding, history: GroupHistory) -> list[tuple[int, str]]:
    """In order. Who came and went is told by the generation that this led to; what else happens, by the present one."""
    generations = list(history.generations)
    firsts = [generation.first_seq for generation in generations]
    led_to = {seq: number for number, generation in enumerate(generations) for seq in _changed_by(generation)}
    numbers = {led_to.get(seq, bisect_right(firsts, seq) - 1) for seq in finding.claim.evidence.events}
    found = [generations[number] for number in sorted(numbers) if number >= 0]
    return list(dict.fromkeys((generation.generation_id, generation.name) for generation in found))


def _changed_by(one: Generation) -> list[int | None]:
    """The `seq` of the events that made the members of a generation others than before."""
    changes = one.changes
    return [
        *(removal.seq for removal in changes.removed),
        *(joining.seq for joining in changes.joined),
        *(replacement.seq for replacement in changes.replaced),
    ]


def storm_json(storm: Storm) -> Json:
    return {**msgspec.to_builtins(storm), "headline": headline(storm)}


def moves(before: Generation | None, after: Generation, names: MemberNames) -> Json:
    """Partitions whose owner differs between two generations: [topic, partition, from, to], None for nobody."""
    owned_before = {} if before is None else flat_owners(before)
    owned_after = flat_owners(after) if after.outcome is Outcome.STABLE else {}
    if after.outcome is not Outcome.STABLE:
        return {"total": 0, "moves": []}
    changed = [
        [topic, partition, names.by_id(old), names.by_id(new)]
        for topic, partition in sorted(owned_before.keys() | owned_after.keys())
        if (old := owned_before.get((topic, partition), "")) != (new := owned_after.get((topic, partition), ""))
    ]
    return {"total": len(changed), "moves": changed[:MOVES_SHOWN]}


def difference(history: GroupHistory, one: Generation, other: Generation) -> Json:
    """Two generations side by side."""
    names = MemberNames.of_history(history)
    return {
        "a": summary(one, names),
        "b": summary(other, names),
        "members_gone": sorted(map(names.by_id, one.members.keys() - other.members.keys())),
        "members_new": sorted(map(names.by_id, other.members.keys() - one.members.keys())),
        "moves": moves(one, other, names),
    }


def member_lanes(generations: Iterable[Generation], names: MemberNames) -> Json:
    """The lanes of the members that were in the group last, by name, and how many members there were.

    A lane has the spans of time in which its member was in a stable generation, with what it owned. A span is
    [from, to, generation, partitions, name of the generation]; `to` is None as long as it lasts.
    """
    lanes: dict[str, Json] = {}
    latest: dict[str, int] = {}
    stable = [
        generation
        for generation in generations
        if generation.outcome is Outcome.STABLE and generation.ended_ms is not None
    ]
    following = _next_starts(generations)
    for number, generation in enumerate(stable):
        latest.update(dict.fromkeys(generation.members, number))
    most = min(LANES_SHOWN, SPANS_SHOWN // max(1, len(stable)))
    shown = set(sorted(latest, key=lambda member_id: -latest[member_id])[:most])
    for generation in stable:
        until_ms = following[id(generation)]
        for member_id, part in generation.members.items():
            if member_id in shown:
                lane = lanes.setdefault(member_id, {"member": member_json(part.member, names), "spans": []})
                lane["spans"].append(
                    [generation.ended_ms, until_ms, generation.generation_id, count_partitions(part), generation.name]
                )
    ordered = sorted(lanes.values(), key=lambda lane: (lane["member"]["name"], lane["spans"][0][0]))
    return {"lanes": ordered, "lanes_total": len(latest)}


def ownership(history: GroupHistory) -> Json:
    """Per partition, who owned it when: [from, to, member name] in order; what lies between had no owner.

    `to` is None as long as it lasts. `empty` are the spans of time in which the group had no members at all.
    """
    generations = list(history.generations)[-GENERATIONS_SHOWN:]
    following = _next_starts(generations)
    names = MemberNames.of_history(history)
    lanes = owner_spans(history, generations)
    counts = accumulate(len(lanes[place]) for place in sorted(lanes)[:PARTITIONS_SHOWN])
    shown = [place for place, count in zip(sorted(lanes), counts, strict=False) if count <= OWNER_SPANS_SHOWN]
    return {
        "total": len(lanes),
        "empty": [
            [generation.ended_ms, following[id(generation)]]
            for generation in generations
            if generation.outcome is Outcome.EMPTIED
        ],
        "partitions": [
            {
                "topic": topic,
                "partition": index,
                "spans": [[span.from_ms, span.until_ms, names.by_id(span.member_id)] for span in lanes[topic, index]],
            }
            for topic, index in shown
        ],
    }


def member(history: GroupHistory, member_id: str) -> Json | None:
    """What is known of one member, by the generations that it was in; None for an unknown one."""
    names = MemberNames.of_history(history)
    parts = [
        {**summary(generation, names), "part": _part(generation.members[member_id], names)}
        for generation in history.generations
        if member_id in generation.members
    ]
    removed = [
        {"at_ms": gone.at_ms, "cause": str(gone.cause), "reason": gone.reason, "silent_ms": gone.silent_ms}
        for generation in history.generations
        for gone in generation.changes.removed
        if gone.member.member_id == member_id
    ]
    if not parts and member_id not in history.members:
        return None
    now = _member_now(history, member_id, names) if member_id in history.members else None
    return {"member_id": member_id, "now": now, "generations": parts, "removed": removed}


def row_json(row: GroupRow) -> Json:
    return msgspec.to_builtins(row)  # type: ignore[no-any-return]


def member_json(member: MemberRef, names: MemberNames) -> Json:
    return {"name": names.of(member), **msgspec.to_builtins(member)}


def count_partitions(part: MemberPart) -> int:
    return _count(part.partitions) + part.unnamed_partitions


def _count(partitions: TopicPartitions) -> int:
    return sum(map(len, partitions.values()))


def _part(part: MemberPart, names: MemberNames) -> Json:
    return {
        "member": member_json(part.member, names),
        "join_ms": part.join_ms,
        "sync_ms": part.sync_ms,
        "partitions": count_partitions(part),
        "gained": _count(part.gained),
        "lost": _count(part.lost),
        "kept": _count(part.kept),
        "assignment": part.partitions,
    }


def _member_now(history: GroupHistory, member_id: str, names: MemberNames) -> Json:
    existing = history.members[member_id]
    return {
        "member": member_json(existing.member, names),
        "session_timeout_ms": existing.session_timeout_ms,
        "rebalance_timeout_ms": existing.rebalance_timeout_ms,
        "joined_ms": existing.joined_ms,
        "subscribed_topics": list(existing.subscribed_topics),
        "assignment": existing.partitions,
        "partitions": _count(existing.partitions) + existing.unnamed_partitions,
    }


def _next_starts(generations: Iterable[Generation]) -> dict[int, int | None]:
    """Identity of a generation → when the next rebalance of the group started; None for the last one."""
    ordered = [generation for generation in generations if generation.started_ms is not None]
    starts = [*(generation.started_ms for generation in ordered[1:]), None]
    return {id(generation): start for generation, start in zip(ordered, starts, strict=False)}
