"""Mutants of the checks that COORDINATOR_DEBUG arms."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the checks do not know what is stored of a rebuilt group",
        "CheckedStateMachine.serve",
        "self._stored_groups.groups[key] = self._stored_again.groups.pop(key)",
        "pass",
    ),
    Mutant(
        "the checks do not know the end of a transaction",
        "Shard._apply_to_all",
        "part = Decision(tuple(of_key), marker=decision.marker, is_partial=decision.is_partial)",
        "part = Decision(tuple(of_key), is_partial=decision.is_partial)",
    ),
    Mutant(
        "a decision that changes its group passes the checks",
        "CheckedStateMachine._unchanged",
        "if before != after:",
        "if before != before:",
    ),
    Mutant(
        "a record that describes no state of its group passes the checks",
        "DescribedStates.check_all_found",
        "if self._left:",
        "if self._left is None:",
    ),
    Mutant(
        "a group that is read back differently passes the checks",
        "DescribedStates.event_applied",
        "check_reads_back(group)",
        "pass",
    ),
    Mutant(
        "offsets that are not stored pass the checks",
        "check_offsets",
        "if in_memory != in_records:",
        "if in_memory is in_records:",
    ),
    Mutant(
        "a session without a member passes the checks",
        "CheckedStateMachine._check_group",
        'if found != expected:\n    raise CheckFailed(f"group {group_id} has sessions',
        'if expected - found:\n    raise CheckFailed(f"group {group_id} has sessions',
    ),
    Mutant(
        "a timer that is not armed passes the checks",
        "CheckedStateMachine._check_timer_before",
        "if armed != required and not has_fired:",
        "if armed != armed:",
    ),
    Mutant(
        "a timer that was forgotten earlier passes the checks",
        "CheckedStateMachine._check_timer_before",
        "if armed != required and not has_fired:",
        "if armed != required and has_fired:",
    ),
    Mutant(
        "a transition that is not allowed passes the checks",
        "check_transition",
        "if before is not after and before not in group.kind.checks.legal_predecessors[after]:",
        "if before is after and before not in group.kind.checks.legal_predecessors[after]:",
    ),
    Mutant(
        "a waiting request that is forgotten passes the checks",
        "check_answered",
        "if who not in after and request_id not in answered:",
        "if who in after and request_id not in answered:",
    ),
    Mutant(
        "a decision that says wrongly that it keeps the members passes the checks",
        "CheckedStateMachine.apply",
        "if decision.no_step_follows:",
        "if not decision:",
    ),
)
