"""Mutants of the rows of kinds of groups."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a group of another kind is handled as a classic one",
        "by_kind",
        "handler = group.kind.handlers.get(name)",
        "handler = without_group",
    ),
    Mutant(
        "JoinGroup creates a group beside that of another kind",
        "by_kind",
        "if of_other_kind is not None:",
        "if of_other_kind is None:",
    ),
    Mutant(
        "heartbeats are answered from sessions after a group has changed its kind",
        "DecidedGroups.apply_events",
        "or after is not before or",
        "or",
    ),
    Mutant(
        "heartbeats of all kinds are answered from sessions",
        "has_fast_heartbeats",
        "group.kind.has_fast_heartbeats and",
        "",
    ),
    Mutant(
        "a loaded group of another kind keeps the row of a classic one",
        "StoredGroups._apply_group_record",
        "group.kind, group.membership = KINDS[kind_name], membership",
        "group.membership = membership",
    ),
    Mutant(
        "the tombstone of a classic group removes the group of another kind that it became",
        "_replay",
        "return None if isinstance(before, ClassicGroup) else before",
        "return None",
    ),
    Mutant(
        "a group is created as a classic one whatever its event says",
        "GroupStateMachine._create",
        "new_group(key, event.kind)",
        "new_group(key)",
    ),
    Mutant(
        "what the table says about stored events is not compared with the records",
        "DescribedStates.check_all_found",
        "if self._mismatches:",
        "if self._mismatches is None:",
    ),
    Mutant(
        "OffsetFetch asks no kind whether the member may fetch",
        "fetch.fetch",
        "if error is not NONE:",
        "if error is None:",
    ),
)
