"""What keeps offsets from going on: true by who held a partition, what was committed, which transactions were open."""

from typing import Final

from coordinator.explain.claims import findings as claims
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.findings import Goes, PartitionOffsets, StandingPartition
from coordinator.explain.makers.findings.positions import OPEN_REPORTED_MS
from coordinator.explain.makers.findings.progress import STANDS_REPORTED_MS
from tests.world.checkers.context import Check, Context
from tests.world.checkers.tolerances import INSTANT_MS, NETWORK_MS
from tests.world.topics import RECORDS_PER_SECOND, Partition
from tests.world.truth import Truth

RECORD_MS: Final = 1_000 // RECORDS_PER_SECOND


def _place(offsets: PartitionOffsets, truth: Truth, context: Context) -> Partition:
    topic_id, _ = truth.topic_at(offsets.topic, context.reported_ms)
    return offsets.topic, topic_id, offsets.partition


def waits_for_transaction(claim: claims.WaitsForTransaction, truth: Truth, context: Context) -> str | None:
    assert truth.topics is not None
    for wait in claim.waits:
        place = _place(wait.partition, truth, context)
        begun = truth.topics.open_at(place, context.reported_ms)
        if begun is None:
            return f"no transaction is open in {place[0]}-{place[2]}"
        if context.reported_ms - begun.started_ms < OPEN_REPORTED_MS:
            return f"it began {context.reported_ms - begun.started_ms} ms before"
        if (wait.transactional_id, wait.started_ms) != (begun.name, begun.started_ms):
            return f"that of {begun.name} is open since {begun.started_ms}"
        if (wait.partition.committed_offset or 0) < begun.first_offset:
            return f"read_committed reads up to {begun.first_offset}"
    return None


def stands_still(claim: claims.StandsStill, truth: Truth, context: Context) -> str | None:
    for partition in claim.partitions:
        why = _stands(partition, truth, context)
        if why is not None:
            return f"{partition.partition.topic}-{partition.partition.partition}: {why}"
    standing = {_place(partition.partition, truth, context) for partition in claim.partitions}
    since_ms = min(partition.since_ms for partition in claim.partitions)
    owners = {partition.owner.member_id for partition in claim.partitions}
    held = {
        holding.partition
        for holding in truth.holdings
        if holding.member_id in owners and holding.span[0] <= context.reported_ms < holding.span[1]
    }
    moved = {each for each in held - standing if _last_move(each, truth, context.reported_ms) > since_ms}
    if claim.others is Goes.ON and not moved:
        return "none of the other partitions moved"
    if claim.others is Goes.NOT and moved:
        return f"{len(moved)} other partitions moved"
    return None


def _last_move(partition: Partition, truth: Truth, reported_ms: int) -> int:
    """When its committed offset last became another one."""
    moved_ms, before = 0, -1
    for at_ms, _, place, offset in sorted(truth.commits):
        if place == partition and at_ms <= reported_ms and offset != before:
            moved_ms, before = at_ms, offset
    return moved_ms


def _stands(standing: StandingPartition, truth: Truth, context: Context) -> str | None:
    assert truth.topics is not None
    place, reported_ms = _place(standing.partition, truth, context), context.reported_ms
    since_ms = standing.since_ms
    if reported_ms - since_ms < STANDS_REPORTED_MS:
        return f"it stands still for {reported_ms - since_ms} ms"
    moved_ms = _last_move(place, truth, reported_ms)
    if moved_ms > since_ms + INSTANT_MS:
        return f"it moved {moved_ms - since_ms} ms after it is said to stand still"
    committed = standing.partition.committed_offset
    end = truth.log_end_at(place, reported_ms)
    if committed is None or end is None or end <= committed:
        return f"its log ends at {end}"
    oldest_ms = truth.topics.appended_ms(place, committed)
    if oldest_ms is not None and abs(oldest_ms - standing.oldest_ms) > RECORD_MS:
        return f"its oldest record is of {oldest_ms}"
    begun = truth.topics.open_at(place, reported_ms)
    if begun is not None and committed >= begun.first_offset:
        return f"it waits for the transaction of {begun.name}"
    owner = standing.owner.member_id
    held = [
        (_assigned_ms(place, owner, each.span[0], truth), each.span[1])
        for each in truth.by_partition.get(place, ())
        if each.member_id == owner
    ]
    has_it = any(start - NETWORK_MS <= since_ms and reported_ms <= end + NETWORK_MS for start, end in held)
    if not has_it and not _is_assigned_by_name(place, owner, since_ms, truth):
        return f"{owner} has not had it all the time"
    return None


def _is_assigned_by_name(place: Partition, owner: str, at_ms: int, truth: Truth) -> bool:
    """Whether a member was last assigned a partition of a topic of this name, which was deleted and made again since.

    As long as it has as many partitions, nobody asks for another assignment.
    """
    theirs = [plan.assigned[owner] for plan in truth.plans if plan.at_ms <= at_ms and owner in plan.assigned]
    had = theirs[-1] if theirs else ()
    return any((name, index) == (place[0], place[2]) and topic_id != place[1] for name, topic_id, index in had)


def _assigned_ms(place: Partition, owner: str, held_ms: int, truth: Truth) -> int:
    """When a member that took a partition at a time had been assigned it: its own request may have come later."""
    theirs = [plan for plan in truth.plans if plan.at_ms <= held_ms and place in plan.assigned.get(owner, ())]
    return min((plan.at_ms for plan in theirs if plan.generation_id == theirs[-1].generation_id), default=held_ms)


def subscribed_topic_missing(claim: claims.SubscribedTopicMissing, truth: Truth, context: Context) -> str | None:
    _, partitions = truth.topic_at(claim.topic, context.reported_ms)
    if partitions:
        return f"it is there, with {partitions} partitions"
    for member in claim.members:
        process = truth.process_of(member.member_id)
        said = (
            []
            if process is None
            else [subscription for subscription in process.subscriptions if subscription.at_ms <= context.reported_ms]
        )
        if said and not any(claim.topic in each.topics for each in said):
            return f"{member.member_id} never subscribed to it"
    gone = [
        topic_change.at_ms
        for topic_change in truth.topic_changes
        if topic_change.name == claim.topic and not topic_change.partitions
    ]
    if claim.gone_ms is not None and not any(at_ms <= claim.gone_ms for at_ms in gone):
        return "it was not deleted by then"
    return None


def out_of_range(claim: claims.OutOfRange, truth: Truth, context: Context) -> str | None:
    for partition in claim.partitions:
        topic_id, _ = truth.topic_at(partition.topic, context.reported_ms)
        end = truth.log_end_at((partition.topic, topic_id, partition.partition), context.reported_ms)
        if end is not None and partition.committed_offset is not None and partition.committed_offset <= end:
            return f"{partition.topic}-{partition.partition} ends at {end}"
    return None


def unowned_partitions(claim: claims.UnownedPartitions, truth: Truth, context: Context) -> str | None:
    for partition in claim.partitions:
        for holding in truth.holdings:
            name, _, index = holding.partition
            start, end = holding.span
            is_it = (name, index) == (partition.topic, partition.partition)
            if is_it and start + NETWORK_MS < context.reported_ms < end - NETWORK_MS and truth.rightful(holding):
                return f"{holding.member_id} has {name}-{index}"
    return None


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.OutOfRange: out_of_range,
    claims.StandsStill: stands_still,
    claims.SubscribedTopicMissing: subscribed_topic_missing,
    claims.UnownedPartitions: unowned_partitions,
    claims.WaitsForTransaction: waits_for_transaction,
}
