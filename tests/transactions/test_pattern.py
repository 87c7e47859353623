"""Regular expressions of ListTransactions: they match as `re` does, in linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.broker.slices import at_once
from coordinator.transactions.pattern import InvalidPattern, Pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "(a|b)", "(ab)", "^", "$"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
PARTS = st.builds(lambda atom, repeat: atom if atom in "^$" else atom + repeat, ATOMS, REPEATS)
PATTERNS = st.lists(PARTS, max_size=5).map("".join)


@given(PATTERNS, st.text("ab1.", max_size=6))
def test_it_matches_as_re_does(pattern, text):
    assert at_once(Pattern(pattern).fullmatch(text)) == (re.fullmatch(pattern, text) is not None)


@given(st.lists(PATTERNS, min_size=1, max_size=3), st.text("ab", max_size=4))
def test_nested_and_alternative_expressions(patterns, text):
    pattern = f"({'|'.join(patterns)})*"
    assert at_once(Pattern(pattern).fullmatch(text)) == (re.fullmatch(pattern, text) is not None)


def test_what_takes_re_forever_takes_steps_in_proportion_to_the_text():
    steps = sum(1 for _ in Pattern("(a+)+b").fullmatch("a" * 10_000))
    assert steps < 200


@pytest.mark.parametrize(
    "pattern", ["(", "a{2000}", "(a{100}){100}", r"(a)\1", "(?=a)", "(?i)a", "(?i:a)", "[", "x" * 1001, "a**"]
)
def test_what_is_not_supported_is_invalid(pattern):
    with pytest.raises(InvalidPattern):
        Pattern(pattern)
