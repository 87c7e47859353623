"""The same lines as other programs show them: kubectl, Docker, journald, Loki, CloudWatch and layouts of log4j2."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

LINE: Final = re.compile(r"\[(\S+) (\S+),(\d{3})\] (\w+) (.*) \(([\w.$]+)\)", re.DOTALL)

Base = Callable[[str], str]
Wrap = Callable[[list[tuple[int, str]]], str]


class Fields:
    """A line of Kafka's own pattern, in parts. Lines of other patterns have the time of the one before."""

    def __init__(self, line: str) -> None:
        match = LINE.fullmatch(line)
        assert match is not None, line
        self.day, self.clock, self.ms, self.level, self.message, self.logger = match.groups()
        self.at = datetime.fromisoformat(f"{self.day}T{self.clock}.{self.ms}+00:00")

    @property
    def epoch_ms(self) -> int:
        return round(self.at.timestamp() * 1000)


def kafka(line: str) -> str:
    return line


def strimzi(line: str) -> str:
    it = Fields(line)
    return f"{it.day} {it.clock},{it.ms} {it.level} {it.message} ({it.logger}) [data-plane-kafka-request-handler-3]"


def template_layout(line: str) -> str:
    it = Fields(line)
    instant = {"epochSecond": it.epoch_ms // 1000, "nanoOfSecond": it.epoch_ms % 1000 * 1_000_000 + 236_105}
    return json.dumps(
        {"instant": instant, "thread": "x", "level": it.level, "loggerName": it.logger, "message": it.message}
    )


def old_json_layout(line: str) -> str:
    it = Fields(line)
    return json.dumps({"timeMillis": it.epoch_ms, "level": it.level, "loggerName": it.logger, "message": it.message})


def logstash(line: str) -> str:
    it = Fields(line)
    stamp = f"{it.day}T{it.clock}.{it.ms}Z"
    return json.dumps({"@timestamp": stamp, "@version": "1", "message": it.message, "logger_name": it.logger})


BASES: Final[dict[str, Base]] = {
    each.__name__: each for each in (kafka, strimzi, template_layout, old_json_layout, logstash)
}


def stamp(ms: int, end: str = "683114Z") -> str:
    at = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}{end}"


def _lines(wrap: Callable[[int, str], str]) -> Wrap:
    return lambda entries: "".join(wrap(ms, line) + "\n" for ms, line in entries)


def _dumps(**fields: Any) -> str:
    return json.dumps(fields)


def _pairs(entries: list[tuple[int, str]]) -> str:
    values = [[str(ms * 1_000_000 + 123), line] for ms, line in entries]
    return json.dumps(
        {
            "status": "success",
            "data": {"resultType": "streams", "result": [{"stream": {"pod": "k-0"}, "values": values}]},
        }
    )


WRAPS: Final[dict[str, Wrap]] = {
    "plain": _lines(lambda ms, line: line),
    "crlf": lambda entries: "".join(f"{line}\r\n" for _, line in entries),
    "kubectl-timestamps": _lines(lambda ms, line: f"{stamp(ms)} {line}"),
    "kubectl-prefix": _lines(lambda ms, line: f"[pod/my-cluster-kafka-0/kafka] {line}"),
    "kubectl-both": _lines(lambda ms, line: f"[pod/my-cluster-kafka-0/kafka] {stamp(ms)} {line}"),
    "containerd": _lines(lambda ms, line: f"{stamp(ms)} stdout F {line}"),
    "docker": _lines(lambda ms, line: _dumps(log=f"{line}\n", stream="stdout", time=stamp(ms))),
    "compose": _lines(lambda ms, line: f"kafka_1      | {line}"),
    "compose-colours": _lines(lambda ms, line: f"\x1b[36mkafka-1  | \x1b[0m{line}"),
    "compose-timestamps": _lines(lambda ms, line: f"kafka-1  | {stamp(ms)} {line}"),
    "journal-short": _lines(
        lambda ms, line: f"{datetime.fromtimestamp(ms / 1000, UTC):%b %d %H:%M:%S} host-1 kafka[812]: {line}"
    ),
    "journal-iso": _lines(
        lambda ms, line: f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}+0000 host-1 kafka[812]: {line}"
    ),
    "journal-json": _lines(
        lambda ms, line: _dumps(__REALTIME_TIMESTAMP=str(ms * 1000 + 7), _HOSTNAME="h", MESSAGE=line)
    ),
    "journal-json-bytes": _lines(
        lambda ms, line: _dumps(__REALTIME_TIMESTAMP=str(ms * 1000), MESSAGE=list(line.encode()))
    ),
    "loki-jsonl": _lines(lambda ms, line: _dumps(line=line, timestamp=stamp(ms), labels={"pod": "kafka-0"})),
    "loki-download": lambda entries: json.dumps(
        [{"line": line, "timestamp": str(ms * 1_000_000), "fields": {"pod": "k"}} for ms, line in entries], indent=2
    ),
    "loki-api": _pairs,
    "logcli": _lines(lambda ms, line: f'{stamp(ms, "Z")} {{container="kafka", pod="kafka-0"}} {line}'),
    "cloudwatch-jsonl": _lines(lambda ms, line: _dumps(timestamp=ms + 40, message=line, ingestionTime=ms + 900)),
    "cloudwatch-events": lambda entries: json.dumps(
        {
            "events": [
                {
                    "logStreamName": "b-1",
                    "timestamp": ms + 40,
                    "message": line,
                    "ingestionTime": ms + 900,
                    "eventId": "1",
                }
                for ms, line in entries
            ],
            "searchedLogStreams": [],
        },
        indent=4,
    ),
    "cloudwatch-text": _lines(lambda ms, line: f"{stamp(ms + 40, 'Z')} {line}"),
    "aws-tail": _lines(lambda ms, line: f"{stamp(ms + 40, '000+00:00')} broker/b-1 {line}"),
}


def entries(log: str) -> Iterator[str]:
    """The lines of a log that are whole entries."""
    return (line for line in log.split("\n") if LINE.fullmatch(line))


def wrapped(log: str, base: str, wrap: str) -> bytes:
    return WRAPS[wrap]([(Fields(line).epoch_ms, BASES[base](line)) for line in entries(log)]).encode()
