"""How a line of the log looks, in each style; what a client sent forges nothing in any of them."""

import json
import time

import pytest

from coordinator.cli.log_styles import STYLES, Line, coloured_style
from coordinator.cli.server_process import LOG_STYLES
from coordinator.logger import traceback_text

ALL = {**STYLES, "coloured": coloured_style}
HOSTILE = "g\x1b[2J\n2026-01-01 [info] forged\u202e\udc80"
AT_S = 1_764_417_600.125
"""2025-11-29 12:00:00.125 UTC."""


def line(**fields: object) -> Line:
    return Line(AT_S, "info", "group transition", fields)


def test_the_option_has_all_styles():
    assert set(LOG_STYLES) == set(STYLES)


def test_text_has_time_level_event_and_fields_in_columns():
    assert STYLES["text"]()(line(group="billing", generation=3, reason="join phase completed", empty="")) == (
        "2025-11-29T12:00:00.125+00:00 [info     ] group transition              "
        " group=billing generation=3 reason='join phase completed' empty=''\n"
    )


def test_json_is_an_object_a_line_with_the_types_of_the_fields():
    text = STYLES["json"]()(line(group="billing", generation=3, paths={"a"}))
    assert text.endswith("\n")
    assert json.loads(text) == {
        "timestamp": "2025-11-29T12:00:00.125+00:00",
        "level": "info",
        "event": "group transition",
        "group": "billing",
        "generation": 3,
        "paths": "{'a'}",
    }


@pytest.mark.parametrize("style", ALL)
def test_any_value_can_be_written(style):
    """An exception would end the thread that writes, and with it the log."""
    values = {("topic", 0): b"\xff"}, [{1: object()}], float("inf"), 1 << 80, b"\x1b[2J", ValueError("x")
    for value in values:
        assert ALL[style]()(line(value=value)).count("\n") == 1


def test_kafka_is_the_pattern_of_its_brokers_in_local_time(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        style = STYLES["kafka"]()
        assert style(line(group="billing")) == (
            "[2025-11-29 13:00:00,125] INFO group transition group=billing (coordinator)\n"
        )
        assert style(Line(AT_S, "warning", "said", {})) == "[2025-11-29 13:00:00,125] WARN said (coordinator)\n"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("style", ALL)
def test_what_a_client_sent_stays_in_its_line(style):
    text = ALL[style]()(line(group=HOSTILE, groups=[HOSTILE]))
    assert text.count("\n") == 1
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    text.encode()


@pytest.mark.parametrize("style", ALL)
def test_a_traceback_follows_its_line(style):
    try:
        raise ValueError(HOSTILE)
    except ValueError as problem:
        traceback = traceback_text(problem)
    text = ALL[style]()(Line(AT_S, "error", "failed", {"api": "Fetch"}, traceback))
    assert "\x1b[2J" not in text
    if style == "json":
        assert json.loads(text)["exception"] == traceback
        return
    first, *others = text.splitlines()
    assert "failed" in first and "Fetch" in first
    assert others and all(other.startswith("  | ") for other in others)
