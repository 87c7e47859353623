"""Logs of real brokers and clients, with what really happened.

Apache Kafka 2.8.2 to 4.3.1 with their own level and pattern of the log, in UTC, all on 127.0.0.1. `*-classic` is a
coordinator with classic groups (written in Scala up to 3.9), `*-consumer` and `*-new` one with KIP-848, `*-debug` logs
more. A version that ends in `.broker-1` or `.broker-2` is one of two brokers of one run. Session timeouts are 6 s.

`data/` has an archive of each version (`CASE/VERSION.log`, `CASE/VERSION.offsets.jsonl`), of the beginnings of the
clients' logs, of whole runs with all cases as they were written, and of a JSON layout.
"""

import gzip
import tarfile
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Truth:
    """What the driver of the recording did. `cause` is one of the audit's, or another name where the audit has none."""

    at_ms: int
    cause: str
    client_id: str | None
    member_id: str | None
    group_instance_id: str | None
    rebalances: bool | None
    line_seen: bool | None
    """A line of this log proves it. None: not looked for."""
    group: str | None
    fields: Mapping[str, Any]
    """All that `cases.json` says."""


@dataclass(frozen=True)
class OffsetsRecord:
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Recording:
    """One case on one broker. `fields` is its object in `cases.json`."""

    case: str
    version: str
    groups: tuple[str, ...]
    truth: tuple[Truth, ...]
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.case}/{self.version}"

    @property
    def log(self) -> bytes:
        """The broker's log of this case, with lines of others."""
        return _archive(_base(self.version))[f"{self.name}.log"]

    @property
    def lines(self) -> list[str]:
        return self.log.decode().splitlines()

    @property
    def offsets(self) -> list[OffsetsRecord]:
        """Records of `__consumer_offsets`. The second of two brokers has the first one's."""
        name = f"{self.name.replace('.broker-2', '.broker-1')}.offsets.jsonl"
        found = _archive(_base(self.version)).get(name, b"")
        return [_record(msgspec.json.decode(line)) for line in found.splitlines()]

    @property
    def other_broker(self) -> "Recording | None":
        """The other broker of the same run, if there were two."""
        found = [
            recording
            for recording in recordings()
            if recording.case == self.case and _base(recording.version) == _base(self.version)
        ]
        return next((each for each in found if each.version != self.version), None)

    @property
    def client_logs(self) -> dict[str, bytes]:
        """File name → the beginning of a client's log. `.java.log`, `.ck.log` (librdkafka), `.kp.log`, `.fg.log`."""
        prefix = f"{self.case}/{self.version}-"
        return {name.split("/")[1]: data for name, data in _archive("clients").items() if name.startswith(prefix)}


def recordings() -> list[Recording]:
    return list(_recordings())


def whole_runs() -> dict[str, bytes]:
    """Version → its whole log, with all cases in it."""
    return {name.removesuffix(".log"): data for name, data in _archive("whole-runs").items()}


def json_layout() -> bytes:
    """A log in `JsonLayout.json` of log4j2's JsonTemplateLayout."""
    (data,) = _archive("layouts").values()
    return data


@cache
def _recordings() -> tuple[Recording, ...]:
    with gzip.open(DATA / "cases.json.gz") as file:
        cases = msgspec.json.decode(file.read())
    return tuple(
        Recording(
            case["case"], case["version"], tuple(case["groups"]), tuple(_truth(one) for one in case["truth"]), case
        )
        for case in cases
    )


def _truth(each: dict[str, Any]) -> Truth:
    return Truth(
        each["at_ms"],
        each["cause"],
        each.get("client_id"),
        each.get("member_id"),
        each.get("group_instance_id"),
        each.get("rebalances"),
        each.get("line_seen"),
        each.get("group"),
        each,
    )


def _record(each: dict[str, Any]) -> OffsetsRecord:
    value = None if each.get("value") is None else b64decode(each["value"])
    place = (each["partition"], each["offset"], each["timestamp_ms"])
    return OffsetsRecord(*place, b64decode(each["key"]), value, each)


def _base(version: str) -> str:
    return version.split(".broker-", maxsplit=1)[0]


@cache
def _archive(name: str) -> dict[str, bytes]:
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        members = [each for each in archive if each.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
