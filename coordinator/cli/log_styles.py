"""How a line of the log looks: text for people, JSON for what collects logs, the pattern of Kafka's brokers.

What clients sent is in the fields of a line. In no style may it end the line, move the cursor or be invisible.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import msgspec

from coordinator.logger import LEVELS

EVENT_WIDTH: Final = 30
"""Columns of the event, so that fields begin in the same column."""

RESET, BOLD, DIM, RED, GREEN, YELLOW, CYAN, MAGENTA = (
    f"\x1b[{code}m" for code in ("0", "1", "2", "31", "32", "33", "36", "35")
)
IN_BRACKETS: Final = {level: f"[{level:<9}]" for level in LEVELS}
LEVEL_COLOURS: Final = {"debug": GREEN, "info": GREEN, "warning": YELLOW, "error": RED}


class Line(msgspec.Struct, frozen=True):
    """What was logged. `traceback` is harmless for a terminal (`coordinator.logger.traceback_text`), "" if none."""

    time_s: float
    level: str
    event: str
    fields: dict[str, Any]
    traceback: str = ""


Style = Callable[[Line], str]
"""Line → its text, with the line feed at its end."""


class TimeText:
    """Times as text. Lines of one second share most of it."""

    def __init__(self, pattern: str, zone: tzinfo | None) -> None:
        """`pattern` is that of `strftime`; `zone` None: the local one."""
        self._pattern, self._zone = pattern, zone
        self._second = -1
        self._text = ""

    def of(self, time_s: float) -> tuple[str, int]:
        """The text of the second, and the milliseconds."""
        second = int(time_s)
        if second != self._second:
            self._text = datetime.fromtimestamp(second, self._zone).strftime(self._pattern)
            self._second = second
        return self._text, int((time_s - second) * 1_000)


def value_text(value: Any) -> str:
    """A value of a field; quoted with escapes if it is empty, or could be taken for more than one word."""
    quoted = repr(value)
    if type(value) is not str or not value or len(quoted) != len(value) + 2:
        return quoted
    return quoted if " " in value or "=" in value or "'" in value or '"' in value else value


def fields_text(fields: Mapping[str, Any]) -> str:
    """` group=billing generation=3`: each field with a space before it."""
    return "".join([f" {name}={value_text(value)}" for name, value in fields.items()])


def text_style() -> Style:
    """`2026-11-29T12:00:00.000+00:00 [info     ] group transition               group=billing`."""
    time_text = TimeText("%Y-%m-%dT%H:%M:%S", UTC)

    def text(line: Line) -> str:
        second, ms = time_text.of(line.time_s)
        after = f"\n{line.traceback}\n" if line.traceback else "\n"
        event = line.event.ljust(EVENT_WIDTH)
        return f"{second}.{ms:03d}+00:00 {IN_BRACKETS[line.level]} {event}{fields_text(line.fields)}{after}"

    return text


def coloured_style() -> Style:
    """As `text_style`, for a terminal."""
    time_text = TimeText("%Y-%m-%dT%H:%M:%S", UTC)

    def text(line: Line) -> str:
        second, ms = time_text.of(line.time_s)
        after = f"\n{line.traceback}\n" if line.traceback else "\n"
        level = f"{LEVEL_COLOURS[line.level]}{BOLD}{line.level:<9}{RESET}"
        fields = "".join(
            f" {CYAN}{name}{RESET}={MAGENTA}{value_text(value)}{RESET}" for name, value in line.fields.items()
        )
        head = f"{DIM}{second}.{ms:03d}+00:00{RESET} [{level}]"
        return f"{head} {BOLD}{line.event:<{EVENT_WIDTH}}{RESET}{fields}{after}"

    return text


def json_value(value: Any) -> Any:
    """A value as JSON has it: whatever is logged, the line can be written."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    return [json_value(element) for element in value] if type(value) in (list, tuple) else str(value)


def json_style() -> Style:
    """One JSON object a line: `timestamp`, `level`, `event`, the fields, and `exception` where there is one."""
    time_text = TimeText("%Y-%m-%dT%H:%M:%S", UTC)

    def text(line: Line) -> str:
        second, ms = time_text.of(line.time_s)
        found = {"timestamp": f"{second}.{ms:03d}+00:00", "level": line.level, "event": line.event}
        found |= {name: json_value(value) for name, value in line.fields.items()}
        if line.traceback:
            found["exception"] = line.traceback
        return f"{json.dumps(found)}\n"

    return text


def kafka_style() -> Style:
    """`[2026-11-29 12:00:00,000] INFO group transition group=billing (coordinator)`, in local time as brokers do."""
    time_text = TimeText("%Y-%m-%d %H:%M:%S", None)
    levels = {"warning": "WARN"}

    def text(line: Line) -> str:
        second, ms = time_text.of(line.time_s)
        after = f"\n{line.traceback}\n" if line.traceback else "\n"
        level = levels.get(line.level) or line.level.upper()
        return f"[{second},{ms:03d}] {level} {line.event}{fields_text(line.fields)} (coordinator){after}"

    return text


STYLES: Final[Mapping[str, Callable[[], Style]]] = {"text": text_style, "json": json_style, "kafka": kafka_style}
"""By the name that `--log-style` has."""
