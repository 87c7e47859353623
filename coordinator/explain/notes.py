"""What happened to a group beside its rebalances, in words: resets, deletions, rejected requests, loads, members at
another coordinator, and the coordinator's own absence."""

from typing import NamedTuple

from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.notes import NoteClaim, note_claims
from coordinator.explain.sentences.notes import note


class Note(NamedTuple):
    """Something that happened at a wall-clock time. The text is a clause, free of control characters."""

    time_ms: int
    text: str
    claim: NoteClaim


def notes(history: GroupHistory) -> list[Note]:
    """All notes of a history, in the order of their times."""
    return [Note(note_claim.at_ms, note(note_claim), note_claim) for note_claim in note_claims(history)]
