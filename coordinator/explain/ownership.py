"""Who owned which partition when: spans of time, as what `Owners` knows of a generation and what came after it tell."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coordinator.audit.schema import MemberRef
from coordinator.explain.changes import Removal, Replacement
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.owners import Partition


class Span(NamedTuple):
    """A partition had this owner, from a wall-clock time until another one in ms; None: it still has it."""

    from_ms: int
    until_ms: int | None
    member: MemberRef

    @property
    def member_id(self) -> str:
        return self.member.member_id


def owner_spans(history: GroupHistory, generations: Iterable[Generation]) -> dict[Partition, list[Span]]:
    """Topic and index → who owned the partition, in order; nobody did between two spans.

    A member owns its partitions from the generation that assigns them to it until it rejoins for the next one; until it
    left, or was heard for the last time, if it was removed; and through a rebalance if it is of the cooperative
    protocol. `generations` are some of `history`, in order.
    """
    started = [generation for generation in generations if generation.started_ms is not None]
    following = {id(generation): after for generation, after in zip(started, [*started[1:], None], strict=False)}
    removals = _removals(history, started)
    spans: dict[Partition, list[Span]] = {}
    for generation in started:
        if generation.outcome is not Outcome.STABLE or generation.ended_ms is None:
            continue
        after = following[id(generation)]
        # Looks at all members, so not once more for each partition.
        keeps = generation.is_epoch or generation.is_cooperative
        replaced = {change.old_member_id: change for change in _replacements(history, generation)}
        for place, member_id in flat_owners(generation).items():
            of_place, from_ms, member = (
                spans.setdefault(place, []),
                generation.ended_ms,
                generation.members[member_id].member,
            )
            while (change := replaced.get(member.member_id)) is not None and change.at_ms >= from_ms:
                _add(of_place, Span(from_ms, change.at_ms, member), generation, keeps)
                from_ms, member = change.at_ms, change.member
            until_ms = _until_ms(generation, after, member.member_id, removals)
            _add(of_place, Span(from_ms, until_ms, member), generation, keeps)
    return spans


def _replacements(history: GroupHistory, generation: Generation) -> list[Replacement]:
    """The static members that were replaced in a generation, without a rebalance."""
    if generation is history.latest:
        return [*generation.replaced_while_stable, *history.pending_changes.replaced]
    return generation.replaced_while_stable


def flat_owners(generation: Generation) -> dict[Partition, str]:
    """Topic and index → member id, as a generation assigned them."""
    return {
        (topic, partition): member_id
        for topic, of_topic in generation.owners().items()
        for partition, member_id in of_topic.items()
    }


def _removals(history: GroupHistory, generations: Iterable[Generation]) -> dict[str, Removal]:
    """Member id → how it was removed: an id belongs to one membership."""
    found = {removal.member.member_id: removal for generation in generations for removal in generation.changes.removed}
    found.update({removal.member.member_id: removal for removal in history.pending_changes.removed})
    return found


def _until_ms(
    generation: Generation, after: Generation | None, member_id: str, removals: Mapping[str, Removal]
) -> int | None:
    """When a member stopped to consume what a generation assigned to it; None: it has not."""
    removal = removals.get(member_id)
    if removal is not None and (after is None or member_id not in after.members):
        return max(generation.ended_ms or 0, removal.stopped_ms)
    if after is None or after.started_ms is None:
        return None
    part = after.members.get(member_id)
    return after.started_ms + (part.join_ms or 0 if part is not None else 0)


def _add(spans: list[Span], span: Span, generation: Generation, keeps: bool) -> None:
    """Add a span. One of the same owner goes on if members keep what they own through the rebalance.

    They do so by the cooperative protocol, and by that of KIP-848.
    """
    last = spans[-1] if spans else None
    if last is None:
        spans.append(span)
        return
    if last.until_ms is None or last.until_ms > span.from_ms:
        # Whatever is missing between them: a partition has another owner from its assignment on.
        last = spans[-1] = last._replace(until_ms=max(last.from_ms, span.from_ms))
    assert last.until_ms is not None
    if keeps and last.member_id == span.member_id and _was_there(generation, span.member_id):
        spans[-1] = last._replace(until_ms=span.until_ms)
        return
    if generation.is_epoch:
        spans[-1] = last._replace(until_ms=max(last.until_ms, _held_until_ms(generation, last.member_id)))
    spans.append(span)


def _was_there(generation: Generation, member_id: str) -> bool:
    """Whether a member was in the group before the rebalance."""
    return not any(joining.member.member_id == member_id for joining in generation.changes.joined)


def _held_until_ms(epoch: Generation, member_id: str) -> int:
    """Until when a member kept a partition that it had before a group epoch: it consumes while others reconcile."""
    if member_id not in epoch.members or not _was_there(epoch, member_id):
        return 0
    stopped_ms = (absence.stopped_ms for absence in epoch.absences if absence.member.member_id == member_id)
    return min(stopped_ms, default=epoch.ended_ms or 0)
