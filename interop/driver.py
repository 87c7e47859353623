"""Starts the drivers of stock clients and talks to them: see README.md for the contract."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from coordinator.printable import printable

CLIENTS: Final = Path(__file__).parent / "clients"
READY_SECONDS: Final = 60
WAIT_SECONDS: Final = 30
EXIT_SECONDS: Final = 10
NONSENSE_CHARACTERS: Final = 200
"""How much of a line that is no event, or of an error text, is told."""
ERRORS_BYTES: Final = 65_536
"""How much of what a driver writes to stderr is looked at."""

ASSIGNORS: Final = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})
"""The abilities to assign partitions as a member."""
BASIC: Final = frozenset({"group", "commit", "commit-answer"})
"""What a driver can that does not say that it lacks it."""

EVENTS: Final = frozenset(
    {
        "ready",
        "assigned",
        "revoked",
        "lost",
        "records",
        "committed",
        "left",
        "failed",
        "delivered",
        "acknowledged",
    }
)

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
        self.closed_ms: int | None = None
        """When it was told to leave. It may still be assigned partitions while it closes."""
        self.silences: list[int] = []
        """When it was paused, stopped, killed or closed, and may not tell what it loses: wall clock, milliseconds."""

    def __repr__(self) -> str:
        return f"{self.name} ({self.driver.client})"

    def of_kind(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["event"] == kind]

    def latest(self) -> Self:
        """This member, with all that its driver has said so far."""
        self.driver.take_in_all()
        return self

    @property
    def failure(self) -> Event | None:
        """The failure that ended it, if one did."""
        return next((event for event in self.of_kind("failed") if event["fatal"]), None)

    def send(self, do: str, **fields: Any) -> None:
        self.driver.send(do, self.name, **fields)

    def subscribe(self, *topics: str) -> None:
        self.send("subscribe", topics=topics)

    def pause(self) -> None:
        self.falls_silent()
        self.send("pause")

    def resume(self) -> None:
        self.send("resume")

    def commit(self) -> Event:
        """Commit, and return what the driver answered: an event `committed` or `failed`."""
        count = len(self.answers_to_commits())
        self.send("commit")
        self.driver.wait_for(lambda: len(self.answers_to_commits()) > count, f"{self!r} to commit")
        return self.answers_to_commits()[-1]

    def falls_silent(self) -> None:
        self.silences.append(time.time_ns() // 1_000_000)

    def answers_to_commits(self) -> list[Event]:
        """What was said of its commits so far: events `committed` and `failed`."""
        self.driver.take_in_all()
        return [
            event
            for event in self.events
            if event["event"] == "committed" or (event["event"] == "failed" and event["during"] == "commit")
        ]

    def leave(self) -> None:
        """Close the consumer and wait until it is closed."""
        self.falls_silent()
        self.closed_ms = self.silences[-1]
        self.send("leave")
        self.driver.wait_for(lambda: bool(self.of_kind("left")) or self._failed_to_leave(), f"{self!r} to leave")

    def _failed_to_leave(self) -> bool:
        return any(event["during"] == "leave" for event in self.of_kind("failed"))

    def apply(self, event: Event) -> None:
        pairs = {(topic, index) for topic, indexes in event.get("partitions", {}).items() for index in indexes}
        if event["event"] == "assigned":
            self.owned |= pairs
        elif event["event"] in ("revoked", "lost"):
            self.owned -= pairs
        self.events.append(event)


class Driver:
    """A driver's process. Leaving its context kills it with all its members."""

    def __init__(
        self,
        command: list[str],
        environment: Mapping[str, str] | None = None,
        ready_seconds: float = READY_SECONDS,
    ) -> None:
        """Start it and wait until it is ready.

        Raises:
            DriverFailed: it ended, or was not ready in time.
        """
        self.members: dict[str, Member] = {}
        self._command = command
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._has_ended = threading.Event()
        self._nonsense = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **(environment or {})},
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.client = Path(command[-1]).name
        ready = self._next(time.monotonic() + ready_seconds)
        try:
            if ready is None or ready["event"] != "ready" or self._nonsense:
                raise ValueError
            self.client, self.version = str(ready["client"]), str(ready["version"])
            self.can: frozenset[str] = (BASIC | set(ready["can"])) - set(ready.get("lacks", ()))
        except (ValueError, KeyError, TypeError):
            why = self._trouble() or f"it was not ready within {ready_seconds:g} s"
            self.kill()
            raise DriverFailed(f"{' '.join(command)} did not start: {why}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def has_ended(self) -> bool:
        return self._has_ended.is_set()

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
        except (BrokenPipeError, ValueError):
            raise DriverFailed(self._trouble() or f"the driver of {self.client} has ended") from None

    def wait_for(self, condition: Callable[[], T], what: str, seconds: float = WAIT_SECONDS) -> T:
        """Take events in until the condition holds; return its value.

        Raises:
            DriverFailed: it did not in that time, or the driver ended or wrote what is no event.
        """
        deadline = time.monotonic() + seconds
        while True:
            self.take_in_all()
            value = condition()
            if value:
                return value
            if trouble := self._trouble():
                raise DriverFailed(f"waiting for {what}: {trouble}")
            left = deadline - time.monotonic()
            if left <= 0:
                raise DriverFailed(f"waited {seconds:.0f} s for {what}; the last events: {self._last_events()}")
            self._take_in(self._next(time.monotonic() + min(left, 0.05)))

    def take_in_all(self) -> None:
        """Take in what the driver has said so far."""
        while not self._events.empty():
            self._take_in(self._events.get())

    def stop(self) -> None:
        """SIGSTOP: the process stands still, and those it has started; their connections stay open."""
        self._falls_silent()
        for pid in (self.pid, *self._children()):
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        for pid in (*self._children(), self.pid):
            os.kill(pid, signal.SIGCONT)

    def _children(self) -> list[int]:
        """The processes that the driver's main thread has started: a member may be a process of its own."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in children.read_text(encoding="ascii").split()] if children.exists() else []

    def kill(self) -> None:
        """SIGKILL, also of a driver that has ended."""
        self._falls_silent()
        self._process.kill()
        self._process.wait(EXIT_SECONDS)
        self._errors.close()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was not sent before it was killed

    def _trouble(self) -> str:
        """What is wrong with the driver; empty if it lives and keeps to the contract."""
        if self._nonsense:
            return f"the driver of {self.client} wrote a line that is no event: {printable(self._nonsense)}"
        if not self._has_ended.is_set() or not self._events.empty():
            return ""
        status = self._process.wait(EXIT_SECONDS)
        return f"the driver of {self.client} has ended (exit status {status}){self._last_error()}"

    def errors(self) -> str:
        """What it wrote to stderr; the last part if it is much. Empty after `kill`."""
        if self._errors.closed:
            return ""
        # The process writes at its own position: it shares it with this descriptor, so `seek` would move that.
        descriptor = self._errors.fileno()
        size = os.fstat(descriptor).st_size
        return os.pread(descriptor, ERRORS_BYTES, max(0, size - ERRORS_BYTES)).decode(errors="replace")

    def _last_error(self) -> str:
        last = self.errors()[-NONSENSE_CHARACTERS:].strip().splitlines()[-1:]
        return f": {printable(last[0])}" if last else ""

    def _falls_silent(self) -> None:
        for member in self.members.values():
            member.falls_silent()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._take_line(line)
        except ValueError:  # this side closed the pipe
            pass
        finally:
            self._has_ended.set()
            self._events.put(None)

    def _take_line(self, line: str) -> None:
        """Queue the event of a line; a line that is cut off by the end of the process is none."""
        try:
            event = json.loads(line)
            kind, member = event["event"], event.get("member", "")
            if kind not in EVENTS or not isinstance(member, str):
                raise ValueError
            if kind in ("assigned", "revoked", "lost"):
                [(topic, index) for topic, indexes in event["partitions"].items() for index in indexes]
                int(event["time_ms"])
        except (ValueError, KeyError, TypeError, AttributeError):
            if line.endswith("\n"):
                self._nonsense = self._nonsense or line.strip()[:NONSENSE_CHARACTERS]
            return
        self._events.put(event)

    def _next(self, deadline: float) -> Event | None:
        try:
            return self._events.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            return None

    def _take_in(self, event: Event | None) -> None:
        if event is not None and event.get("member") in self.members:
            self.members[event["member"]].apply(event)

    def _last_events(self) -> list[Event]:
        return [event for member in self.members.values() for event in member.events[-3:]]
