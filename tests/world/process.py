"""A process of a client: it lives and ends, stands still, is busy, is cut off, and holds partitions."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.core.client_connection import ClientConnection
from tests.world.history import GROUP_ID, ConsumerSetup
from tests.world.network import Request
from tests.world.spans import FOREVER
from tests.world.topics import RECORDS_PER_SECOND, Partition
from tests.world.truth import Departure, Ended, Holding, ProcessTruth, Way

if TYPE_CHECKING:
    from tests.world.world import World

RECONNECT_MS: Final = 50, 300
"""After a lost connection, at least and at most."""
COMMIT_INTERVAL_MS: Final = 5_000
NOBODY_MS: Final = 500
"""How long a client waits that finds no coordinator."""


class Process:
    """What all kinds of consumers have. Subclasses speak a protocol."""

    def __init__(self, world: "World", truth: ProcessTruth, setup: ConsumerSetup) -> None:
        self.world, self.truth, self.setup = world, truth, setup
        self.kind = truth.kind
        self.topics = setup.topics
        self.connection = self._connect()
        self.held: dict[Partition, tuple[str, int]] = {}
        """Partition → member id with which it has it, and since when."""
        self.held_back: list[Callable[[], None]] = []
        """What the network delivers when it is there again."""
        self.closes_later: list[Callable[[], None]] = []
        """Connections that were closed, of which the coordinator hears then."""
        self.unread: list[Request] = []
        """What the coordinator does not read from its connection for now."""
        self.muted: ClientConnection | None = None
        """That connection. A throttle time is that of the connection whose request exceeded the quota (KIP-219)."""
        self._in_flight: list[Request] = []
        self._deferred: list[tuple[Callable[[], None], bool]] = []
        self._waiting_for_poll: list[Callable[[], None]] = []
        self._progress_ms = world.now_ms
        """Until when the application has processed what there was."""
        self.is_reconnecting = False

    # ---- what a protocol does

    def begin(self) -> None:
        """The application subscribes."""
        raise NotImplementedError

    def leave(self, way: Way) -> None:
        """Send what says goodbye, if this client says it."""
        raise NotImplementedError

    def go_on(self) -> None:
        """A new connection is there: send what was lost again."""
        raise NotImplementedError

    def subscribe(self, topics: tuple[str, ...]) -> None:
        raise NotImplementedError

    def credentials(self) -> tuple[str, int]:
        """Member id, and generation or epoch, with which it commits; -1: with none."""
        raise NotImplementedError

    def unblocked_late(self) -> None:
        """Its application calls poll() again, after its client has left by itself."""

    # ---- time

    @property
    def is_alive(self) -> bool:
        return self.truth.ended_ms == FOREVER

    @property
    def is_stopped(self) -> bool:
        return self.truth.suspended.is_on or self.truth.starved.is_on

    @property
    def is_blocked(self) -> bool:
        return self.truth.blocked.is_on

    def after(self, ms: int, callback: Callable[[], None], *, in_poll: bool = False) -> None:
        """Call back when it runs; `in_poll`: when its application calls poll()."""
        self.world.schedule.at(self.world.now_ms + ms, lambda: self.run(callback, in_poll=in_poll))

    def run(self, callback: Callable[[], None], *, in_poll: bool = False) -> None:
        if not self.is_alive:
            return
        if self.is_stopped:
            self._deferred.append((callback, in_poll))
        elif in_poll and self.is_blocked:
            self._waiting_for_poll.append(callback)
        else:
            callback()

    # ---- what happens to it

    def suspend(self) -> None:
        self.note_progress()
        self.truth.suspended.begin(self.world.now_ms)

    def starve(self) -> None:
        self.note_progress()
        self.truth.starved.begin(self.world.now_ms)

    def resume(self) -> None:
        """It runs again, and finds all that was due."""
        if not self.is_alive:
            return
        self.truth.suspended.end(self.world.now_ms)
        self.truth.starved.end(self.world.now_ms)
        deferred, self._deferred = self._deferred, []
        for callback, in_poll in deferred:
            self.run(callback, in_poll=in_poll)

    def block(self, ms: int) -> None:
        """One batch takes so long. It goes on where the application is not busy already."""
        if self.is_blocked:
            return
        self.note_progress()
        self.truth.blocked.begin(self.world.now_ms)
        self.after(ms, self._unblock)
        self.after(self.setup.max_poll_interval_ms, self._check_poll)

    def _unblock(self) -> None:
        self.truth.blocked.end(self.world.now_ms)
        self._progress_ms = self.world.now_ms
        waiting, self._waiting_for_poll = self._waiting_for_poll, []
        for callback in waiting:
            self.run(callback, in_poll=True)
        self.unblocked_late()

    def _check_poll(self) -> None:
        if self.is_blocked and self.kind.leaves_late:
            begun_ms = self.truth.blocked.all[-1][0]
            if self.world.now_ms - begun_ms >= self.setup.max_poll_interval_ms:
                self.leave(Way.POLL_TIMEOUT)

    def cut(self) -> None:
        self.note_progress()
        self.truth.cut.begin(self.world.now_ms)

    def join_again(self, *, delivers: bool) -> None:
        """The network is there again: what is on its way arrives, or the client has given the connection up."""
        self.truth.cut.end(self.world.now_ms)
        held_back, self.held_back = self.held_back, []
        closes_later, self.closes_later = self.closes_later, []
        for callback in [*(held_back if delivers else ()), *closes_later]:
            callback()
        if self.is_alive and not delivers:
            self.run(self.disconnect)

    def proxied(self) -> None:
        self.truth.proxied.begin(self.world.now_ms)
        self.disconnect()

    def mute(self) -> None:
        self.muted = self.connection
        self.truth.muted.begin(self.world.now_ms)

    def no_more_muted(self) -> None:
        self.muted = None
        self.truth.muted.end(self.world.now_ms)

    def unmute(self, connection: ClientConnection) -> None:
        """It is read again, unless it is closed."""
        if self.muted is not connection:
            return
        self.no_more_muted()
        unread, self.unread = self.unread, []
        for request in unread:
            self.world.network.reach(request)

    # ---- connections

    def disconnect(self) -> None:
        """Its connection is closed from its side, by itself or by something between."""
        self.world.network.close(self, self.connection)
        self.connection_lost()

    def connection_lost(self) -> None:
        """There is no connection any more; the next one comes soon, if there is somebody to connect to."""
        self._in_flight, lost = [], self._in_flight
        for request in lost:
            request.is_over = True
        if not self.is_reconnecting and self.is_alive:
            self.is_reconnecting = True
            self.after(self.world.random.randint(*RECONNECT_MS), self._reconnect)

    def _reconnect(self) -> None:
        if self.truth.proxied.is_on or self.truth.cut.is_on or not self.world.server.is_up:
            self.after(NOBODY_MS, self._reconnect)
            return
        self.is_reconnecting = False
        self.connection = self._connect()
        self.go_on()

    def _connect(self) -> ClientConnection:
        connection = ClientConnection()
        self.world.connected(self, connection)
        return connection

    def send(self, api: str, message: Any, version: int, received: Callable[[Any, ErrorCode], None]) -> Request | None:
        """Send a request; None while it has no connection."""
        if self.is_reconnecting:
            return None
        request = Request(self.world, self, api, message, version, received)
        self._in_flight.append(request)
        self.world.network.send(request)
        return request

    def deliver(self, request: Request, response: Any, error: ErrorCode) -> None:
        self.run(lambda: self._received(request, response, error))

    def _received(self, request: Request, response: Any, error: ErrorCode) -> None:
        if request.is_over:
            return
        request.is_over = True
        self._in_flight.remove(request)
        request.received(response, error)

    # ---- its end

    def end(self, how: Ended) -> None:
        """The process is gone. Its system closes its connections, unless the system is gone, too."""
        now_ms = self.world.now_ms
        self.note_progress()
        self.give_up(self.held)
        for spans in (self.truth.suspended, self.truth.starved, self.truth.blocked):
            spans.end(now_ms)
        self.truth.ended_ms, self.truth.ended = now_ms, how
        for request in self._in_flight:
            request.is_over = True
        self._in_flight, self.held_back = [], []
        if how is not Ended.POWER:
            self.world.network.close(self, self.connection)

    def close(self, *, says_goodbye: bool) -> None:
        """In order: it commits, leaves where its client does that, and ends."""
        if self.held and not self.is_stopped:
            self.commit()
        if says_goodbye:
            self.leave(Way.CLOSED)
        self.end(Ended.CLOSED)

    def departs(self, member_id: str, way: Way, said: str) -> None:
        self.truth.departures.append(Departure(self.world.now_ms, member_id, way, said))

    # ---- partitions

    def take(self, partitions: Iterable[Partition], member_id: str) -> None:
        """They are its own from now on."""
        self.note_progress()
        for partition in partitions:
            if partition not in self.held:
                self.held[partition] = member_id, self.world.now_ms

    def give_up(self, partitions: Iterable[Partition]) -> None:
        self.note_progress()
        for partition in list(partitions):
            held = self.held.pop(partition, None)
            if held is not None:
                member_id, since_ms = held
                self.world.recorder.held(Holding(partition, self.truth, member_id, (since_ms, self.world.now_ms)))

    def renamed(self, member_id: str) -> None:
        """It has what it has under another member id from now on."""
        kept = list(self.held)
        self.give_up(kept)
        self.take(kept, member_id)

    def note_progress(self) -> None:
        """It has processed all that there was, if it could until now."""
        truth = self.truth
        is_idle = self.is_stopped or self.is_blocked or truth.cut.is_on or truth.proxied.is_on or truth.refused.is_on
        if self.is_alive and not is_idle:
            self._progress_ms = self.world.now_ms

    def commit_later(self) -> None:
        self.after(COMMIT_INTERVAL_MS, self._commit_now, in_poll=True)

    def _commit_now(self) -> None:
        if self.held:
            self.commit()
        self.commit_later()

    def commit(self) -> None:
        """Commit what was processed of all partitions that it holds."""
        self.note_progress()
        member_id, generation_id = self.credentials()
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for name, topic_id, index in self.held:
            end = self.world.topics.log_end_offset(name, index)
            if end is None or self.world.topics.topic_id(name) != topic_id:
                continue
            since_ms = self.world.now_ms - self._progress_ms
            position = max(0, end - since_ms * RECORDS_PER_SECOND // 1000)
            if self.setup.read_committed:
                position = min(position, self.world.topics.last_stable_offset(name, index) or 0)
            stuck = self.world.truth.stuck.get((name, topic_id, index))
            if stuck is not None:
                position = min(position, stuck[0])
            topics.setdefault(name, []).append(
                OffsetCommitRequestPartition(partition_index=index, committed_offset=position)
            )
        if not topics or not member_id:
            return
        message = OffsetCommitRequest(
            group_id=GROUP_ID,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            group_instance_id=self.setup.instance_id,
            topics=[OffsetCommitRequestTopic(name=name, partitions=topic) for name, topic in topics.items()],
        )
        self.send("OffsetCommit", message, 9 if self.kind.is_modern else 8, self.commit_answered)

    def commit_answered(self, response: Any, error: ErrorCode) -> None:
        """What its protocol makes of it."""
