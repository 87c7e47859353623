"""One node: creates, starts and stops its logs, metadata, shards, handlers and listeners."""

import asyncio
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from coordinator import __version__
from coordinator.audit.schema import CoordinatorPaused, CoordinatorStarted, CoordinatorStopped
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.cleaner_thread import CleanerThread
from coordinator.broker.directory_assignment import DirectoryAssignment
from coordinator.broker.directory_failures import DirectoryFailures
from coordinator.broker.fetch import FetchService, FetchTimeoutKey
from coordinator.broker.log_cleaner import LogCleaner
from coordinator.broker.log_flusher import LogFlusher
from coordinator.broker.partitions import Partitions
from coordinator.broker.produce import ProduceService
from coordinator.broker.producer_directory import ProducerDirectory
from coordinator.broker.producers import ProducerStates
from coordinator.broker.recompression_threads import RUNNING_MAX, RecompressionThreads
from coordinator.broker.replica_moves import ReplicaMoves
from coordinator.broker.retention import Retention
from coordinator.broker.strays import set_aside_if_stray
from coordinator.broker.topics import Topics
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.config.log_keys import REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.server_keys import (
    FETCH_MAX_BYTES,
    METADATA_LOG_DIR,
    METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS,
    NODE_ID,
)
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_retention import AuditRetention
from coordinator.groups.checked import SWITCH, checks_are_armed
from coordinator.groups.sessions import SessionTable
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS, GROUP_AUDIT
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.log_homes import AssignedDirectories
from coordinator.log.disk_threads import DiskThreads, InLine, run_in_threads, run_in_turn
from coordinator.log.errors import LogError, LogFlushError, LogStopError
from coordinator.log.files import DiskFileSystem, FileSystem
from coordinator.log.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.compaction import AtOnce, MetadataCompaction
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import Leadership, SingleNode
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Slices, Steps
from coordinator.server.api_table import dispatch_table
from coordinator.server.coordinators import make_group_coordinator, make_transaction_coordinator, unload_offline
from coordinator.server.descriptors import DescriptorReserve, files_of_the_logs
from coordinator.server.handlers.transactional_writes import complete_offsets
from coordinator.server.limits import ConnectionLimits
from coordinator.server.listeners import Listeners
from coordinator.server.loop_scheduler import LoopScheduler
from coordinator.server.metered import bind_admin
from coordinator.server.node_context import NodeContext
from coordinator.server.pending_requests import PendingRequests
from coordinator.server.rejection_log import RejectionLog
from coordinator.server.request_chain import RequestChain
from coordinator.server.request_dispatcher import RequestDispatcher
from coordinator.server.slow_peers import SlowPeers
from coordinator.server.throttling import Throttling
from coordinator.server.wall_clock import WallClockWatch, log_step
from coordinator.timers.clock import Clock
from coordinator.timers.system_clock import SystemClock, wall_clock_ms
from coordinator.timers.wheel import TimerWheel
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.partition_adder import PartitionAdder
from coordinator.wall_time import WallTime

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics

LOADED_BEFORE_LISTENING_SECONDS: Final = 0.5
"""How long clients cannot connect yet while groups are loaded; what takes longer goes on beside their requests."""
FILES_OF_A_RECOVERY: Final = 64
"""How many files each thread has open that recovers logs; no other logs are open at that time."""
DRAIN_SECONDS: Final = 2
"""How long a stop waits for responses to be sent."""


@dataclass(frozen=True, slots=True)
class TestSupport:
    """What a node in a test is given. All of its heartbeats are decided by the core, so that each can be seen."""

    __test__ = False
    clock: Clock
    files: FileSystem
    admin_routes: "Callable[[Node], Sequence[Any]]" = lambda node: ()
    """Routes of Starlette, which the admin port serves beside its own."""


