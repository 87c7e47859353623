"""A `coordinator watch` as a process, and the events that it has appended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST
from coordinator.client.wire import ClientError
from tests.waiting import wait_for

START_SECONDS: Final = 30

Events = dict[str, list[dict[str, Any]]]
"""Group → its events, in order."""


class Watching:
    """One that can be killed and started again."""

    def __init__(self, folder: Path, *arguments: str, topic: str = "__group_audit") -> None:
        """`topic` is where its events are."""
        self._arguments, self._topic = arguments, topic
        folder.mkdir(exist_ok=True)
        self._ready = folder / "ready.json"
        self.log = folder / "watch.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        if self._process is not None:
            self.kill()

    def start(self) -> None:
        command = [sys.executable, "-m", "coordinator.cli", "watch", *self._arguments, "--ready-file", str(self._ready)]
        self._ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def wait(self) -> dict[str, Any]:
        """Until it is ready; what its ready file says."""
        process = self._process
        assert process is not None
        wait_for(lambda: self._ready.exists() or process.poll() is not None, START_SECONDS, "the watcher to be ready")
        assert process.poll() is None, self.log.read_text()
        found: dict[str, Any] = json.loads(self._ready.read_text())
        return found

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def events(self) -> "Events":
        """Raises ClientError."""
        return events_of(self.wait()["bootstrap"], self._topic)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> int:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGTERM)
        status = self._process.wait(30)
        self._process = None
        return status


def into(folder: Path, kafka: str, *more: str) -> Watching:
    """One that appends to a folder of its own."""
    return Watching(folder, "--bootstrap", kafka, "--into", str(folder / "data"), "--listen", "127.0.0.1:0", *more)


def to_topic(folder: Path, kafka: str, topic: str, *more: str) -> Watching:
    """One that appends to a topic of the Kafka."""
    return Watching(folder, "--bootstrap", kafka, "--topic", topic, *more, topic=topic)


def events_of(bootstrap: str, topic: str = "__group_audit") -> Events:
    """All events of a topic. Each is there once and in order, or it is an AssertionError."""
    found: Events = {}
    with AuditTopic(bootstrap, name=topic) as audit:
        for record in audit.records(audit.offsets(audit.partitions, EARLIEST), lambda key: True):
            if not record.is_of_watcher:
                assert record.observed is not None, record
                found.setdefault(record.group_id, []).append(json.loads(record.value))
    for group_id, events in found.items():
        numbers = [event["seq"] for event in events]
        first = numbers[0]  # 2 where polls found the group: what was before the first of them is not known
        assert first in (1, 2) and numbers == list(range(first, first + len(numbers))), (group_id, numbers)
    return found


def wait_for_same(first: Watching, second: Watching, seconds: float) -> tuple[Events, Events]:
    """Until both tell the same; what they tell after so long at the latest."""
    both: list[Events] = [{}, {}]

    def is_same() -> bool:
        try:
            both[:] = [each.events() for each in (first, second)]
        except ClientError:
            return False
        return bool(both[0]) and both[0] == both[1]

    with contextlib.suppress(AssertionError):
        wait_for(is_same, seconds, "both watchers to tell the same", every_ms=500)
    return both[0], both[1]


def differences(first: Events, second: Events) -> Sequence[str]:
    """The first event of each group that is not the same in both."""
    found = []
    for group_id in sorted(first.keys() | second.keys()):
        pairs = zip([*first.get(group_id, []), {}], [*second.get(group_id, []), {}], strict=False)
        for number, (one, other) in enumerate(pairs):
            if one != other:
                found.append(f"{group_id}: event {number + 1}:\n  {one}\n  {other}")
                break
    return found
