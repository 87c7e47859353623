"""How long a rebalance took and who held it up, in words."""

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.explain.claims.course import (
    EarlierTarget,
    GaveUpLate,
    HeldUp,
    NeverRejoined,
    NeverSynced,
    PendingIds,
    SlowSync,
    Took,
)
from coordinator.explain.sentences.topologies import tasks_named
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import BRIEF_MS, counted, duration, listed, plain, were

IDS_NAMED: Final = 3
PARTITIONS_NAMED: Final = 3


def took(claims: Sequence[Took], wording: Wording) -> Iterator[str]:
    for claim in claims:
        total_ms = claim.join_ms + claim.sync_ms
        yield f"It took {duration(total_ms)}." if total_ms < BRIEF_MS else wording.protocol.took(claim)


def held_up(claims: Sequence[HeldUp], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"{wording.names.of(claim.member)} held up the join phase for {duration(claim.held_up_ms)}."


def never_rejoined(claims: Sequence[NeverRejoined], wording: Wording) -> Iterator[str]:
    for claim in claims:
        limit = f", {duration(claim.limit_ms)}" if claim.limit_ms and claim.limit_ms > 0 else ""
        waited = f"{',' if limit else ''} for which all others waited" if claim.others_waited else ""
        yield (
            f"{wording.names.listed(claim.members)} never rejoined and {were(len(claim.members))} removed after the"
            f" rebalance timeout{limit}{waited}."
        )


def pending_ids(claims: Sequence[PendingIds], wording: Wording) -> Iterator[str]:
    for claim in claims:
        count, ids = len(claim.member_ids), [plain(member_id) for member_id in claim.member_ids[:IDS_NAMED]]
        yield (
            f"The join phase also waited for {counted(count, 'member id')} that {were(count)} handed out and never"
            f" joined: {listed(ids, more=max(0, count - IDS_NAMED))}."
        )


def never_synced(claims: Sequence[NeverSynced], wording: Wording) -> Iterator[str]:
    for claim in claims:
        were_removed = f"{were(len(claim.members))} removed"
        yield f"{wording.names.listed(claim.members)} never sent SyncGroup and {were_removed}."


def slow_sync(claims: Sequence[SlowSync], wording: Wording) -> Iterator[str]:
    for claim in claims:
        role = "The leader, " if claim.is_leader else ""
        yield f"{role}{wording.names.of(claim.member)} took {duration(claim.sync_ms)} to send SyncGroup."


def earlier_target(claims: Sequence[EarlierTarget], wording: Wording) -> Iterator[str]:
    for claim in claims:
        text = f"At {wording.clock(claim.at_ms)} the target assignment of group epoch {claim.epoch} was computed"
        if claim.was_used:
            yield f"{text}, and members reconciled with it first."
        else:
            yield f"{text}: members reconcile with it until that of this epoch is there."


def gave_up_late(claims: Sequence[GaveUpLate], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield _gave_up_late(claim, wording)


def _gave_up_late(claim: GaveUpLate, wording: Wording) -> str:
    who, which = wording.names.of(claim.member), _awaited(claim)
    waiting = wording.names.listed(claim.waiting)
    if claim.gave_up_ms is None:
        wait = "waited" if claim.is_over else "wait" if len(claim.waiting) > 1 else "waits"
        if claim.asked_ms is None:
            return f"{waiting} {wait} for {which}, which {who} still {'had' if claim.is_over else 'has'}."
        has = "had" if claim.is_over else "has"
        return f"{who} was asked to give up {which} and {has} not done so. {waiting} {wait} for it."
    if claim.asked_ms is None:
        ended = ", which was removed" if claim.was_removed else ""
        return f"{waiting} waited {duration(claim.waited_ms or 0)} for {which} of {who}{ended}."
    return f"{who} was asked to give up {which}{_how_it_went(claim)}. {waiting} waited for it."


def _how_it_went(claim: GaveUpLate) -> str:
    """When it was asked, if that was late, and how long it took."""
    late = claim.asked_after_ms >= BRIEF_MS
    asked = f" only {duration(claim.asked_after_ms)} later" if late else ""
    took = duration(claim.took_ms or 0)
    if claim.was_removed:
        return f"{asked}, and was removed {took} {'after that' if late else 'later'}"
    return f"{asked}, and took {took} to do so"


def _awaited(claim: GaveUpLate) -> str:
    """What others waited for: tasks of a streams group, else partitions."""
    if claim.tasks:
        return tasks_named(claim.tasks)
    named = [f"{plain(topic)}-{index}" for topic, indexes in claim.partitions.items() for index in indexes]
    if not named:
        return counted(claim.count, "partition")
    shown = named[:PARTITIONS_NAMED]
    return listed(shown, more=max(0, claim.count - len(shown)))
