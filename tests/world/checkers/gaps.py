"""For how long nobody processed the partitions that the members of a generation were assigned."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.world.checkers.context import Context
from tests.world.checkers.tolerances import BEAT_MS, NETWORK_MS, SYNC_MS
from tests.world.clients import COOPERATIVE
from tests.world.spans import last_before
from tests.world.topics import Partition
from tests.world.truth import Fate, Plan, Truth


class Assigned(dict[Partition, tuple[str, int, str | None]]):
    """Partition → its member in a generation, when that was assigned it, and the owner before, if it had one."""


def plans_until(truth: Truth, context: Context) -> Iterator[Plan]:
    """Those until the generation was stable. A classic member of a consumer group sends SyncGroup after that."""
    whole: tuple[int, frozenset[Partition]] = -1, frozenset()
    for plan in truth.plans:
        if plan.is_whole:
            whole = plan.generation_id, frozenset().union(*plan.assigned.values())
        elif plan.generation_id == whole[0] and plan.is_synced and not context.is_epoch:
            # By the names of what it had, a static member is told partitions of a topic that was made again since.
            assigned = {member_id: partitions & whole[1] for member_id, partitions in plan.assigned.items()}
            plan = plan._replace(assigned=assigned)  # noqa: PLW2901
        is_late = context.is_epoch and plan.is_synced and plan.generation_id == context.generation_id
        # Of a topic that was deleted meanwhile nothing is told by then, and was when the generation was stable.
        is_late &= not any(context.known_ms < change.at_ms <= plan.at_ms for change in truth.topic_changes)
        # Of a later generation in the same ms, as after a pause, nothing was known when this one was stable.
        is_next = plan.at_ms == context.known_ms and plan.generation_id > context.generation_id
        if (plan.at_ms <= context.known_ms and not is_next) or (is_late and plan.at_ms <= context.known_ms + SYNC_MS):
            yield plan


def is_since_then(plan: Plan, context: Context) -> bool:
    """Whether a plan was made after the group was disturbed.

    It may have been stable for less than a ms: what was assigned in that ms made it stable, but what is of a later
    generation, as after a pause of the coordinator.
    """
    stable_ms = context.stable_before_ms
    is_later = stable_ms is None or plan.at_ms > stable_ms or plan.generation_id > context.stable_before_id
    return plan.at_ms >= context.disturbed_ms and is_later


def assigned_in(truth: Truth, context: Context) -> Assigned:
    """What the members of a generation were assigned, up to when it was stable."""
    found = Assigned()
    owners: dict[Partition, str] = {}
    last_ms = context.begin_ms
    for plan in plans_until(truth, context):
        if truth.gone_between(last_ms, plan.at_ms):
            owners = {}  # another group of the same name
        last_ms = plan.at_ms
        is_of_it = is_since_then(plan, context)
        for member_id, partitions in plan.assigned.items():
            for partition in partitions:
                before = owners.get(partition)
                if is_of_it and (partition not in found or found[partition][0] != member_id):
                    first = found[partition][2] if partition in found else before
                    found[partition] = member_id, plan.at_ms, first
                owners[partition] = member_id
    return found


def assigned_at_the_end(truth: Truth, context: Context, *, with_leaving: bool = False) -> dict[Partition, str]:
    """Partition → member, when the generation was stable: what nobody was assigned any more is left out.

    `with_leaving`: members that were removed in that ms were there still.
    """
    last: dict[str, tuple[int, frozenset[Partition]]] = {}
    for plan in plans_until(truth, context):
        assigned = {member_id: (plan.at_ms, partitions) for member_id, partitions in plan.assigned.items()}
        last = assigned if plan.is_whole else last | assigned
    until_ms = context.known_ms - with_leaving
    present: dict[str, int] = {}
    """Member id → since when it is there: one of KIP-848 comes again by its id, and has nothing of what it had."""
    for membership in truth.all_memberships():
        if membership.from_ms <= context.known_ms and until_ms < membership.until_ms:
            present[membership.member_id] = membership.from_ms
    return {
        partition: member_id
        for member_id, (at_ms, partitions) in last.items()
        if member_id in present and present[member_id] <= at_ms
        for partition in partitions
    }


class Gap(NamedTuple):
    """How long nobody processed a partition before its member of this generation was assigned it, in ms."""

    least: int
    """An end that no request told counts as if it had come with the next heartbeat."""
    most: int
    """Since its last owner was heard, or processed without doubt."""
    owner: str
    """The member that had it before."""
    is_over: bool = True
    """It was assigned to a process that lived; else it goes on, and is told where somebody has it again."""
    stopped_ms: int = 0
    """When its owner processed it for the last time, as far as that is known."""
    hidden: int = 0
    """For how much of the least nobody coordinated, who could have noticed it."""
    was_released: bool = False
    """An assignment had taken it from its owner."""
    may_be_before: bool = False
    """It ended in the ms in which the rebalance began: perhaps before that, as in the ms in which a pause ended."""
    was_kept: bool = False
    """Its owner has it again without having given it up, or without a word of that: it was suspended, busy, or gone."""


def gaps(truth: Truth, context: Context) -> dict[Partition, Gap]:
    """The longest of each partition that had an owner before: several epochs may have assigned it since."""
    return longest(all_gaps(truth, context))


def longest(known: Iterable[tuple[Partition, Gap]]) -> dict[Partition, Gap]:
    found: dict[Partition, Gap] = {}
    for partition, gap in known:
        if partition not in found or found[partition].most < gap.most:
            found[partition] = gap
    return found


def all_gaps(truth: Truth, context: Context) -> Iterator[tuple[Partition, Gap]]:
    """Each partition that had an owner before, and how long nobody processed it, for each owner that it got."""
    for partition, at_ms, before, now, was_taken, generation_id in _steps(truth, context):
        process = truth.process_of(now)
        gap = _gap(truth, partition, at_ms, before)
        is_over = process is None or process.lived_at(at_ms)
        spans = [each.span for each in truth.by_partition.get(partition, ()) if each.member_id == now]
        was_kept = now == before and any(start < at_ms < end for start, end in spans)
        # Nothing tells of a static member that is gone while it is waited for: it has joined, and sends no LeaveGroup.
        was_kept |= now == before and process is not None and process.out.at(at_ms) and process.lived_at(at_ms)
        # A group that changes its type gives away what a member had that is silent, and not removed yet.
        was_released = was_taken or (before != now and truth.is_member(before, at_ms))
        was_released |= truth.was_taken(partition, before, at_ms)
        is_older = generation_id == context.stable_before_id
        may_be_before = at_ms == context.disturbed_ms and (truth.went_on_at(at_ms) or is_older)
        yield (
            partition,
            gap._replace(is_over=is_over, was_released=was_released, was_kept=was_kept, may_be_before=may_be_before),
        )


def _steps(truth: Truth, context: Context) -> Iterator[tuple[Partition, int, str, str, bool, int]]:
    """Each partition that got another owner, when that was, the owner before, which may be the same one, and now.

    Then whether the one before had been told to give it up, and the generation in which the owner got it.
    """
    owners: dict[Partition, str] = {}
    steps: dict[Partition, list[tuple[str, int, str | None, bool, int]]] = {}
    released: set[Partition] = set()
    last_ms = context.begin_ms
    for plan in plans_until(truth, context):
        if truth.gone_between(last_ms, plan.at_ms):
            owners = {}  # another group of the same name
        last_ms = plan.at_ms
        for member_id, partitions in plan.assigned.items():
            released.update(each for each, owner in owners.items() if owner == member_id and each not in partitions)
            is_eager = plan.is_whole and plan.protocol not in COOPERATIVE
            for partition in partitions:
                before, owners[partition] = owners.get(partition), member_id
                known = steps.setdefault(partition, [])
                # The members of the eager protocol give up what they have, to be assigned it again.
                is_new = not known or known[-1][0] != member_id or partition in released
                is_new |= is_eager and bool(known) and known[-1][4] != plan.generation_id
                was_released = partition in released
                is_new |= bool(known) and truth.was_removed(member_id, known[-1][1], plan.at_ms)
                # So do classic members of a consumer group, and those of a group that changes its type.
                is_new |= bool(known) and _let_go(truth, partition, member_id, known[-1][1], plan.at_ms)
                released.discard(partition)
                if is_since_then(plan, context) and is_new:
                    known.append((member_id, plan.at_ms, before, was_released, plan.generation_id))
    for partition, known in steps.items():
        for member_id, at_ms, before, was_released, generation_id in known:
            if before is not None:
                yield partition, at_ms, before, member_id, was_released, generation_id


def _let_go(truth: Truth, partition: Partition, member_id: str, from_ms: int, until_ms: int) -> bool:
    """Whether a member gave a partition up in a time, and has it not at its end."""
    spans = [each.span for each in truth.by_partition.get(partition, ()) if each.member_id == member_id]
    return any(from_ms < end <= until_ms for _, end in spans) and not any(
        start < until_ms < end for start, end in spans
    )


def _gap(truth: Truth, partition: Partition, at_ms: int, owner: str) -> Gap:
    first_ms, assigned_ms = _assigned_before(truth, partition, at_ms)
    perhaps = last_before(truth.perhaps_processed(partition), at_ms)
    surely = last_before(truth.surely_processed(partition), at_ms)
    removal = truth.removal(owner, at_ms)
    heard = truth.last_arrival(owner, at_ms if removal is None else removal.until_ms, Fate.HANDLED)
    stopped_ms = max(assigned_ms, first_ms if perhaps is None else perhaps, _gave_up(truth, partition, at_ms))
    process = truth.process_of(owner)
    if removal is not None and process is not None and process.cut.within(stopped_ms - 1, removal.until_ms):
        # What the network held back is a sign of life when it arrives, be it a goodbye.
        stopped_ms = max(stopped_ms, truth.last_arrival(owner, removal.until_ms + 1, Fate.HANDLED) or 0)
    if process is not None and process.cut.within(stopped_ms - 1, at_ms) and removal is None:
        stopped_ms = max(stopped_ms, truth.last_arrival(owner, at_ms, Fate.HANDLED) or 0)  # as above, of a JoinGroup
    told = truth.arrivals(owner, stopped_ms - NETWORK_MS, stopped_ms + NETWORK_MS)
    least = at_ms - stopped_ms - (0 if any(line.fate is Fate.HANDLED for line in told) else BEAT_MS)
    most = at_ms - min(first_ms if surely is None else surely, at_ms if heard is None else heard)
    return Gap(max(0, least), most, owner, stopped_ms=stopped_ms, hidden=truth.was_away(stopped_ms, at_ms))


def _gave_up(truth: Truth, partition: Partition, at_ms: int) -> int:
    """When a member last gave it up by itself: it was its owner until then, whatever kept it from processing."""
    found = 0
    for each in truth.by_partition.get(partition, ()):
        end_ms = each.span[1]
        is_its_own = (
            end_ms <= at_ms and each.process.lived_at(end_ms) and bool(each.process.ran([(end_ms, end_ms + 1)]))
        )
        if is_its_own and any(end == end_ms for _, end in truth.rightful(each)):
            found = max(found, end_ms)
    return found


def _assigned_before(truth: Truth, partition: Partition, at_ms: int) -> tuple[int, int]:
    """When the partition was first assigned; and when last to a process that ran, and could have begun with it."""
    first_ms, last_ms = at_ms, 0
    for plan in truth.plans:
        if plan.at_ms >= at_ms:
            break
        for member_id, partitions in plan.assigned.items():
            if partition in partitions:
                process = truth.process_of(member_id)
                first_ms = min(first_ms, plan.at_ms)
                if process is not None and process.ran([(plan.at_ms, plan.at_ms + 1)]):
                    last_ms = plan.at_ms
    return first_ms, last_ms
