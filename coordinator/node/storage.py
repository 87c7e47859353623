"""Building of what a node stores: log directories, metadata, the logs of partitions, and who takes care of them."""

import asyncio
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from coordinator.broker.cleaner_thread import CleanerThread
from coordinator.broker.configs.dynamic_configs import DynamicBrokerConfigs
from coordinator.broker.configs.topic_configs import BROKER_SETTINGS
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.directories.directory_assignment import DirectoryAssignment, place
from coordinator.broker.directories.directory_failures import DirectoryFailures
from coordinator.broker.directories.disk_errors import DiskErrors
from coordinator.broker.directories.replica_moves import ReplicaMoves
from coordinator.broker.directories.strays import set_aside_if_stray
from coordinator.broker.log_cleaner import LogCleaner
from coordinator.broker.log_flusher import LogFlusher
from coordinator.broker.partitions import Partitions
from coordinator.broker.topics import Topics
from coordinator.config.log_keys import REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
from coordinator.config.server_keys import (
    METADATA_LOG_DIR,
    METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS,
    NODE_ID,
)
from coordinator.config.settings import Config
from coordinator.front.authorization import Authorizer
from coordinator.front.node_loop import NodeLoop
from coordinator.log.config import METADATA_LOG_CONFIG
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.log_homes import AssignedDirectories
from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.metadata.compaction import AtOnce, MetadataCompaction
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import Leadership
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.metadata.store import MetadataStore
from coordinator.node.authorizers import make_authorizer
from coordinator.node.disk_host import DiskHost
from coordinator.node.node_threads import NodeThreads
from coordinator.runtime.slices import Slices
from coordinator.runtime.store import WhenDurable


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """The logs and the metadata of a node."""

    directories: LogDirectories
    metadata: MetadataStore
    producer_ids: ProducerIds
    leadership: Leadership
    notifier: AppendNotifier
    partitions: Partitions
    flusher: LogFlusher
    failures: DirectoryFailures
    cleaner: LogCleaner
    replica_moves: ReplicaMoves
    topics: Topics
    dynamic_configs: DynamicBrokerConfigs
    authorizer: Authorizer
    """Decides by the ACLs of the metadata."""

    @property
    def image(self) -> MetadataImage:
        """That of the store, with what is durable. A change is checked against `metadata.latest_image`."""
        return self.metadata.image

    @property
    def when_durable(self) -> WhenDurable | None:
        """None: what was appended counts before it is flushed."""
        return self.flusher.when_durable if self.flusher.is_durable_only else None


def open_directories(config: Config, host: DiskHost) -> LogDirectories:
    """Open the log directories and lock them.

    Raises:
        DataDirectoryError: one cannot be used.
    """
    metadata_path = Path(config[METADATA_LOG_DIR]).absolute() if config[METADATA_LOG_DIR] else None
    return LogDirectories.open(config.log_directories(), metadata_path, node_id=config[NODE_ID], fs=host.files)


async def open_storage(
    config: Config,
    host: DiskHost,
    loop: NodeLoop,
    threads: NodeThreads,
    directories: LogDirectories,
    leadership: Leadership,
) -> Storage:
    """Replay the metadata, find the logs, and recover those that are large.

    Raises:
        DataDirectoryError: a log directory has partitions and is not among those of the configuration.
        MetadataError: the metadata log cannot be understood.
        LogFlushError: an fsync of what a killed process has left failed.
    """
    disk_errors = DiskErrors()
    metadata = MetadataStore(
        directories.open_metadata_log(METADATA_LOG_CONFIG),
        lambda: uuid.uuid4().bytes,
        place=partial(place, directories),
        on_disk_error=disk_errors.report,
    )
    _compact_metadata(config, loop, threads, directories, metadata)
    dynamic_configs = DynamicBrokerConfigs(config, metadata)
    storage = _open_logs(config, loop, threads, directories, metadata, leadership, disk_errors, dynamic_configs)
    await _recover_large_logs(host, threads, storage)
    storage.topics.create_internal_topics(loop.now_ms())
    return storage


def _open_logs(
    config: Config,
    loop: NodeLoop,
    threads: NodeThreads,
    directories: LogDirectories,
    metadata: MetadataStore,
    leadership: Leadership,
    disk_errors: DiskErrors,
    dynamic_configs: DynamicBrokerConfigs,
) -> Storage:
    """The logs, by the log directories that have them, and what is done when a directory fails."""
    image = metadata.image
    notifier = AppendNotifier(loop.scheduler.request_iteration)
    assignment = _assignment(loop, directories, metadata)
    leadership = assignment.leadership(leadership)
    flusher = _flusher(config, loop, threads, directories, notifier, disk_errors)
    opened, stop, call_soon, slices = flusher.opened, loop.fail, loop.call_soon, loop.slices
    partitions = Partitions(directories, image, config, leadership, slices, disk_errors=disk_errors, on_open=opened)
    failures = DirectoryFailures(
        directories, partitions, assignment, slices, disk_errors=disk_errors, call_soon=call_soon, stop=stop
    )
    cleaner = _cleaner(config, loop, threads, directories, image, partitions)
    return Storage(
        directories=directories,
        metadata=metadata,
        producer_ids=ProducerIds(metadata),
        leadership=leadership,
        notifier=notifier,
        partitions=partitions,
        flusher=flusher,
        failures=failures,
        cleaner=cleaner,
        replica_moves=_replica_moves(
            config, loop, threads, directories, image, partitions, assignment, (flusher, cleaner)
        ),
        topics=Topics(metadata, partitions, config),
        dynamic_configs=dynamic_configs,
        authorizer=make_authorizer(config, metadata),
    )


