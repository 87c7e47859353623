"""Starts the drivers of stock clients and talks to them: see README.md for the contract."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

CLIENTS: Final = Path(__file__).parent / "clients"
READY_SECONDS: Final = 60
WAIT_SECONDS: Final = 30
EXIT_SECONDS: Final = 10

Event = dict[str, Any]
Partition = tuple[str, int]
T = TypeVar("T")


class DriverMissing(RuntimeError):
    """What a driver needs is not there; the message is one line and says what to install."""


class DriverFailed(RuntimeError):
    """A driver ended, or did not do in time what it was asked."""


def python_driver(folder: str) -> list[str]:
    return [sys.executable, str(CLIENTS / folder / "driver.py")]


def java_driver(jars: Sequence[str], folder: Path) -> list[str]:
    """Compile the driver into a folder, against jars: those of Kafka's clients, Jackson and slf4j.

    Raises:
        DriverMissing: there is no Java compiler.
    """
    javac = shutil.which("javac")
    if javac is None:
        install = "install a JDK, 17 or newer (Debian and Ubuntu: apt-get install openjdk-17-jdk-headless)"
        raise DriverMissing(f"javac is missing: {install}")
    class_path = os.pathsep.join(jars)
    subprocess.run([javac, "-cp", class_path, "-d", str(folder), str(CLIENTS / "java" / "Driver.java")], check=True)
    options = [
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xmx128m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
    ]
    return ["java", *options, "-cp", os.pathsep.join([str(folder), class_path]), "Driver"]


class Member:
    """One consumer in a driver, as its events tell it."""

    def __init__(self, driver: "Driver", name: str) -> None:
        self.driver = driver
        self.name = name
        self.owned: set[Partition] = set()
        self.events: list[Event] = []

    def __repr__(self) -> str:
        return f"{self.name} ({self.driver.client})"

    def of_kind(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["event"] == kind]

    @property
    def failure(self) -> Event | None:
        """The failure that ended it, if one did."""
        return next((event for event in self.of_kind("failed") if event["fatal"]), None)

    def send(self, do: str, **fields: Any) -> None:
        self.driver.send(do, self.name, **fields)

    def subscribe(self, *topics: str) -> None:
        self.send("subscribe", topics=topics)

    def pause(self) -> None:
        self.send("pause")

    def resume(self) -> None:
        self.send("resume")

    def commit(self) -> Event:
        """Commit, and return what the driver answered: an event `committed` or `failed`."""
        count = len(self._answers())
        self.send("commit")
        self.driver.wait_for(lambda: len(self._answers()) > count, f"{self!r} to commit")
        return self._answers()[-1]

    def _answers(self) -> list[Event]:
        return [
            event
            for event in self.events
            if event["event"] == "committed" or (event["event"] == "failed" and event["during"] == "commit")
        ]

    def leave(self) -> None:
        """Close the consumer and wait until it is closed."""
        self.send("leave")
        self.driver.wait_for(lambda: bool(self.of_kind("left")) or self._failed_to_leave(), f"{self!r} to leave")

    def _failed_to_leave(self) -> bool:
        return any(event["during"] == "leave" for event in self.of_kind("failed"))

    def take_in(self, event: Event) -> None:
        pairs = {(topic, index) for topic, indexes in event.get("partitions", {}).items() for index in indexes}
        if event["event"] == "assigned":
            self.owned |= pairs
        elif event["event"] in ("revoked", "lost"):
            self.owned -= pairs
        self.events.append(event)


class Driver:
    """A driver's process. Leaving its context kills it with all its members."""

    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        """Start it and wait until it is ready.

        Raises:
            DriverFailed: it ended, or was not ready in time.
        """
        self.members: dict[str, Member] = {}
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        threading.Thread(target=self._read, daemon=True).start()
        ready = self._next(time.monotonic() + READY_SECONDS)
        if ready is None or ready["event"] != "ready":
            self.kill()
            raise DriverFailed(f"{' '.join(command[:2])} did not start: {ready}")
        self.client: str = ready["client"]
        self.version: str = ready["version"]
        self.can: frozenset[str] = frozenset(ready["can"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, name: str, bootstrap: str, group: str, *topics: str, **options: Any) -> Member:
        """Start a member. `options` are the optional fields of the command."""
        member = self.members[name] = Member(self, name)
        self.send("start", name, bootstrap=bootstrap, group=group, topics=topics, **options)
        return member

    def send(self, do: str, member: str, **fields: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, "member": member, **fields}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DriverFailed(f"the driver of {self.client} has ended") from None

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float = WAIT_SECONDS) -> T:
        """Take events in until the condition holds; return its value.

        Raises:
            DriverFailed: it did not in that time, or the driver ended.
        """
        deadline = time.monotonic() + seconds
        while True:
            self.take_in_all()
            value = condition()
            if value:
                return value
            left = deadline - time.monotonic()
            if left <= 0:
                raise DriverFailed(f"waited {seconds:.0f} s for {what}; the last events: {self._last_events()}")
            self._take_in(self._next(time.monotonic() + min(left, 0.05)))

    def take_in_all(self) -> None:
        """Take in what the driver has said so far."""
        while not self._events.empty():
            self._take_in(self._events.get())

    def stop(self) -> None:
        """SIGSTOP: the process stands still, its connections stay open."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, also of a driver that has ended."""
        self._process.kill()
        self._process.wait(EXIT_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was not sent before it was killed

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._events.put(json.loads(line))
        except ValueError:  # the pipe was closed, or the line is cut off by a kill
            pass
        self._events.put(None)

    def _next(self, deadline: float) -> Event | None:
        try:
            return self._events.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            return None

    def _take_in(self, event: Event | None) -> None:
        if event is not None and event.get("member") in self.members:
            self.members[event["member"]].take_in(event)

    def _last_events(self) -> list[Event]:
        return [event for member in self.members.values() for event in member.events[-3:]]
