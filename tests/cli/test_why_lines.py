"""How long and how wide what the commands say of a group is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from coordinator.cli import source, terminal, why
from coordinator.cli.groups import command
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.explain.consumers import Consumers

Say = Callable[..., list[str]]
NARROW = 34
"""At this width the story of `crashed` has more lines than are shown."""


def crashed() -> GroupHistory:
    """One member falls silent, and another holds up the rebalance that follows."""
    group = Consumers().group_of("one", "two", "three")
    group.vanish("two")
    group.settle(delays={"one": 4_000})
    return group.history()


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    """What a command prints at a width."""
    history = crashed()
    monkeypatch.setattr(source.Source, "read", lambda self, group_id: source.ReadHistory(history, history.last_ms or 0))

    def printed(columns: int, *arguments: str) -> list[str]:
        monkeypatch.setattr(terminal, "width", lambda: columns)
        monkeypatch.setattr(why, "width", lambda: columns)
        done = CliRunner().invoke(command, [*arguments, "--tables", str(tmp_path), "--utc"])
        assert done.exit_code == 0, done.output
        return done.output.splitlines()

    return printed


def story_in(lines: list[str]) -> list[str]:
    """The lines from the headline to the empty line after the advice."""
    first = lines.index("") + 1
    return lines[first : lines.index("", first)]


def test_a_long_story_is_cut_with_a_pointer_and_told_in_full_when_asked_for(say):
    short, full = story_in(say(NARROW, "why", "orders")), story_in(say(NARROW, "why", "orders", "--full"))
    (pointer,) = [line for line in short if line.startswith("…")]
    at = short.index(pointer)
    left_out = len(full) - len(short) + 1
    assert pointer == f"… {left_out} more lines with --full"
    assert short[:at] == full[:at]
    tries = [number for number, line in enumerate(full) if line.startswith("try: ")]
    assert tries
    assert short[at + 1 :] == full[tries[0] :]
    assert at == why.STORY_LINES_SHOWN - 1


def test_a_story_that_is_not_long_is_told_whole(say):
    whole = story_in(say(120, "why", "orders"))
    assert whole == story_in(say(120, "why", "orders", "--full"))
    assert not [line for line in whole if line.startswith("…")]


def test_json_always_has_the_whole_story(say):
    history = crashed()
    assert history.latest is not None
    story = json.loads("\n".join(say(NARROW, "why", "orders", "--json")))["story"]
    told = story_of(history, history.latest)
    assert len(story["paragraphs"]) == len(told.paragraphs)
    assert story["advice"] == list(told.advice)


def test_a_story_is_cut_as_soon_as_it_has_more_lines_than_are_shown(say):
    seen = set()
    for columns in range(24, 90):
        short, full = story_in(say(columns, "why", "orders")), story_in(say(columns, "why", "orders", "--full"))
        happened = next(number for number, line in enumerate(full) if line.startswith("try: "))
        assert (short != full) == (happened > why.STORY_LINES_SHOWN)
        seen.add(short != full)
    assert seen == {True, False}


@pytest.mark.parametrize("columns", [50, 80])
@pytest.mark.parametrize("arguments", [("history", "orders"), ("why", "orders", "--last", "1d")])
def test_the_lines_of_generations_fit_the_terminal(say, columns, arguments):
    lines = say(columns, *arguments)
    assert max(map(len, lines)) <= columns
    figures = " ".join(" ".join(lines).split())
    assert "6 partitions moved because " in figures
    assert any(line.startswith("    1  ") for line in lines)
