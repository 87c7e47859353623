"""Brings the events of the audit topic to the board: a thread reads, the event loop applies."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from typing import Final

import structlog

from coordinator.audit.schema import AuditEvent
from coordinator.client.audit_topic import EARLIEST, LATEST, AuditRecord, AuditTopic, Offsets
from coordinator.client.wire import ClientError
from coordinator.dashboard.board import Board

log = structlog.get_logger()

APPLIED_AT_ONCE: Final = 500
"""Events that are applied before the loop serves requests again: some 10 ms."""
QUEUED_MAX: Final = 20_000
"""Events that the thread may be ahead of the loop."""
RETRY_SECONDS: Final = 1.0


class TopicFeed:
    """Follows the audit topic of a server, from its first event on; connects again when the server went away."""

    def __init__(self, board: Board, bootstrap: str, loop: asyncio.AbstractEventLoop) -> None:
        self._board = board
        self._bootstrap = bootstrap
        self._loop = loop
        self._queue: deque[AuditEvent] = deque()
        self._has_room = threading.Condition()
        self._is_scheduled = False
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit topic", daemon=True)
        self._position: Offsets = {}

    def start(self) -> None:
        """Connect, and begin to read.

        Raises:
            ClientError: the server cannot be reached, or has no audit topic.
        """
        topic = AuditTopic(self._bootstrap)
        self._board.progress.total = _count(topic)
        self._topic: AuditTopic | None = topic
        self._thread.start()

    def stop(self) -> None:
        """Read no more. The thread ends with its present Fetch."""
        self._is_stopped.set()
        with self._has_room:
            self._has_room.notify()

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            try:
                with self._topic or AuditTopic(self._bootstrap) as topic:
                    self._topic = None
                    self._note_problem("")
                    self._read(topic)
            except ClientError as problem:
                self._note_problem(str(problem))
                self._is_stopped.wait(RETRY_SECONDS)
            except Exception:
                log.exception("unhandled exception while reading the audit topic")
                self._note_problem("the audit topic cannot be read because of an internal error; see the log")
                self._is_stopped.wait(RETRY_SECONDS)

    def _read(self, topic: AuditTopic) -> None:
        # What was deleted by retention meanwhile is left out; what the server lost in a crash is read again.
        starts, ends = topic.offsets(topic.partitions, EARLIEST), topic.offsets(topic.partitions, LATEST)
        known = self._position
        self._position = {each: max(start, min(known.get(each, 0), ends[each])) for each, start in starts.items()}
        self._take(topic.records(self._position, _any), self._position)
        self._call(self._set_live)
        self._take(topic.follow(self._position, _any), None)

    def _take(self, records: Iterable[AuditRecord], position: Offsets | None) -> None:
        for record in records:
            if position is not None:
                position[record.partition] = record.offset + 1
            if record.event is not None:
                self._put(record.event)
            if self._is_stopped.is_set():
                return

    def _put(self, event: AuditEvent) -> None:
        with self._has_room:
            while len(self._queue) >= QUEUED_MAX and not self._is_stopped.is_set():
                self._has_room.wait()
        self._queue.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._call(self._apply)

    def _apply(self) -> None:
        """In the loop: some of what was read, then the rest later."""
        self._is_scheduled = False
        events = [self._queue.popleft() for _ in range(min(APPLIED_AT_ONCE, len(self._queue)))]
        self._board.progress.read += len(events)
        self._board.apply(events)
        with self._has_room:
            self._has_room.notify()
        if self._queue and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._apply)

    def _set_live(self) -> None:
        if self._queue:
            self._loop.call_soon(self._set_live)
            return
        self._board.progress.is_live = True
        self._board.tell(set())

    def _note_problem(self, problem: str) -> None:
        def note() -> None:
            if self._board.progress.problem != problem:
                self._board.progress.problem = problem
                self._board.tell(set())

        self._call(note)

    def _call(self, function: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)  # type: ignore[arg-type]


def _any(key: bytes) -> bool:
    return True


def _count(topic: AuditTopic) -> int:
    starts, ends = topic.offsets(topic.partitions, EARLIEST), topic.offsets(topic.partitions, LATEST)
    return sum(ends[each] - start for each, start in starts.items())
