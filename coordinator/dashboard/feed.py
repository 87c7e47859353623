"""Brings audit events to the board: a thread reads the tables or the topic, the event loop applies."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from coordinator.audit.schema import GroupHeldByCluster
from coordinator.client.audit_topic import AuditRecord, AuditTopic, NoAuditTopic, Offsets
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.client.recent_server_events import is_of_topic
from coordinator.client.wire import ClientError
from coordinator.dashboard.board import Board, BoardEvent
from coordinator.logger import logger

APPLIED_AT_ONCE: Final = 500
"""Events that are applied before the loop serves requests again: some 5 ms."""
QUEUED_MAX: Final = 20_000
"""Events that the thread may be ahead of the loop."""
RETRY_SECONDS: Final = 1.0
NO_TOPIC_RETRY_SECONDS: Final = 30.0
"""How often a server without an audit topic is asked whether it has one."""


class EventQueue:
    """Passes events from one thread to the board, which lives in the loop."""

    def __init__(self, board: Board, loop: asyncio.AbstractEventLoop) -> None:
        self._board = board
        self._loop = loop
        self._events: deque[BoardEvent] = deque()
        self._has_room = threading.Condition()
        self._is_scheduled = False
        self.is_stopped = threading.Event()

    def put(self, event: BoardEvent) -> None:
        """Called by the thread; waits while the loop is far behind."""
        with self._has_room:
            while len(self._events) >= QUEUED_MAX and not self.is_stopped.is_set():
                self._has_room.wait()
        self._events.append(event)
        if not self._is_scheduled:
            self._is_scheduled = True
            self.call(self._apply)

    def stop(self) -> None:
        self.is_stopped.set()
        with self._has_room:
            self._has_room.notify()

    def expect(self, count: int) -> None:
        """Called by the thread: so many events more will come before all that there was has been read."""

        def expect() -> None:
            self._board.progress.total += count

        self.call(expect)

    def set_live(self, *, is_following: bool, has_events: bool = True) -> None:
        """Called by the thread: all that there was has been put."""

        def set_live() -> None:
            if self._events:
                self._loop.call_soon(set_live)
                return
            self._board.progress.is_live, self._board.progress.is_following = True, is_following
            self._board.progress.has_events = has_events
            self._board.notify(set())

        self.call(set_live)

    def note_problem(self, problem: str) -> None:
        """Called by the thread: why it reads nothing; an empty text when it reads again."""

        def note() -> None:
            if self._board.progress.problem != problem:
                self._board.progress.problem = problem
                self._board.notify(set())

        self.call(note)

    def call(self, function: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)

    def _apply(self) -> None:
        self._is_scheduled = False
        events = [self._events.popleft() for _ in range(min(APPLIED_AT_ONCE, len(self._events)))]
        self._board.progress.read += len(events)
        self._board.apply(events)
        with self._has_room:
            self._has_room.notify()
        if self._events and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._apply)


class Feed:
    """Reads the records of tables, if there are any, and then follows the audit topic of a server, if one is named.

    When the server goes away it connects again.
    """

    def __init__(self, queue: EventQueue, stored: Iterable[AuditRecord], bootstrap: Server | None) -> None:
        self._queue = queue
        self._stored = stored
        self._bootstrap = bootstrap
        self._topic: AuditTopic | None = None
        self._position: Offsets = {}
        self._thread = threading.Thread(target=self._run, name="audit events", daemon=True)

    def start(self) -> None:
        """Connect, and begin to read.

        Raises:
            ClientError: the server cannot be reached.
        """
        if self._bootstrap is not None:
            with suppress(NoAuditTopic):
                self._topic = AuditTopic(self._bootstrap)
        self._thread.start()

    def stop(self) -> None:
        """Read no more. The thread ends with its present Fetch."""
        self._queue.stop()

    def _run(self) -> None:
        try:
            self._enqueue(self._stored, None)
        except Exception as problem:
            logger.exception("cannot read the tables")
            self._queue.note_problem(f"the tables cannot be read: {problem}")
            return
        if self._bootstrap is None:
            self._queue.set_live(is_following=False)
            return
        while not self._queue.is_stopped.is_set():
            self._queue.is_stopped.wait(self._follow(self._bootstrap))

    def _follow(self, bootstrap: Server) -> float:
        """Read until there is a problem; return after how many seconds to try again."""
        try:
            with self._topic or AuditTopic(bootstrap) as topic:
                self._topic = None
                self._queue.note_problem("")
                self._read(topic)
        except NoAuditTopic:
            self._queue.note_problem("")
            self._queue.set_live(is_following=True, has_events=False)
            return NO_TOPIC_RETRY_SECONDS
        except ClientError as problem:
            self._queue.note_problem(str(problem))
        except Exception:
            logger.exception("unhandled exception while reading the audit topic")
            self._queue.note_problem("the audit topic cannot be read because of an internal error; see the log")
        return RETRY_SECONDS

    def _read(self, topic: AuditTopic) -> None:
        # What retention deleted meanwhile is left out; what a server lost in a crash and wrote again is read again.
        starts, ends = topic.offsets(topic.partitions, EARLIEST), topic.offsets(topic.partitions, LATEST)
        read_to = self._position
        self._position = {
            partition: max(start, min(read_to.get(partition, 0), ends[partition]))
            for partition, start in starts.items()
        }
        self._queue.expect(sum(ends[partition] - at for partition, at in self._position.items()))
        self._enqueue(topic.records(dict(self._position), _any), self._position)
        self._queue.set_live(is_following=True)
        self._enqueue(topic.follow(self._position, _any), None)

    def _enqueue(self, records: Iterable[AuditRecord], position: Offsets | None) -> None:
        for record in records:
            if position is not None:
                position[record.partition] = record.offset + 1
            if record.event is not None:
                self._queue.put(record.observed or record.event)
            elif isinstance(about := record.coordinator_event, GroupHeldByCluster) or is_of_topic(about):
                self._queue.put(about)
            if self._queue.is_stopped.is_set():
                return


def _any(key: bytes) -> bool:
    return True
