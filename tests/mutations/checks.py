"""Mutants of the checks that COORDINATOR_DEBUG arms."""

from typing import Final

from tests.mutations.mutant import Mutant

CHECKED: Final = "coordinator/groups/checked.py"

MUTANTS: Final = (
    Mutant(
        "the checks do not know what is stored of a rebuilt group",
        CHECKED,
        "            self._stored_groups.groups[key] = self._stored_again.groups.pop(key)\n",
        "            pass\n",
    ),
    Mutant(
        "the checks do not know the end of a transaction",
        "coordinator/runtime/shard.py",
        "part = Decision(tuple(of_key), marker=decision.marker, is_partial=decision.is_partial)",
        "part = Decision(tuple(of_key), is_partial=decision.is_partial)",
    ),
    Mutant(
        "a decision that changes its group passes the checks",
        CHECKED,
        "            if before != after:\n",
        "            if before != before:\n",
    ),
    Mutant(
        "a record that describes no state of its group passes the checks",
        CHECKED,
        "        if self._left:\n",
        "        if self._left is None:\n",
    ),
    Mutant(
        "a group that is read back differently passes the checks",
        CHECKED,
        "                check_reads_back(record, group)\n",
        "                pass\n",
    ),
    Mutant(
        "offsets that are not stored pass the checks",
        CHECKED,
        "        if in_memory != in_records:\n",
        "        if in_memory is in_records:\n",
    ),
    Mutant(
        "a session without a member passes the checks",
        CHECKED,
        '        if found != wanted:\n            raise CheckFailed(f"group {group_id} has sessions',
        '        if wanted - found:\n            raise CheckFailed(f"group {group_id} has sessions',
    ),
    Mutant(
        "a timer that is not armed passes the checks",
        CHECKED,
        "        if armed != wanted:\n",
        "        if armed != armed:\n",
    ),
    Mutant(
        "a timer that was forgotten earlier passes the checks",
        CHECKED,
        "        if armed != wanted and not has_fired:\n",
        "        if armed != wanted and has_fired:\n",
    ),
    Mutant(
        "a transition that is not allowed passes the checks",
        CHECKED,
        "    if before is not after and before not in LEGAL_PREDECESSORS[after]:\n",
        "    if before is after and before not in LEGAL_PREDECESSORS[after]:\n",
    ),
    Mutant(
        "a waiting request that is forgotten passes the checks",
        CHECKED,
        "        if who not in after and request_id not in answered:\n",
        "        if who in after and request_id not in answered:\n",
    ),
    Mutant(
        "a decision that says wrongly that it keeps the members passes the checks",
        CHECKED,
        "            if decision.no_step_follows:\n",
        "            if not decision:\n",
    ),
)
