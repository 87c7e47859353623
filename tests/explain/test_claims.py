"""Claims, and that sentences about groups are made nowhere but in `explain/sentences/`."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from coordinator import explain
from coordinator.explain.claims import advice, causes, course, endings, findings, notes, price, share, silences, workers
from coordinator.explain.claims.advice import Advice, Try
from coordinator.explain.claims.claim import Claim
from coordinator.explain.makers.advice import ADVICE_MAX
from tests.explain import claim_examples as examples
from tests.explain.consumers import Consumers

PACKAGE: Final = Path(explain.__file__).parent
MODULES: Final = (advice, causes, course, endings, findings, notes, price, share, silences, workers)
WITHOUT_WORDS: Final = {endings.Stable, silences.CoordinatorAway}
"""What is told otherwise: how long it took says that it was stable; absences have examples in the story."""

PROSE: Final = re.compile(r"[a-z]+ [a-z]+", re.IGNORECASE)
NO_PROSE: Final = (
    "group epoch",
    "consumer poll timeout has expired",
    "rebalance failed due to",
    "the consumer is being closed",
    "the consumer unsubscribed from all topics",
    "need to re-join with the given member-id",
    "member was removed by an admin",
    "need to revoke partitions",
    "cached metadata has changed",
    "subscription has changed",
    "group is already rebalancing",
)
"""The name of a number, and what Java's consumer says, which is compared with what a member said."""

TOLD_OF_GROUPS: Final = re.compile(
    r"(has|have|had) (no|an) owner|nobody (consumed|owns)|was silent|held up| needlessly|stood still|took the place"
    r"|was deleted|rejoined with|its process|was removed|came back|left (the group|without)|was fenced|had to go"
)
"""Words that sentences about groups have."""


def all_claims() -> list[type[Claim]]:
    return [
        var
        for module in MODULES
        for var in vars(module).values()
        if inspect.isclass(var)
        and var.__module__ == module.__name__
        and issubclass(var, Claim)
        and var is not findings.Found
    ]


def texts(path: Path) -> Iterator[str]:
    """The literal texts of a module, without docstrings and what only a programmer reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.msg is not None:
            left_out.update(id(each) for each in ast.walk(node.msg))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


@pytest.mark.parametrize("claim", all_claims(), ids=lambda each: each.__name__)
def test_each_claim_says_when_it_is_true_and_has_an_example(claim):
    assert len(inspect.getdoc(claim) or "") > 20
    every = (*examples.STORY, *examples.TRIES, *examples.FOUND, *examples.NOTES)
    own = [each for each in every if type(each) is claim]
    assert own or claim in WITHOUT_WORDS
    for partition in own:
        words = examples.told(partition)
        assert words
        assert all(text and text.isprintable() and "None" not in text for text in words)


def test_each_kind_of_advice_has_words_of_its_own():
    words = [examples.told(each)[0] for each in examples.TRIES]
    assert len(set(words)) == len(Try)


def test_claims_are_written_as_json_with_their_names():
    for claim in (*examples.STORY, *examples.TRIES, *examples.FOUND):
        written = msgspec.json.decode(msgspec.json.encode(claim))
        assert written["claim"] == type(claim).__name__
        assert set(written["evidence"]) == {"known", "events"}


def sources_without_sentences() -> list[Path]:
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name not in ("sentences", "protocols") and path.name not in ("words.py", "story.py")
    ]


@pytest.mark.parametrize("path", sources_without_sentences(), ids=lambda each: str(each.relative_to(PACKAGE)))
def test_nothing_but_sentences_and_protocols_writes_prose(path):
    prose = [text for text in texts(path) if PROSE.search(text) and text not in NO_PROSE]
    assert not prose


def surfaces() -> list[Path]:
    """What shows people something about groups: commands, the page, tables, the test kit, the demo."""
    root = PACKAGE.parent
    return [
        path
        for folder in ("cli", "dashboard", "pipeline", "testing", "demo")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".py", ".js", ".html") and "vendor" not in path.parts
    ]


@pytest.mark.parametrize("path", surfaces(), ids=lambda each: f"{each.parent.name}/{each.name}")
def test_no_surface_has_a_sentence_about_groups_of_its_own(path):
    if path.suffix == ".py":
        found = list(texts(path))
    else:
        source = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found = re.findall(r"\"[^\"\n]*\"|`[^`]*`|'[^'\n]*'", source)
    assert not [text for text in found if TOLD_OF_GROUPS.search(text)]


def test_the_figures_of_a_story_are_those_of_its_claims():
    group = Consumers().group_of("one", "two")
    group.leave("two")
    group.settle()
    story = group.story()
    moved = next(claim for claim in story.claims if isinstance(claim, price.Moved))
    numbers = {number.name: number.value for number in story.numbers}
    assert (numbers["partitions_moved"], numbers["partitions"]) == (moved.moved, moved.partitions)
    assert all(claim.evidence.events for claim in story.claims if not isinstance(claim, Advice))


def test_advice_rests_on_claims_of_the_story_and_there_is_little_of_it():
    group = Consumers().group_of("one", "two", "three")
    group.vanish("two")
    group.settle()
    story = group.story()
    given = [claim for claim in story.claims if isinstance(claim, Advice)]
    assert 1 <= len(given) <= ADVICE_MAX
    for each in given:
        assert each.because
        assert all(because in story.claims for because in each.because)
