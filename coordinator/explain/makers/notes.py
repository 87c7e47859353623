"""Claims about what happened to a group beside its rebalances."""

from collections.abc import Iterator

from coordinator.audit.schema import GroupLoaded, MemberRef
from coordinator.explain.changes import Replacement
from coordinator.explain.claims.claim import SEEN, seen
from coordinator.explain.claims.notes import (
    AtTheCluster,
    GroupConverted,
    GroupGone,
    Loaded,
    NotSeen,
    OffsetsGone,
    OffsetsSet,
    PlaceTaken,
    Refusal,
)
from coordinator.explain.claims.silences import CoordinatorAway
from coordinator.explain.folded_group import STABLE
from coordinator.explain.generation import CONSUMER
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.absences import absences

NoteClaim = (
    PlaceTaken
    | OffsetsSet
    | OffsetsGone
    | Refusal
    | Loaded
    | GroupConverted
    | GroupGone
    | NotSeen
    | AtTheCluster
    | CoordinatorAway
)


def note_claims(history: GroupHistory) -> list[NoteClaim]:
    """All of a history, in the order of their times."""
    is_epoch = history.group_type == CONSUMER
    found: list[NoteClaim] = [
        *(_replaced(replacement) for replacement in _replaced_without_rebalance(history)),
        *(OffsetsSet(at_ms=reset.time_ms, event=reset, evidence=seen(reset.seq)) for reset in history.resets),
        *(
            OffsetsGone(at_ms=deletion.time_ms, event=deletion, evidence=seen(deletion.seq))
            for deletion in history.deletions
        ),
        *(
            Refusal(at_ms=rejected.time_ms, event=rejected, is_epoch=is_epoch, evidence=seen(rejected.seq))
            for rejected in history.rejected
        ),
        *(_loaded(history, load) for load in history.loads),
        *(
            GroupConverted(
                at_ms=conversion.time_ms,
                group_type=conversion.group_type,
                members=len(conversion.members),
                evidence=seen(conversion.seq),
            )
            for conversion in history.conversions
        ),
        *(GroupGone(at_ms=removal.time_ms, event=removal, evidence=seen(removal.seq)) for removal in history.removals),
        *(NotSeen(at_ms=unseen.time_ms, event=unseen, evidence=seen(unseen.seq)) for unseen in history.unseen),
        *absences(history),
        *(
            AtTheCluster(at_ms=group_held_by_cluster.time_ms, event=group_held_by_cluster, evidence=SEEN)
            for group_held_by_cluster in history.held
        ),
    ]
    return sorted(found, key=lambda note: note.at_ms)


def _loaded(history: GroupHistory, event: GroupLoaded) -> Loaded:
    return Loaded(at_ms=event.time_ms, evidence=seen(event.seq), **history.move_of(event)._asdict())


def _replaced_without_rebalance(history: GroupHistory) -> Iterator[Replacement]:
    """Replacements of static members that no generation tells of."""
    for generation in history.generations:
        yield from generation.replaced_while_stable
    if history.state == STABLE:
        yield from history.pending_changes.replaced


def _replaced(change: Replacement) -> PlaceTaken:
    before = MemberRef(change.old_member_id, change.old_client_id, change.old_client_host)
    return PlaceTaken(at_ms=change.at_ms, member=change.member, before=before, evidence=seen(change.seq))
