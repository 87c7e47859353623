"""One node: starts and stops its parts, in order."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final

from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.front.front import make_front
from coordinator.front.node import ServingNode
from coordinator.groups.machines import SWITCH, checks_are_armed
from coordinator.log.errors import LogFlushError, LogStopError
from coordinator.logger import logger
from coordinator.metadata.leadership import Leadership, SingleNode
from coordinator.node.data_plane import DataPlane, make_data_plane
from coordinator.node.disk_host import DiskHost, this_disk_host
from coordinator.node.groups import make_groups
from coordinator.node.measured_node import measure_node
from coordinator.node.node_front import front_home
from coordinator.node.node_threads import NodeThreads
from coordinator.node.share_states import ShareParts, make_share_parts
from coordinator.node.storage import Storage, commit_metadata_in_threads, open_directories, open_storage
from coordinator.node.work import begin_coordinating

LOADED_BEFORE_LISTENING_SECONDS: Final = 0.5
"""How long clients cannot connect yet while groups are loaded; what takes longer goes on beside their requests."""
DRAIN_SECONDS: Final = 2
"""How long a stop waits for responses to be sent."""


class Node(ServingNode):
    """A coordinator with its embedded log."""

    storage: Storage
    shares: ShareParts
    data_plane: DataPlane | None
    """The parts of a node that has been started, beside its groups and its front."""

    def __init__(
        self,
        config: Config,
        leadership: Leadership | None = None,
        *,
        host: DiskHost | None = None,
        has_data_plane: bool = True,
        log_lines_dropped: Callable[[], int] = lambda: 0,
        admin_routes: "Callable[[Node], Sequence[Any]]" = lambda node: (),
        begin_work: "Callable[[Node], None]" = begin_coordinating,
        not_ready_because: Callable[[], str] = lambda: "",
    ) -> None:
        """Without a `leadership` this is the only node of its cluster, without a `host` it runs on this machine.

        A node without a data plane serves groups and topics, but no records and no transactions. `log_lines_dropped` is
        only for the metrics. `admin_routes` are routes of Starlette that the admin port serves beside its own.
        `begin_work` begins what goes on without requests. `not_ready_because` tells what is wrong beside the partitions
        of groups, and nothing if all is well.
        """
        self._host = host or this_disk_host()
        # A copy: what is set while it runs counts for this node alone.
        super().__init__(config.copy(), self._host, log_lines_dropped)
        self._leadership = leadership or SingleNode(config[NODE_ID])
        self._has_data_plane = has_data_plane
        self._admin_routes = admin_routes
        self._begin_work = begin_work
        self._not_ready_because = not_ready_because
        self.threads: Final = NodeThreads(self.loop, may_use_files=self._host.has_threads)

    @property
    def follows_wall_clock(self) -> bool:
        """Whether the wall clock of this node is one that may jump."""
        return self._host.wall_ms is not None

    # ---------------------------------------------------------------------------------------------------------- start

    async def start(self) -> None:
        """Open the logs, replay, listen.

        Raises:
            ConfigError: settings that contradict each other, or a library of the admin port that is missing.
            DataDirectoryError: a data folder that cannot be used.
            MetadataError: a metadata log that cannot be understood.
            ListenError: an address that cannot be bound.
        """
        config = self._config
        directories = open_directories(config, self._host)
        try:
            self._bind_admin()
            self.storage = await open_storage(
                config, self._host, self.loop, self.threads, directories, self._leadership
            )
            self._make_parts()
            self._begin_work(self)
            await self._listen()
            directories.log_recovery()
        except BaseException:
            if self._admin is not None:
                self._admin.close()
            self.loop.abandon()
            self.threads.stop()
            # Nothing is served yet: a start that fails, as on an address in use, does not cost the next one a recovery.
            directories.close_unused()
            raise
        if checks_are_armed():
            logger.warning("coordinator checks are enabled; the server is slow", switch=SWITCH)
        admin = {} if self.admin is None else {"admin": self.admin}
        self._warn_about_security()
        logger.info("serving", bootstrap=self.bootstrap, **admin, data=",".join(map(str, directories.paths)))

    def _make_parts(self) -> None:
        config, loop, storage = self._config, self.loop, self.storage
        self.shares = make_share_parts(config, loop, storage)
        self.groups = make_groups(config, loop, storage, self.shares.states, self.metrics)
        if self._has_data_plane:
            self.data_plane = make_data_plane(config, loop, self.threads, storage, self.groups)
        else:
            self.data_plane = None
        self._schedule()

    def _schedule(self) -> None:
        """What is done at the end of an iteration of the loop, in this order, and when timers are due."""
        scheduler, groups, plane = self.loop.scheduler, self.groups, self.data_plane
        drain = groups.coordinator.drain
        scheduler.on_iteration_end(self.loop.wall.follow)
        if plane is not None:
            scheduler.on_iteration_end(plane.transactions.drain)
        scheduler.on_iteration_end(self.shares.coordinator.drain)
        scheduler.on_iteration_end(drain if groups.drain_meter is None else groups.drain_meter.timed(drain))
        scheduler.on_iteration_end(self.storage.flusher.commit)
        scheduler.on_iteration_end(self.storage.notifier.notify)
        scheduler.on_due(groups.coordinator.due)
        scheduler.on_due(self.shares.coordinator.due)
        if plane is not None:
            for due in (plane.transactions.due, plane.expire_fetch, plane.producers.due):
                scheduler.on_due(due)

    async def _listen(self) -> None:
        self.front = make_front(
            self._config,
            self._host,
            self.loop,
            self.groups,
            front_home(self._config, self.loop, self.storage, self.groups, self.shares, self.data_plane, self.metrics),
            self.metrics,
        )
        commit_metadata_in_threads(self.loop, self.threads, self.storage.metadata)
        await self._load_before_listening()
        await self.front.listeners.open()
        if self._admin is not None:
            measure_node(
                self._admin.metrics,
                self.loop,
                self.storage,
                self.groups,
                data_plane=self.data_plane,
                not_ready_because=self._not_ready_because,
            )
            self._admin.metrics.register(self.front.denials.samples)
            self._admin.metrics.register(self.shares.meter.samples)
            self._admin.serve(partial(self._admin_routes, self), self.front.listeners.secure_admin())

    async def _load_before_listening(self) -> None:
        """Give short loads the time to end, so that nobody who comes at once is told to try again later."""
        until = monotonic() + LOADED_BEFORE_LISTENING_SECONDS
        while self.groups.coordinator.is_loading and monotonic() < until:
            self.groups.coordinator.drain(self.loop.now_ms())
            await asyncio.sleep(0)

    # ----------------------------------------------------------------------------------------------------------- stop

    def kill(self) -> None:
        """Stop as after `kill -9`: nothing more is written or answered, and the next start has to check the logs."""
        self.front.listeners.close()
        self.loop.scheduler.abandon()
        if self._admin is not None:
            self._admin.close()
        self._close_connections()
        self.storage.cleaner.stop_thread()
        self.storage.metadata.abandon()
        self.threads.abandon()
        self.storage.directories.close(clean=False)

    async def stop(self) -> None:
        """Stop accepting connections, send the responses, close the logs so that the next start need not check them.

        Raises:
            LogFlushError: an fsync failed: what it was to make safe may be lost.
            LogStopError: the logs were not closed cleanly; the next start checks them.
        """
        await self._stop_serving()
        storage = self.storage
        self.front.peers.rejections.report()
        await asyncio.get_running_loop().run_in_executor(None, storage.cleaner.stop_thread)
        storage.cleaner.close()
        self.threads.compression.stop(wait=False)
        storage.replica_moves.stop()
        failure = self.threads.disk.stop()
        try:
            if isinstance(failure, LogFlushError):
                raise failure
            storage.metadata.finish()
        except LogFlushError:
            storage.directories.close(clean=False)
            raise
        storage.replica_moves.close()
        storage.flusher.finish()
        self.groups.coordinator.stop(self.loop.now_ms(), self._stopped())
        # What is still being loaded or deleted must not go on in logs that are closed.
        self.loop.abandon()
        if self.data_plane is not None:
            self.data_plane.producers.finish(self._host.run)
        try:
            storage.directories.close(run=self._host.run)
        except OSError as problem:
            raise LogStopError(f"the logs were not closed cleanly, so the next start checks them: {problem}") from None
        logger.info("stopped")

    async def _stop_serving(self) -> None:
        """Accept no more connections, and close those that are open when their responses have been sent."""
        self.front.listeners.close()
        if self._admin is not None:
            await self._admin.stop()
        self.loop.scheduler.stop()
        self._close_connections()
        deadline = self.loop.now_ms() + DRAIN_SECONDS * 1000
        while self.front.dispatcher.connections and self.loop.now_ms() < deadline:
            await asyncio.sleep(0.01)