def _assignment(loop: NodeLoop, directories: LogDirectories, metadata: MetadataStore) -> DirectoryAssignment:
    """Which log lies where, after what was found in the directories."""
    image = metadata.image
    assigned = AssignedDirectories(image.directory_id, lambda directory_id: directory_id in image.log_directories)
    directories.find_homes(partial(set_aside_if_stray, image), assigned)
    assignment = DirectoryAssignment(metadata, directories)
    assignment.reconcile(loop.now_ms())
    return assignment


def _flusher(
    config: Config,
    loop: NodeLoop,
    threads: NodeThreads,
    directories: LogDirectories,
    notifier: AppendNotifier,
    disk_errors: DiskErrors,
) -> LogFlusher:
    flusher = LogFlusher(
        config,
        directories,
        notifier,
        loop.scheduler,
        threads.disk,
        on_failure=loop.fail,
        clock=loop.now_ms,
        disk_errors=disk_errors,
    )
    loop.scheduler.on_due(flusher.due)
    return flusher


def _cleaner(
    config: Config,
    loop: NodeLoop,
    threads: NodeThreads,
    directories: LogDirectories,
    image: MetadataImage,
    partitions: Partitions,
) -> LogCleaner:
    cleaner = LogCleaner(
        directories.files,
        image,
        partitions,
        config,
        loop.scheduler,
        checkpoint=directories.checkpoint(CLEANER_OFFSETS),
        now_ms=loop.now_ms,
        wall_ms=loop.wall_ms,
        thread=CleanerThread(loop.deliver) if threads.may_use_files else None,
        last_stable_offset=lambda log: log.last_stable_offset,
    )
    loop.scheduler.on_due(cleaner.due)
    return cleaner


def _replica_moves(
    config: Config,
    loop: NodeLoop,
    threads: NodeThreads,
    directories: LogDirectories,
    image: MetadataImage,
    partitions: Partitions,
    assignment: DirectoryAssignment,
    care: tuple[LogFlusher, LogCleaner],
) -> ReplicaMoves:
    pace = REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
    flusher, cleaner = care
    moves = ReplicaMoves(
        image,
        directories,
        partitions,
        assignment,
        flusher,
        is_cleaning=cleaner.is_cleaning,
        threads=threads.files,
        slices=loop.slices,
        timers=loop.scheduler,
        call_soon=loop.call_soon,
        now_ms=loop.now_ms,
        bytes_per_second=config[pace],
    )
    config.when_changed([pace], lambda: moves.change_pace(config[pace]))
    config.when_changed(BROKER_SETTINGS, partitions.settings_changed)
    loop.scheduler.on_due(moves.due)
    return moves


def _compact_metadata(
    config: Config, loop: NodeLoop, threads: NodeThreads, directories: LogDirectories, metadata: MetadataStore
) -> None:
    """Replace the metadata log by a snapshot if it has grown: at once now, in the background after each change."""

    def compaction(slices: Slices | AtOnce, files: DiskThreads | InLine) -> MetadataCompaction:
        bytes_max = config[METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS]
        return MetadataCompaction(metadata, directories.files, bytes_max, slices, files, loop.now_ms)

    compaction(AtOnce(), InLine()).check()
    metadata.add_commit_listener(compaction(loop.slices, threads.files).check)


def commit_metadata_in_threads(loop: NodeLoop, threads: NodeThreads, metadata: MetadataStore) -> None:
    """Before clients come: from now on no fsync of the metadata log is in the event loop."""
    metadata.commit_in(threads.files, loop.call_soon if threads.may_use_files else None, loop.fail)


async def _recover_large_logs(host: DiskHost, threads: NodeThreads, storage: Storage) -> None:
    """Recover them in a thread for each log directory (num.recovery.threads.per.data.dir)."""
    if host.recovery_files is None:
        for recover in storage.partitions.large_recoveries(lambda: storage.directories.files):
            recover()
        return
    recoveries = storage.partitions.large_recoveries(host.recovery_files)
    if recoveries:
        recovered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        threads.disk.run(recoveries, recovered.set_result)
        if problem := await recovered:
            raise problem
