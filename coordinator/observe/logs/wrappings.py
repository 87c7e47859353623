"""What other programs put around a line: each takes its part off.

`kubectl logs --prefix` and `--timestamps`, containerd, `docker compose logs`, journald, logcli and `aws logs tail`
write before the line; Docker's json-file, journald's, Loki's and CloudWatch's exports put it into an object.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from coordinator.observe.logs.layouts import HEAD
from coordinator.observe.logs.times import fraction_ms, offset_ms, utc_ms

STAMP: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
ISO: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))? ?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


class Unwrapped(NamedTuple):
    """The rest of a line, and what the part that was taken off says."""

    text: str
    stream: str = ""
    received_ms: int | None = None
    is_part: bool = False


class Whole(NamedTuple):
    """An entry of a layout of log4j2 or Logback that is an object."""

    message: str
    time_ms: int | None
    logger: str | None
    thrown: str = ""


Step = Callable[[str], Unwrapped | Whole | None]


def iso_ms(text: str) -> int | None:
    """Of a time with a zone, in ms since the epoch; None if it has no zone or is no time."""
    match = ISO.match(text)
    if match is None or match["zone"] is None:
        return None
    try:
        return utc_ms(match["day"], match["clock"], fraction_ms(match["fraction"])) - offset_ms(match["zone"])
    except ValueError:
        return None


def _pattern(text: str) -> Step:
    """A step of a regular expression with the groups `stream`, `time` and `part`, of which each may be missing."""
    compiled = re.compile(text)
    has = set(compiled.groupindex)

    def unwrap_part(line: str) -> Unwrapped | None:
        match = compiled.match(line)
        if match is None:
            return None
        return Unwrapped(
            line[match.end() :],
            match["stream"] if "stream" in has else "",
            iso_ms(match["time"]) if "time" in has else None,
            "part" in has and match["part"] == "P",
        )

    return unwrap_part


def _time_and_stream(line: str) -> Unwrapped | None:
    """`aws logs tail`: the time, the log stream, the line. Only before a line whose head is known."""
    match = _STAMP_WORD.match(line)
    if match is None or not (line.startswith("{", match.end()) or HEAD.match(line, match.end())):
        return None
    return Unwrapped(line[match.end() :], match["stream"], iso_ms(match["time"]))


_STAMP_WORD: Final = re.compile(rf"(?P<time>{STAMP}) (?P<stream>[^\s\[{{]\S*) ")


def _object(line: str) -> Unwrapped | Whole | None:
    """A line that is an object of JSON."""
    if not line.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(line)
    except msgspec.MsgspecError:
        return None
    return of_object(value) if isinstance(value, dict) else None


def of_object(value: dict[str, Any]) -> Unwrapped | Whole | None:
    """The line in an object, or the entry that it is. None: an object of something else."""
    for key, time_keys, stream_keys in _WRAPPING_KEYS:
        text = value.get(key)
        if isinstance(text, list):
            text = _of_bytes(text)
        if isinstance(text, str) and (key != "message" or not any(name in value for name in _LOGGER_KEYS)):
            is_part = key == "log" and not text.endswith("\n")
            stream = " ".join(str(value[name]) for name in stream_keys if name in value)
            return Unwrapped(text.rstrip("\r\n"), stream, _time(value, time_keys), is_part)
    message = value.get("message", value.get("msg"))
    if isinstance(message, dict):  # an ObjectMessage, or the message with its format
        message = message.get("message")
    logger = next((value[name] for name in _LOGGER_KEYS if isinstance(value.get(name), str)), None)
    if not isinstance(message, str) or logger is None:
        return None
    return Whole(message, _time(value, _TIME_KEYS), logger, _thrown(value))


_LOGGER_KEYS: Final = ("loggerName", "logger_name", "logger", "log.logger", "loggername", "category")
_TIME_KEYS: Final = ("instant", "timeMillis", "@timestamp", "timestamp", "time", "ts", "date")
_STREAMS: Final = ("labels", "stream_labels", "kubernetes", "logStreamName", "@logStream", "pod", "pod_name", "host")
_WRAPPING_KEYS: Final = (
    ("log", ("time", "@timestamp", "timestamp"), ("kubernetes", "container_name", "pod")),
    (
        "MESSAGE",
        ("__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP"),
        ("_HOSTNAME", "_SYSTEMD_UNIT", "CONTAINER_NAME"),
    ),
    ("line", ("timestamp", "ts", "tsNs", "date"), ("labels", "stream")),
    ("@message", ("@timestamp",), ("@logStream",)),
    ("message", ("timestamp", "@timestamp", "time"), _STREAMS),
)
"""The key of the line, those of its time, and those that tell programs apart; the first one that is there counts."""


def _of_bytes(values: list[Any]) -> str | None:
    """journald writes what is no UTF-8, or has control characters, as numbers."""
    try:
        return bytes(values).decode(errors="replace")
    except (TypeError, ValueError):
        return None


def _time(value: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((found for name in keys if (found := _ms(value.get(name))) is not None), None)


def _ms(value: Any) -> int | None:
    """ms since the epoch: of log4j2's instant, a number of seconds, ms, µs or ns, its digits, or a time with a zone."""
    if isinstance(value, dict):
        seconds = value.get("epochSecond")
        return None if not isinstance(seconds, int) else seconds * 1000 + int(value.get("nanoOfSecond", 0)) // 1_000_000
    if isinstance(value, str):
        if not value.isdecimal():
            return iso_ms(value)
        value = int(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    for most, factor in ((10**11, 1000.0), (10**14, 1.0), (10**17, 1e-3), (10**20, 1e-6)):
        if abs(value) < most:
            return (
                int(value * factor)
                if isinstance(value, float) or factor == 1000.0
                else value * 1000 // int(1000 / factor)
            )
    return None


def _thrown(value: dict[str, Any]) -> str:
    found = value.get("stack_trace", value.get("thrown", ""))
    return found if isinstance(found, str) else ""


STEPS: Final[dict[str, Step]] = {
    "kubectl-prefix": _pattern(r"\[(?P<stream>pod/[^\]\s]+)\] "),
    "compose": _pattern(r"(?P<stream>[A-Za-z0-9][\w.-]*) +\| ?"),
    "containerd": _pattern(rf"(?P<time>{STAMP}) std(?:out|err) (?P<part>[FP])(?: |$)"),
    "journal-iso": _pattern(rf"(?P<time>{STAMP}) (?P<stream>[\w.-]+ [^\s:\[]+)(?:\[\d+\])?: "),
    "journal": _pattern(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? (?P<stream>[\w.-]+ [^\s:\[]+)(?:\[\d+\])?: "),
    "logcli": _pattern(rf"(?P<time>{STAMP}) (?P<stream>\{{[^}}]*\}}) "),
    "aws-tail": _time_and_stream,
    "timestamp": _pattern(rf"(?P<time>{STAMP})(?:[ \t]|$)"),
    "object": _object,
}
"""In the order in which they are tried: what says more comes first."""
