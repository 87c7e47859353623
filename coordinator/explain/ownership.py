"""Who owned which partition at some time."""

from dataclasses import dataclass

from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory


@dataclass(frozen=True, slots=True)
class Ownership:
    """Topic → partition → member id at some time. During a rebalance: the partitions that their members kept.

    `generation_id` is None if it is not known, or if the group had none.
    """

    owners: dict[str, dict[int, str]]
    generation_id: int | None
    is_rebalancing: bool


def owners_at(history: GroupHistory, time_ms: int) -> Ownership:
    """Who owned which partition at a wall-clock time, in ms since the epoch."""
    last: Generation | None = None
    for each in history.generations:
        if each.started_ms is not None and each.started_ms > time_ms:
            break
        if last is not None and last.created_seq != each.created_seq:
            last = None
        if each.ended_ms is None or each.ended_ms > time_ms:
            return _during(each, last)
        if each.outcome is not Outcome.CUT_SHORT:
            last = each if each.outcome is Outcome.STABLE else None
    if last is None or any(last.last_seq < each.seq and each.time_ms <= time_ms for each in history.removals):
        return Ownership({}, None, False)
    return Ownership(_owners_of(last, time_ms), last.generation_id, False)


def _during(rebalance: Generation, last: Generation | None) -> Ownership:
    """Cooperative members keep what they own during a rebalance; eager ones give up everything before they join."""
    if last is None or "cooperative" not in last.protocol_name:
        return Ownership({}, rebalance.generation_id, True)
    gone = {each.member.member_id for each in rebalance.changes.removed}
    owners = {
        topic: {
            partition: member_id
            for partition, member_id in of_topic.items()
            if member_id not in gone and not _loses(rebalance, member_id, topic, partition)
        }
        for topic, of_topic in _owners_of(last, rebalance.started_ms or 0).items()
    }
    return Ownership(owners, rebalance.generation_id, True)


def _owners_of(generation: Generation, time_ms: int) -> dict[str, dict[int, str]]:
    """Who owned the partitions at a time in it, after the replacements until then."""
    owners = generation.owners()
    for change in generation.replaced_while_stable:
        if change.at_ms <= time_ms:
            for of_topic in owners.values():
                for partition, member_id in of_topic.items():
                    if member_id == change.old_member_id:
                        of_topic[partition] = change.member.member_id
    return owners


def _loses(rebalance: Generation, member_id: str, topic: str, partition: int) -> bool:
    part = rebalance.members.get(member_id)
    return part is not None and partition in part.lost.get(topic, ())
