"""The real core, shards, sessions, wheel and logs on a virtual clock and a disk in memory: a server without sockets."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from types import GeneratorType
from typing import Any, Final, Self

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.offset_commit import OffsetCommitRequest
from coordinator.audit.schema import CoordinatorPaused
from coordinator.audit.schema import Record as AuditRecord
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import ClientDetails
from coordinator.core.decision import Decision, Environment, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.kinds import operations
from coordinator.core.operation import Answer, Operation, Scope
from coordinator.core.pauses import Pauses
from coordinator.core.throttled_clients import ThrottledClients
from coordinator.core.topic_listing import TopicListing
from coordinator.front.pending_requests import PendingRequests, Waiting
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.background_work import GroupWork
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.machines import make_state_machine
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT, CheckpointFile
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.coordinator_runtime import LOAD_SECONDS_AT_ONCE
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.runtime.slices import at_once
from coordinator.runtime.store import LogStore
from coordinator.timers.clock import VirtualClock
from coordinator.timers.wheel import TimerWheel
from coordinator.wall_time import WallTime
from tests.model.memory_files import MemoryFileSystem
from tests.simulation.steady import CalledSoon, CommitInFrame, add_steady_commits

START_MS: Final = 1_700_000_000_000
DATA: Final = Path("/data")
OFFSETS: Final = "__consumer_offsets"
AUDIT: Final = "__group_audit"
CLIENT_HOST: Final = "/127.0.0.1"


class AllTopicsBut:
    """The names of topics that exist."""

    def __init__(self, missing: Iterable[str]) -> None:
        self._missing = frozenset(missing)

    def __contains__(self, topic: object) -> bool:
        return topic not in self._missing


class AnyTopics:
    """Every topic but the missing ones exists, with more partitions than any test names; its id is made of its name."""

    topics_version = 0
    created_version = 0

    def __init__(self) -> None:
        self.missing: set[str] = set()

    def partition_count(self, name: str) -> int:
        return 0 if name in self.missing else 1 << 30

    def names(self) -> Container[str]:
        return AllTopicsBut(self.missing)

    def existing(self, names: Collection[str]) -> set[str]:
        return set(filter(None, names)) - self.missing

    def topic_id(self, name: str) -> bytes:
        return name.encode()[:16].ljust(16, b"\0")

    def topic_name(self, topic_id: bytes) -> str | None:
        return topic_id.rstrip(b"\0").decode() or None


class ClientContext(OperationContext):
    """The context of a request of a client that says what it is."""

    _software: str
    _connection: ClientConnection | None

    @classmethod
    def of(
        cls,
        request_id: int | None,
        version: int,
        name: str,
        server: "SimulatedServer",
        connection: ClientConnection | None = None,
    ) -> Self:
        return cls(request_id, version, name, CLIENT_HOST, server.environment, 0, 0, server.client_software, connection)

    @property
    def client_connection(self) -> ClientConnection | None:
        return self._connection

    @property
    def client_details(self) -> ClientDetails:
        return ClientDetails(self._software)


class SliceClock:
    """Counts the steps of long work instead of time, so that each run has the same slices."""

    def __init__(self, steps_per_slice: int) -> None:
        self.steps_per_slice = steps_per_slice
        self._seconds = 0.0

    def __call__(self) -> float:
        # A little more than its share: sums of fractions may come out smaller.
        self._seconds += 1.001 * LOAD_SECONDS_AT_ONCE / self.steps_per_slice
        return self._seconds


class SimulatedServer:
    """A coordinator of `partitions` shards. `start` again is kill -9 and a new start on the same disk."""

    waiting_class = CommitInFrame
    """Who waits for the answer to a commit that comes as a frame."""
    listing: TopicListing | None = None
    """All topics, of which regular expressions match some; None: nobody lists them."""
    drains_steady = False
    """Whether steady commits are drained by themselves (`drain`), not with all that waits."""

    def __init__(
        self,
        config: Config,
        *,
        partitions: int = 1,
        fast_path: bool = True,
        has_steady_commits: bool = True,
        log_config: LogConfig | None = None,
        steps_per_slice: int = 2_000,
    ) -> None:
        self.config = config
        self.partitions = partitions
        self.fast_path = fast_path
        self.has_steady_commits = has_steady_commits
        self.steady_commits = 0
        """How many commits were read as those of steady members."""
        self.log_config = log_config or LogConfig()
        self.clock = VirtualClock(START_MS)
        self.wall_ahead_ms = 0
        self.pauses = Pauses()
        self.wall = WallTime(lambda: self.clock.now_ms() + self.wall_ahead_ms)
        self.wall.add_step_listener(lambda step_ms: self.sessions.close_all_heartbeats())
        self.disk = MemoryFileSystem()
        self.is_batching = False
        self.client_software = ""
        """What all clients say that they are (KIP-511)."""
        self.topics = AnyTopics()
        """All other topics exist."""
        self.turns = 0
        self.starts = 0
        self.recovery_points: dict[tuple[str, int], int] = {}
        self._ids = count(1)
        self.slice_clock = SliceClock(steps_per_slice)
        self.start()

    def start(self, *, clean: bool = False) -> None:
        """A server on whatever is on the disk; `clean` after a stop that flushed everything."""
        self.starts += 1
        self.is_batching = False
        self.throttled = ThrottledClients()
        self.pending = PendingRequests()
        self.wheel = TimerWheel(self.now_ms)
        self.sessions = SessionTable(self.wheel, seed=1)
        self.timers = KeyTimers(self.wheel, OFFSETS)
        self.logs = {
            (topic, partition): self._open(topic, partition, clean)
            for partition in range(self.partitions)
            for topic in (OFFSETS, AUDIT)
        }
        self.checkpoints = AuditCheckpoints(CheckpointFile(self.disk, DATA / GROUP_AUDIT))
        environment = self.environment
        self.coordinator = GroupCoordinator(
            partial(self._shard, environment),
            self.partitions,
            environment,
            self.sessions,
            self.wheel,
            self.timers,
            checkpoints=self.checkpoints,
            request_iteration=lambda: None,
            seconds=self.slice_clock,
        )
        self.scheduler = CalledSoon()
        add_steady_commits(self, self.scheduler if self.drains_steady else None)
        self.coordinator.load(range(self.partitions))
        while any(shard.state is ShardState.LOADING for shard in self.coordinator.shards):
            self.coordinator.drain(self.now_ms)

    @property
    def environment(self) -> Environment:
        return Environment(
            self.config,
            self.topics,
            self.sessions,
            lambda: f"{next(self._ids):08d}",
            addresses=AddressLimits(self.config),
            wall=self.wall,
            pauses=self.pauses,
            throttled=self.throttled,
            listing=self.listing,
        )

    def _open(self, topic: str, partition: int, clean: bool) -> PartitionLog:
        recovery_point = self.recovery_points.get((topic, partition), 0)
        return PartitionLog.open(
            self.disk,
            DATA,
            topic,
            partition,
            self.log_config,
            recovery_point=recovery_point,
            clean=clean,
            lazy=True,
        )

    def _shard(
        self, environment: Environment, work: GroupWork, partition: int, request_drain: RequestDrain
    ) -> Shard[GroupStateMachine]:
        stream = self.make_audit_stream(partition)
        store, audit = self.make_store(partition, stream), self.make_audit(stream)
        machine = make_state_machine(self.sessions, audit, self.timers, environment, work)
        return Shard(
            partition,
            machine,
            store,
            self.timers,
            self.pending,
            request_drain=request_drain,
            projection=audit,
            local=store,
        )

    def make_audit_stream(self, partition: int) -> AuditStream:
        return AuditStream(self.logs[AUDIT, partition], 0, checkpoints=self.checkpoints)

    def make_store(self, partition: int, audit: AuditStream) -> LogStore:
        offsets = OffsetsStream(self.logs[OFFSETS, partition], 0)
        return LogStore(offsets, audit, appended=lambda log: None, wall=self.wall)

    def make_audit(self, stream: AuditStream) -> AuditProjection:
        return AuditProjection(stream, self.wall, node_id=1, coordinator_epoch=self.starts)

    def set_wall_clock(self, ahead_ms: int) -> None:
        """Let it be so far ahead of the clock of the deadlines."""
        self.wall_ahead_ms = ahead_ms
        self.wall.follow(self.now_ms)

    def flush(self) -> None:
        """What was appended survives a power loss from now on."""
        for key, log in self.logs.items():
            log.flush()
            self.recovery_points[key] = log.recovery_point

    def stop(self) -> None:
        """A clean stop; the next start may trust the logs."""
        self.coordinator.stop(self.now_ms)
        for key, log in self.logs.items():
            log.finish()
            self.recovery_points[key] = log.recovery_point
            log.close()

    def delete_old_audit(self) -> int:
        """Delete the segments of the audit topic before the last checkpoint, after a flush; returns how many.

        The next start finds them gone.
        """
        count = 0
        for (topic, partition), log in self.logs.items():
            checkpoint = self.checkpoints.offset(partition)
            if topic != AUDIT or checkpoint is None:
                continue
            for segment, next_segment in pairwise(log.segments):
                if next_segment.base_offset <= checkpoint:
                    for name in self.disk.names(log.folder):
                        if name.startswith(f"{segment.base_offset:020d}"):
                            self.disk.remove(log.folder / name)
                    count += 1
        return count

    # ---- time

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at each deadline on the way."""
        until_ms = self.now_ms + ms
        while 0 <= self.wheel.next_deadline_ms() <= until_ms:
            self.clock.advance(max(self.wheel.next_deadline_ms() - self.now_ms, 0))
            self.end_iteration()
        self.clock.advance(until_ms - self.now_ms)
        self.end_iteration()

    def stand_still(self, ms: int) -> None:
        """The event loop does nothing for so long, and then finds what is due."""
        self.clock.advance(ms)
        from_ms = self.now_ms - ms
        self.pauses.add(from_ms, self.now_ms)
        self.coordinator.report(
            CoordinatorPaused(
                time_ms=0,
                node_id=1,
                coordinator_epoch=0,
                from_ms=self.wall.at(from_ms),
                until_ms=self.wall.at(self.now_ms),
                pause_kind="suspended",
            )
        )
        self.end_iteration()

    def end_iteration(self) -> None:
        self.turns += 1
        for key in self.wheel.advance(self.now_ms):
            self.coordinator.due(key, self.now_ms)
        self.drain()

    # ---- requests

    def submit(
        self,
        operation: Operation,
        group_id: str,
        request: Any,
        waiting: Waiting,
        name: str,
        version: int,
        connection: ClientConnection | None = None,
    ) -> int:
        """Queue a request, which is handled at once unless `is_batching`. Returns its id."""
        request_id = self.pending.register(waiting)
        context = ClientContext.of(request_id, version, name, self, connection)
        if operation.scope in (Scope.SHARD, Scope.TRANSACTION):
            partition = self.coordinator.partition_of(group_id)
            self.coordinator.enqueue_for_shard(operation, partition, request, context)
        else:
            if operation is operations.OFFSET_COMMIT and self._is_steady(request, context):
                self._drain_unless_batching()
                return request_id
            prepared = request if operation.prepare is None else operation.prepare(request, context)
            if isinstance(prepared, GeneratorType):
                prepared = at_once(prepared)
            if isinstance(prepared, Answer):
                if prepared.rejected is not None:
                    rejected = RejectedRequest(operation.name, request, prepared.rejected)
                    told = ClientContext.of(None, version, name, self)
                    self.coordinator.enqueue(operations.REPORT_REJECTION, group_id, rejected, told)
                self.pending.reply(request_id, prepared.response)
            else:
                self.coordinator.enqueue(operation, group_id, prepared, context)
        self._drain_unless_batching()
        return request_id

    def _is_steady(self, request: OffsetCommitRequest, context: OperationContext) -> bool:
        """Queue a commit as a connection does it, if its member is steady."""
        if not self.has_steady_commits:
            return False
        assert context.request_id is not None
        waiting = self.waiting_class(request, context, partial(self.pending.reply, context.request_id))
        commits = self.sessions.commits
        assert commits is not None
        is_steady = commits.read(waiting.frame, waiting, self.now_ms) is not None
        self.steady_commits += is_steady
        return is_steady

    def queue_events(self, group_id: str, events_of: Callable[[str, int], Sequence[Event]]) -> None:
        """Let the events that `events_of(group_id, now_ms)` makes happen to a group at the next drain."""

        def decide(group: Group | None, request: None, context: OperationContext) -> Decision:
            return Decision(tuple(events_of(group_id, context.now_ms)))

        context = OperationContext(None, 0, "", "", self.environment, 0, 0)
        self.coordinator.enqueue(Operation("test", decide), group_id, None, context)

    def delete_topic(self, topic: str) -> None:
        """Handled at once unless `is_batching`, otherwise after the requests of the batch."""
        self.topics.missing.add(topic)
        self.sessions.close_all_heartbeats()
        self.coordinator.topics_deleted([topic])
        self._drain_unless_batching()

    def create_topic(self, topic: str) -> None:
        """Create a topic again that was deleted."""
        self.topics.missing.remove(topic)
        self.sessions.close_all_heartbeats()

    def submit_heartbeat(
        self, request: HeartbeatRequest, waiting: Waiting, name: str, connection: ClientConnection | None = None
    ) -> int:
        """As a connection does it: from the session table if that is enough."""
        known = (request.group_id, request.member_id, request.group_instance_id, request.generation_id)
        if not self.fast_path or not self.sessions.answer_heartbeat(*known, self.now_ms):
            return self.submit(operations.HEARTBEAT, request.group_id, request, waiting, name, 4, connection)
        # An id all the same, so that a history has the same ids with the fast path and without.
        request_id = self.pending.register(waiting)
        self.pending.reply(request_id, HeartbeatResponse())
        return request_id

    def submit_consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, waiting: Waiting, name: str, version: int
    ) -> int:
        """As a connection does it: from the session table if the member says no more than that it is alive."""
        nothing = ConsumerGroupHeartbeatRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            instance_id=request.instance_id,
            rebalance_timeout_ms=-1,
        )
        interval_ms = -1
        if self.fast_path and repr(request) == repr(nothing):
            interval_ms = self.sessions.answer_consumer_heartbeat(
                request.group_id,
                request.member_id,
                request.instance_id,
                request.member_epoch,
                name,
                CLIENT_HOST,
                self.now_ms,
            )
        if interval_ms < 0:
            operation = operations.CONSUMER_GROUP_HEARTBEAT
            return self.submit(operation, request.group_id, request, waiting, name, version)
        request_id = self.pending.register(waiting)
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=interval_ms
        )
        self.pending.reply(request_id, response)
        return request_id

    def _drain_unless_batching(self) -> None:
        if not self.is_batching:
            self.drain()

    def drain(self) -> None:
        """The end of an iteration."""
        self.scheduler.run()
        self.coordinator.drain(self.now_ms)

    def replay_audit(self, partition: int = 0) -> Iterator[AuditRecord]:
        """The audit topic, from its beginning."""
        log = self.logs[AUDIT, partition]
        for records in AuditStream(log, 0).replay(log.log_start_offset):
            yield from records


def unanswered(pending: PendingRequests) -> dict[int, Any]:
    """Request id → who waits for its answer."""
    return dict(pending.unanswered)