class Node:
    """A coordinator with its embedded log. Made and started in a running loop, stopped once."""

    def __init__(
        self,
        config: Config,
        leadership: Leadership | None = None,
        log_lines_dropped: Callable[[], int] = lambda: 0,
        testing: "TestSupport | None" = None,
    ) -> None:
        """Without a `leadership` this is the only node of its cluster. `log_lines_dropped` is only for the metrics.

        `testing` replaces what a test controls: the clock, the files, and how heartbeats are answered.
        """
        self._config = config
        self._testing = testing
        self._log_lines_dropped = log_lines_dropped
        self._admin: AdminPort | None = None
        self._metrics: NodeMetrics | None = None
        self._leadership = leadership or SingleNode(config[NODE_ID])
        self._clock: Clock = SystemClock() if testing is None else testing.clock
        loop = asyncio.get_running_loop()
        self._wall_ms: Callable[[], int] = wall_clock_ms if testing is None else testing.clock.now_ms
        self._wall = WallTime(self._wall_ms, log_step)
        self._wheel = TimerWheel(self._clock.now_ms())
        self.scheduler = LoopScheduler(loop, self._wheel, self._clock.now_ms)
        self._wall_clock = WallClockWatch(self.scheduler, self._wall)
        self._pauses = Pauses()
        self._slices = Slices(loop.call_soon)
        self.failure: asyncio.Future[LogError] = loop.create_future()
        """Done when the process must end without a stop.

        An fsync failed, so what it was to make safe may be lost; or a log directory without which it cannot go on.
        """

    async def start(self) -> None:
        """Open the logs, replay, listen.

        Raises:
            ConfigError: settings that contradict each other, or a library of the admin port that is missing.
            DataDirectoryError: a data folder that cannot be used.
            MetadataError: a metadata log that cannot be understood.
            ListenError: an address that cannot be bound.
        """
        config = self._config
        files: FileSystem
        if self._testing is None:
            files = disk = DiskFileSystem(files_of_the_logs())
            self._descriptors = DescriptorReserve(disk.open_count)
        else:
            files, self._descriptors = self._testing.files, DescriptorReserve()
        metadata_path = Path(config[METADATA_LOG_DIR]).absolute() if config[METADATA_LOG_DIR] else None
        self._directories = LogDirectories.open(
            config.log_directories(), metadata_path, node_id=config[NODE_ID], fs=files
        )
        deliver = asyncio.get_running_loop().call_soon_threadsafe
        self._disk_threads = DiskThreads(deliver)
        self._compression_threads = DiskThreads(deliver, RUNNING_MAX, name="compression")
        try:
            if config[ADMIN_LISTENER]:
                self._admin, self._metrics = bind_admin(config, self._log_lines_dropped)
            await self._start(config)
            self._directories.log_recovery()
        except BaseException:
            if self._admin is not None:
                self._admin.close()
            self._abandon_work()
            self._disk_threads.stop()
            self._compression_threads.stop()
            # Nothing is served yet: a start that fails, as on an address in use, does not cost the next one a recovery.
            self._directories.close_unused()
            raise
        if checks_are_armed():
            logger.warning("the checks of the coordinator are armed; it is slow", switch=SWITCH)
        admin = {} if self.admin is None else {"admin": self.admin}
        logger.info("serving", bootstrap=self.bootstrap, **admin, data=",".join(map(str, self._directories.paths)))

    async def _start(self, config: Config) -> None:
        now_ms, wall_ms, wheel, slices = self._clock.now_ms, self._wall_ms, self._wheel, self._slices
        notifier = AppendNotifier(self.scheduler.request_iteration)
        self._metadata = metadata = MetadataStore(
            self._directories.open_metadata_log(LogConfig()), lambda: uuid.uuid4().bytes
        )
        producer_ids = ProducerIds(metadata)
        self._compact_metadata(metadata, slices)
        partitions, failures = self._open_partitions(metadata, notifier, slices)
        await self._recover_large_logs(partitions)
        topics = Topics(metadata, partitions, config)
        topics.create_internal_topics(now_ms())
        pending = PendingRequests()
        sessions = SessionTable(wheel, random.SystemRandom().getrandbits(64))
        environment = self._make_environment(metadata.image, producer_ids, sessions)
        self._drain_meter = (
            None if self._metrics is None else self._metrics.drain_meter(self.scheduler.request_iteration)
        )
        self._start_groups(partitions, environment, notifier, pending, sessions, wheel)
        self._producers = producers = ProducerDirectory(config, self.scheduler, now_ms, wall_ms)

        def load_producers(log: PartitionLog) -> Steps[ProducerStates]:
            return producers.load(log, wall_ms())

        # Connections that know no session leave every heartbeat to the core.
        quick_sessions = sessions if self._testing is None else SessionTable(wheel, 0)
        marker_writer = MarkerWriter(partitions, producers, notifier, wall_ms)
        transactions = make_transaction_coordinator(
            partitions,
            environment,
            notifier,
            pending,
            wheel,
            slices,
            self.scheduler,
            marker_writer,
            lambda partition, marker, reply: complete_offsets(self.parts, partition, marker, reply),
            now_ms,
            self._when_durable,
        )
        failures.add_listener(partial(unload_offline, partitions, self._coordinator, transactions))
        self.parts = NodeContext(
            config=config,
            cluster_id=self._directories.cluster_id,
            metadata=metadata,
            image=metadata.image,
            producer_ids=producer_ids,
            leadership=self._leadership,
            partitions=partitions,
            topics=topics,
            produce_service=ProduceService(metadata.image, partitions, notifier, config, producers),
            recompression_threads=RecompressionThreads(self._compression_threads),
            slices=slices,
            fetch_service=FetchService(
                metadata.image, partitions, notifier, self.scheduler, slices, config[FETCH_MAX_BYTES], load_producers
            ),
            coordinator=self._coordinator,
            transactions=transactions,
            partition_adder=PartitionAdder(transactions.ask, self.scheduler, now_ms, config),
            marker_writer=marker_writer,
            load_producers=load_producers,
            flusher=self._flusher,
            replica_moves=self._replica_moves,
            pending=pending,
            throttling=Throttling(config, metadata.image, self.scheduler, now_ms),
            now_ms=now_ms,
            wall_ms=wall_ms,
            start_transactions=partial(self._start_transactions, partitions, transactions),
        )
        self._schedule(self.parts, notifier)
        self._flusher.start(now_ms())
        self._start_retention(metadata.image, partitions)
        self._start_cleaner(metadata.image, partitions)
        self._replica_moves.go_on()
        self._load_groups(partitions)
        self.parts.start_transactions()
        self._make_listeners(self.parts, environment, quick_sessions)
        self._commit_metadata_in_threads(metadata)
        await self._load_before_listening(now_ms)
        await self._listeners.open()
        if self._admin is not None and self._metrics is not None:
            self._measure(self._metrics, partitions, pending, sessions, wheel)
            routes = () if self._testing is None else self._testing.admin_routes(self)
            await self._admin.start(self._metrics, routes)

    # --------------------------------------------------------------------------------------------- parts of the start

    def _open_partitions(
        self, metadata: MetadataStore, notifier: AppendNotifier, slices: Slices
    ) -> tuple[Partitions, DirectoryFailures]:
        """The logs, by the log directories that have them, and what is done when a directory fails."""
        call_soon, now_ms = asyncio.get_running_loop().call_soon, self._clock.now_ms
        image = metadata.image
        assigned = AssignedDirectories(image.directory_id, lambda directory_id: directory_id in image.log_directories)
        self._directories.find_homes(partial(set_aside_if_stray, image), assigned)
        assignment = DirectoryAssignment(metadata, self._directories)
        assignment.settle(now_ms())
        self._leadership = assignment.leadership(self._leadership)
        partitions = Partitions(self._directories, metadata.image, self._config, self._leadership, slices)
        self._flusher = flusher = LogFlusher(
            self._config, self._directories, notifier, self.scheduler, self._disk_threads, self._fail, now_ms
        )
        partitions.on_open = flusher.opened
        failures = DirectoryFailures(self._directories, partitions, assignment, slices, call_soon, self._fail)
        partitions.on_disk_error = flusher.disk_error = failures.report
        flusher.directory_failed = failures.flush_failed
        metadata.on_disk_error = failures.report
        self._replica_moves = ReplicaMoves(
            image,
            self._directories,
            partitions,
            assignment,
            flusher,
            self._is_cleaning,
            # A disk in memory is not safe for several threads.
            self._disk_threads if self._testing is None else InLine(),
            slices,
            self.scheduler,
            call_soon,
            now_ms,
            self._config[REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND],
        )
        partitions.on_delete = self._replica_moves.topic_deleted
        self.scheduler.on_due(self._replica_moves.due)
        return partitions, failures

    def _is_cleaning(self, log: PartitionLog) -> bool:
        return self._cleaner.is_cleaning(log)

    @property
    def _when_durable(self) -> Callable[[Callable[[None], None]], None] | None:
        return self._flusher.when_durable if self._flusher.is_durable_only else None

    def _make_environment(self, image: MetadataImage, producer_ids: ProducerIds, sessions: SessionTable) -> Environment:
        return Environment(
            self._config,
            image,
            sessions,
            _new_id,
            addresses=AddressLimits(self._config),
            producer_ids=producer_ids,
            wall=self._wall,
            pauses=self._pauses,
        )

    def _start_groups(
        self,
        partitions: Partitions,
        environment: Environment,
        notifier: AppendNotifier,
        pending: PendingRequests,
        sessions: SessionTable,
        wheel: TimerWheel,
    ) -> None:
        self._coordinator_epoch = self._directories.next_coordinator_epoch()
        self._coordinator = make_group_coordinator(
            partitions,
            environment,
            notifier,
            pending,
            sessions,
            wheel,
            (self._drain_meter or self.scheduler).request_iteration,
            coordinator_epoch=self._coordinator_epoch,
            checkpoints=AuditCheckpoints(self._directories.metadata_checkpoint(GROUP_AUDIT)),
            when_durable=self._when_durable,
            metrics=self._metrics,
        )
        self._coordinator.announce(
            CoordinatorStarted(
                time_ms=0,
                node_id=self._config[NODE_ID],
                coordinator_epoch=self._coordinator_epoch,
                software_version=__version__,
            )
        )

    def _load_groups(self, partitions: Partitions) -> None:
        self._coordinator.load(
            index
            for index in range(len(self._coordinator.shards))
            if partitions.leads(OFFSETS_TOPIC, index) and partitions.leads(AUDIT_TOPIC, index)
        )

    def _start_transactions(self, partitions: Partitions, transactions: TransactionCoordinator) -> None:
        count = partitions.partition_count(TRANSACTIONS_TOPIC)
        if count and not transactions.shards:
            led = [index for index in range(count) if partitions.leads(TRANSACTIONS_TOPIC, index)]
            transactions.start(count, led, self._clock.now_ms())

    def _schedule(self, parts: NodeContext, notifier: AppendNotifier) -> None:
        """What is done at the end of an iteration of the loop, in this order, and when timers are due."""
        scheduler, meter = self.scheduler, self._drain_meter
        drain = parts.coordinator.drain
        scheduler.on_iteration_end(self._wall.follow)
        scheduler.on_iteration_end(parts.transactions.drain)
        scheduler.on_iteration_end(drain if meter is None else meter.timed(drain))
        scheduler.on_iteration_end(parts.flusher.commit)
        scheduler.on_iteration_end(notifier.notify)
        scheduler.on_due(parts.coordinator.due)
        scheduler.on_due(parts.transactions.due)
        scheduler.on_due(parts.partition_adder.due)
        scheduler.on_due(
            lambda key, now_ms: parts.fetch_service.expire(key.fetch) if isinstance(key, FetchTimeoutKey) else None
        )
        scheduler.on_due(self._producers.due)
        scheduler.on_due(parts.flusher.due)

    def _start_retention(self, image: MetadataImage, partitions: Partitions) -> None:
        flusher, groups = self._flusher, self._coordinator
        now_ms = self._clock.now_ms
        audit = AuditRetention(
            groups.shards, lambda shard: groups.audit.request_snapshots(shard, now_ms()), flusher.request_flush
        )
        store_start_offsets = flusher.store_log_start_offsets
        retention = Retention(
            image, partitions, self._config, self.scheduler, store_start_offsets, self._wall_ms, audit.retained_from
        )
        retention.start(now_ms())
        self.scheduler.on_due(retention.due)

    def _make_listeners(self, parts: NodeContext, environment: Environment, sessions: SessionTable) -> None:
        """What takes requests from connections, within the limits for clients; `sessions` are those they know."""
        config, now_ms = self._config, self._clock.now_ms
        table, cluster = dispatch_table(parts)
        self.chain = RequestChain(table, sessions, parts.throttling)
        limits = ConnectionLimits(config, self.scheduler)
        slow_peers = SlowPeers(config, self.scheduler, now_ms)
        self._rejections = RejectionLog(self.scheduler, now_ms)
        if self._testing is None:  # a test has one clock for both
            self._wall_clock.start(now_ms())
        for due in (limits.due, slow_peers.due, self._rejections.due, parts.throttling.due, self._wall_clock.due):
            self.scheduler.on_due(due)
        self.dispatcher = RequestDispatcher(
            self.chain,
            cluster,
            parts.pending,
            limits,
            slow_peers,
            self._rejections,
            parts.throttling,
            environment,
            parts.slices,
            self.scheduler.fire_due,
            self._fail,
        )
        parts.resume = self.dispatcher.handle
        self._listeners = Listeners(config, self.dispatcher, limits, sessions, now_ms, self._metrics, self._descriptors)

    async def _recover_large_logs(self, partitions: Partitions) -> None:
        """Recover them in a thread for each log directory (num.recovery.threads.per.data.dir)."""
        if self._testing is not None:  # a disk in memory is not safe for several threads
            for recover in partitions.large_recoveries(lambda: self._directories.files):
                recover()
            return
        recoveries = partitions.large_recoveries(lambda: DiskFileSystem(FILES_OF_A_RECOVERY))
        if recoveries:
            recovered: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
            self._disk_threads.run(recoveries, recovered.set_result)
            if problem := await recovered:
                raise problem

    def _compact_metadata(self, metadata: MetadataStore, slices: Slices) -> None:
        """Replace the metadata log by a snapshot if it has grown: at once now, in the background after each change."""

        def compaction(slices: Slices | AtOnce, threads: DiskThreads | InLine) -> MetadataCompaction:
            bytes_max = self._config[METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS]
            files, now_ms = self._directories.files, self._clock.now_ms
            return MetadataCompaction(metadata, files, bytes_max, slices, threads, now_ms)

        compaction(AtOnce(), InLine()).check()
        # A disk in memory is not safe for several threads.
        metadata.on_change = compaction(slices, self._disk_threads if self._testing is None else InLine()).check

    def _commit_metadata_in_threads(self, metadata: MetadataStore) -> None:
        """Before clients come: from now on no fsync of the metadata log is in the event loop."""
        if self._testing is None:
            metadata.commit_in(self._disk_threads, asyncio.get_running_loop().call_soon, self._fail)
        else:  # a disk in memory is not safe for several threads
            metadata.commit_in(InLine(), None, self._fail)

    async def _load_before_listening(self, now_ms: Callable[[], int]) -> None:
        """Give short loads the time to end, so that nobody who comes at once is told to try again later."""
        until = monotonic() + LOADED_BEFORE_LISTENING_SECONDS
        while self._coordinator.is_loading and monotonic() < until:
            self._coordinator.drain(now_ms())
            await asyncio.sleep(0)

    def _start_cleaner(self, image: MetadataImage, partitions: Partitions) -> None:
        # A disk in memory is not safe for several threads.
        thread = CleanerThread(asyncio.get_running_loop().call_soon_threadsafe) if self._testing is None else None
        self._cleaner = LogCleaner(
            self._directories.files,
            image,
            partitions,
            self._config,
            self.scheduler,
            self._directories.checkpoint(CLEANER_OFFSETS),
            self._clock.now_ms,
            self._wall_ms,
            thread,
            lambda log: log.last_stable_offset,
        )
        self._cleaner.start()
        self.scheduler.on_due(self._cleaner.due)

    def _measure(
        self,
        metrics: "NodeMetrics",
        partitions: Partitions,
        pending: PendingRequests,
        sessions: SessionTable,
        wheel: TimerWheel,
    ) -> None:
        from coordinator.metrics.node_metrics import Measured

        metrics.measure(
            Measured(
                coordinator=self._coordinator,
                coordinator_epoch=self._coordinator_epoch,
                sessions=sessions,
                wheel=wheel,
                pending=pending.unanswered,
                leads=partitions.leads,
                timestamp_at=partitions.timestamp_at,
                log_bytes=lambda topic, partition: partitions.get(topic, partition).size_bytes,
                transactions=self.parts.transactions.counts,
                oldest_transactions=self._producers.oldest_transactions,
                now_ms=self._clock.now_ms,
                wall_ms=self._wall_ms,
                compaction=self._cleaner.counts,
                offline_log_directories=lambda: len(self._directories.offline_paths()),
            )
        )

    def kill(self) -> None:
        """Stop as after `kill -9`: nothing more is written or answered, and the next start has to check the logs."""
        self._listeners.close()
        self.scheduler.abandon()
        if self._admin is not None and self._metrics is not None:
            self._admin.close()
            self._metrics.loop.stop()
        for connection in list(self.dispatcher.connections):
            connection.close()
        self._cleaner.stop_thread()
        self._metadata.abandon()
        self._disk_threads.stop(wait=False)
        self._compression_threads.stop(wait=False)
        self._directories.close(clean=False)

    def stood_still(self, seconds: float, pause_kind: str) -> None:
        """The event loop stood still until now: whom it did not hear meanwhile need not have been silent."""
        until_ms = self._clock.now_ms()
        from_ms = until_ms - round(seconds * 1000)
        self._pauses.add(from_ms, until_ms)
        self._coordinator.tell(
            CoordinatorPaused(
                time_ms=0,
                node_id=self._config[NODE_ID],
                coordinator_epoch=self._coordinator_epoch,
                from_ms=self._wall.at(from_ms),
                until_ms=self._wall.at(until_ms),
                pause_kind=pause_kind,
            )
        )

    def _abandon_work(self) -> None:
        """Do nothing more at the end of iterations and in slices: the logs are about to be closed."""
        self.scheduler.abandon()
        self._slices.stop()

    def _fail(self, problem: LogError) -> None:
        if not self.failure.done():
            self.failure.set_result(problem)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the first listener, as it is advertised to clients."""
        first = self._listeners.endpoints[0]
        return f"{first.host}:{first.port}"

    @property
    def admin(self) -> str | None:
        """HOST:PORT of the admin port; None when there is none."""
        return None if self._admin is None else self._admin.address

    async def stop(self) -> None:
        """Stop accepting connections, send the responses, close the logs so that the next start need not check them."""
        self._listeners.close()
        if self._admin is not None and self._metrics is not None:
            await self._admin.stop()
            self._metrics.loop.stop()
        self.scheduler.stop()
        for connection in list(self.dispatcher.connections):
            connection.close()
        deadline = self._clock.now_ms() + DRAIN_SECONDS * 1000
        while self.dispatcher.connections and self._clock.now_ms() < deadline:
            await asyncio.sleep(0.01)
        stopped = CoordinatorStopped(
            time_ms=0, node_id=self._config[NODE_ID], coordinator_epoch=self._coordinator_epoch
        )
        self._rejections.tell()
        await asyncio.get_running_loop().run_in_executor(None, self._cleaner.stop_thread)
        self._cleaner.close()
        self._compression_threads.stop(wait=False)
        self._replica_moves.stop()
        failure = self._disk_threads.stop()
        try:
            if isinstance(failure, LogFlushError):
                raise failure
            self._metadata.finish()
        except LogFlushError:
            self._directories.close(clean=False)
            raise
        self._replica_moves.close()
        self._flusher.finish()
        self._coordinator.stop(self._clock.now_ms(), stopped)
        # What is still being loaded or deleted must not go on in logs that are closed.
        self._abandon_work()
        # A disk in memory is not safe for several threads.
        run = run_in_threads if self._testing is None else run_in_turn
        self._producers.finish(run)
        try:
            self._directories.close(run=run)
        except OSError as problem:
            raise LogStopError(f"the logs were not closed cleanly, so the next start checks them: {problem}") from None
        logger.info("stopped")


def _new_id() -> str:
    return str(uuid.uuid4())
