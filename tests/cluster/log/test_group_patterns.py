"""Which groups a rule is about."""

import asyncio
import fnmatch
import random
import re
from time import process_time
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from coordinator.cluster.log.group_patterns import NAME_CHARACTERS_MAX, GroupPattern
from coordinator.cluster.log.notes import Notes, Rule, rule_record
from coordinator.cluster.ownership import GroupOwnership


@pytest.mark.parametrize(
    ("pattern", "group_id", "is_match"),
    [
        ("web", "web", True),
        ("web", "web-1", False),
        ("web-*", "web-1", True),
        ("web-*", "web-", True),
        ("*", "", True),
        ("*", "a\nb", True),
        ("web-?", "web-1", True),
        ("web-?", "web-12", False),
        ("a[b]*", "a[b]c", True),
        ("a[b]*", "ab", False),
        ("a.b", "a.b", True),
        ("a.b", "axb", False),
        ("Web*", "web-1", False),
    ],
)
def test_names_and_patterns(pattern: str, group_id: str, is_match: bool) -> None:
    assert GroupPattern(pattern).matches(group_id) is is_match


def test_it_matches_what_a_regular_expression_does():
    chance = random.Random(1)
    outcomes = set()
    for _ in range(20_000):
        pattern = "".join(chance.choices("ab?*", k=chance.randrange(8)))
        group_id = "".join(chance.choices("ab", k=chance.randrange(10)))
        expected = re.fullmatch(fnmatch.translate(pattern), group_id) is not None
        assert GroupPattern(pattern).matches(group_id) is expected, (pattern, group_id)
        outcomes.add(expected)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("pattern", "seconds"), [("*a*a*a*b", 0.05), ("*a*a*a*b*", 0.05), ("a*" * 400 + "b", 0.5), ("*a?a?b*a?b*", 2)]
)
def test_long_names_are_matched_in_linear_time(pattern: str, seconds: float) -> None:
    """The names are those that take longest: no place is the right one, and each is one nearly."""
    names = ["a" * 32_000 + str(number) for number in range(1_000)]
    rule = GroupPattern(pattern)
    taken = []
    for _ in range(3):
        began = process_time()
        assert not any(map(rule.matches, names))
        taken.append(process_time() - began)
    assert min(taken) < seconds


def ownership(notes: Notes, *adopted: str) -> GroupOwnership:
    """Of a node that leads the one partition there is."""
    shard = SimpleNamespace(store=None)
    coordinator: Any = SimpleNamespace(partition_of=lambda group_id: 0, shards=[shard])

    async def make() -> GroupOwnership:
        return GroupOwnership(coordinator, MagicMock(), adopted, lambda: 0)

    made = asyncio.run(make())
    made.notes_of = lambda partition: notes  # type: ignore[method-assign]
    return made


def test_a_rule_counts_from_its_note_to_the_next_one():
    notes = Notes()
    owner = ownership(notes, "from-settings-*")
    assert [owner.is_adopted(name) for name in ("web-1", "from-settings-1")] == [False, True]
    notes.apply(*rule_record("web-*", Rule(is_adopted=True, at_ms=1, by="u")))
    notes.apply(*rule_record("web-2", Rule(is_adopted=False, at_ms=1, by="u")))
    assert [owner.is_adopted(name) for name in ("web-1", "web-2")] == [True, False]
    notes.apply(*rule_record("web-*", Rule(is_adopted=False, at_ms=2, by="u")))
    assert not owner.is_adopted("web-1")


def test_a_longer_id_than_a_rule_may_name_stays_with_the_cluster():
    owner = ownership(Notes(), "*")
    assert owner.is_adopted("g" * NAME_CHARACTERS_MAX)
    assert not owner.is_adopted("g" * (NAME_CHARACTERS_MAX + 1))
