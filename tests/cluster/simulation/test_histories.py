"""A batch of short histories of nodes in front of a cluster, and whether all that can happen did."""

from collections import Counter

import pytest

from tests.cluster.simulation.playing import play

pytestmark = pytest.mark.timeout(300)

BATCH = range(24)
SHORT = 12
"""Faults of a history."""


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    """What happened in all histories of the batch, and how often."""
    together: Counter[str] = Counter()
    for seed in BATCH:
        together += play(seed, SHORT).seen
    return together


def test_a_batch_of_histories_breaks_no_rule(seen: Counter[str]) -> None:
    assert seen["success"] > 100 * len(BATCH)


def test_everything_that_can_happen_happens(seen: Counter[str]) -> None:
    refusals = [f"refusals of {what}" for what in ("log", "groups", "commits", "transactions")]
    faults = ("pause", "kill", "stop", "start", "lost connection", "slow network", "move of leaders", *refusals)
    others = ("expired transactional id", "takeover", "partitions by name", "partitions by a pattern")
    assert {each for each in (*faults, *others) if not seen[each]} == set()


def test_a_history_has_the_same_course_each_time() -> None:
    assert play(5, SHORT).history == play(5, SHORT).history
