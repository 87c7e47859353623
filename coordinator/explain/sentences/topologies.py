"""Tasks of streams groups (KIP-1071), and why a topology cannot run, in words."""

from collections.abc import Sequence
from typing import Final

from coordinator.explain.words import listed, plain

TOPICS_NAMED: Final = 5
TASKS_NAMED: Final = 5


def tasks_named(tasks: Sequence[tuple[str, int]]) -> str:
    """`tasks` are subtopologies and numbers."""
    named = [plain(f"{subtopology_id}_{number}") for subtopology_id, number in tasks[:TASKS_NAMED]]
    return f"task{'' if len(tasks) == 1 else 's'} {listed(named, more=len(tasks) - len(named))}"


def topology_problem(status: str, topics: Sequence[str], unnamed: int, *, is_over: bool = False) -> str:
    """Why a topology cannot run, as a clause. `status` is as in `streams.topology`; empty: not known."""
    named = [plain(topic) for topic in topics[:TOPICS_NAMED]]
    more = len(topics) - len(named) + unnamed
    match status:
        case "missing_source_topics":
            return _are_missing("source topic", named, more, is_over)
        case "missing_internal_topics":
            return _are_missing("internal topic", named, more, is_over)
        case "incorrectly_partitioned_topics":
            is_one = len(named) + more == 1
            have = "had" if is_over else "has" if is_one else "have"
            numbers = "another number" if is_one else "other numbers"
            return f"{listed(named, more=more)} {have} {numbers} of partitions than it needs"
        case _:
            return "topics are missing or have other numbers of partitions than it needs"


def _are_missing(what: str, named: Sequence[str], more: int, is_over: bool) -> str:
    is_one = len(named) + more == 1
    are = ("was" if is_one else "were") if is_over else "is" if is_one else "are"
    return f"{what}{'' if is_one else 's'} {listed(named, more=more)} {are} missing"
