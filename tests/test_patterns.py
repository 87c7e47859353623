"""Regular expressions of clients: they match as RE2 does, within bounds of time and memory."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.patterns import MATCH_STEPS_MAX, PATTERN_LENGTH_MAX, InvalidPattern, Pattern

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\.", "(a|b)", "(ab)", "^", "$"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
PARTS = st.builds(lambda atom, repeat: atom if atom in "^$" else atom + repeat, ATOMS, REPEATS)
PATTERNS = st.lists(PARTS, max_size=5).map("".join)


@given(PATTERNS, st.text("ab1.", max_size=6))
def test_it_matches_as_re_does(pattern, text):
    assert Pattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


@given(st.lists(PATTERNS, min_size=1, max_size=3), st.text("ab", max_size=4))
def test_nested_and_alternative_expressions(patterns, text):
    pattern = f"({'|'.join(patterns)})*"
    assert Pattern(pattern).matches(text) == (re.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(?i)PAY-.+?s", "pay-ments"), (r"\Qa.b\E", "a.b"), (r"\pL+", "früh"), ("(?P<x>a)", "a"), (".", "ü")],
)
def test_what_re2_knows_is_supported(pattern, text):
    assert Pattern(pattern).matches(text)
    assert not Pattern(pattern).matches(text + "!")


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*a){20}.*c", "(.*a.{20}){8}c", "[ab]*[ab]*a.{200}"])
def test_a_hostile_pattern_ends_soon_or_is_invalid(pattern):
    """Python's `re` takes years for the first ones; RE2 took half a second for the last ones, with an id of 30,000."""
    began = time.process_time()
    compiled = Pattern(pattern)
    for length in (100, 1_000, 30_000):
        try:
            compiled.matches("ab" * (length // 2))
        except InvalidPattern as problem:
            assert "too complex for texts of" in str(problem)
    assert time.process_time() - began < 0.2


def test_a_simple_pattern_matches_the_longest_transactional_ids():
    assert Pattern("my-.*").matches("my-" + "x" * (MATCH_STEPS_MAX // 20))


def test_a_pattern_says_beforehand_whether_it_fits_texts_of_a_length():
    pattern = Pattern("(.{20}){2}.*")
    longest = MATCH_STEPS_MAX // pattern.instructions
    pattern.check_fits(longest)
    pattern.matches("a" * longest)
    with pytest.raises(InvalidPattern, match=f"too complex for texts of {longest + 1} bytes"):
        pattern.check_fits(longest + 1)


def test_the_length_of_a_text_counts_in_bytes():
    pattern = Pattern("(.{20}){2}.*")
    pattern.matches("a" * 700)
    with pytest.raises(InvalidPattern):
        pattern.matches("ü" * 700)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a{2000}",
        "(a{100}){100}",
        r"(a)\1",
        "(?=a)",
        "[",
        "a**",
        "x" * (PATTERN_LENGTH_MAX + 1),
        r"(\pL{50}){20}",
    ],
)
def test_what_is_not_supported_is_invalid(pattern):
    with pytest.raises(InvalidPattern) as raised:
        Pattern(pattern)
    assert str(raised.value) and "\n" not in str(raised.value) and not str(raised.value).startswith("b'")
