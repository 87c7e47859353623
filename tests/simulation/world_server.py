"""The server of a history: a whole node of the product without sockets, with the twins of its shards beside it."""

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping
from functools import partial
from typing import Any, Final

from coordinator.audit.schema import CoordinatorStarted
from coordinator.broker.configs.group_configs import current_group_settings
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment
from coordinator.core.pauses import Pauses
from coordinator.core.topic_listing import TopicListing
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.background_work import GroupWork
from coordinator.groups.machines import make_state_machine
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.data_dirs.checkpoints import GROUP_AUDIT
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage
from coordinator.node.disk_host import DiskHost
from coordinator.node.storage import Storage
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard
from tests.simulation.consumers import OUTPUT, PARTITIONS, SPARE, WIDE
from tests.simulation.history import Setup
from tests.simulation.instrumented import InstrumentedAudit, InstrumentedStore, InstrumentedStream
from tests.simulation.node import SimulatedNode
from tests.simulation.observed import ObservedCoordinator, ObservedRequests, Observer
from tests.simulation.server import AUDIT, DATA, OFFSETS, SimulatedServer
from tests.simulation.steady import add_steady_commits
from tests.simulation.twins import ShardTwins
from tests.simulation.virtual_loop import VirtualLoop

NODE_ID: Final = 1
RECORD_BATCH_BYTES_MAX: Final = 10_000
"""`message.max.bytes`: more than what a history's groups need, and little enough to be exceeded."""
TRANSACTIONAL_ID_EXPIRATION_MS: Final = 90_000
CONSUMER_SESSION_MS: Final = 10_000
TOPICS: Final = PARTITIONS | {OUTPUT: 2, SPARE: 2}


class WideTopics:
    """The topics of the cluster, and one that has more partitions than a record batch holds offsets of."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image

    @property
    def topics_version(self) -> int:
        return self._image.topics_version

    @property
    def created_version(self) -> int:
        return self._image.created_version

    def partition_count(self, name: str) -> int:
        return 1 << 30 if name == WIDE else self._image.partition_count(name)

    def names(self) -> Container[str]:
        return self._image.names()

    def existing(self, names: Collection[str]) -> set[str]:
        return self._image.existing(names)

    def topic_id(self, name: str) -> bytes:
        return self._image.topic_id(name)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._image.topic_name(topic_id)


class WorldServer(SimulatedServer):
    """A node. `start` again is kill -9 and a new start on the same disk, or what follows a clean stop."""

    def __init__(
        self,
        setup: Setup,
        seen: Counter[str],
        observe_commit: Callable[[str, Any, int], Observer],
        observe_marker: Callable[[int, Any], Observer],
    ) -> None:
        """The observers are those of `ObservedCoordinator`."""
        self.twins = [ShardTwins(partition, seen, lambda: self.wall.step_ms) for partition in range(setup.partitions)]
        self.setup = setup
        self._observe_commit, self._observe_marker = observe_commit, observe_marker
        super().__init__(
            config_of(setup),
            partitions=setup.partitions,
            fast_path=setup.fast_path,
            has_steady_commits=setup.has_steady_commits,
            steps_per_slice=10,
        )

    # ---- start and stop

    def start(self, *, clean: bool = False) -> None:
        self.starts += 1
        self.is_batching = False
        self.loop = VirtualLoop(self.clock)  # type: ignore[abstract]
        host = DiskHost(
            clock=self.clock,
            wall_ms=lambda: self.wall_ms,
            files=self.disk,
            descriptors=DescriptorReserve(),
            recovery_files=None,
        )
        self.node = SimulatedNode(self.config, host, self.loop, self._make_groups)
        self.loop.complete(self.node.start())
        if self.starts == 1:
            self._create_topics()
        storage, groups = self.node.storage, self.node.groups
        self.wheel, self.wall, self.pauses = self.node.loop.wheel, self.node.loop.wall, groups.pauses
        self.pending, self.sessions, self.coordinator = groups.pending, groups.sessions, groups.coordinator
        self.timers = self.coordinator.timers
        add_steady_commits(self, self.node.loop.scheduler if self.setup.drains_steady else None)
        self.logs = {
            (topic, partition): storage.partitions.get(topic, partition)
            for partition in range(self.partitions)
            for topic in (OFFSETS, AUDIT)
        }
        self.loop.turn_until_idle()

    def _create_topics(self) -> None:
        topics = self.node.storage.topics
        for name, partitions in TOPICS.items():
            topics.create(name, partitions, 1, {}, self.now_ms)
        topics.create_transactions_topic(self.now_ms)
        self.node.data_plane.start_transactions()

    @property
    def environment(self) -> Environment:
        return self.node.groups.environment

    def stop(self) -> None:
        self.loop.complete(self.node.stop())

    def flush(self) -> None:
        """What was appended survives a power loss from now on."""
        for log in self.all_logs():
            log.flush()

    def all_logs(self) -> list[PartitionLog]:
        """The logs of all partitions that were used since the start."""
        partitions, image = self.node.storage.partitions, self.node.storage.image
        return [
            partitions.get(name, index) for name, topic in image.topics.items() for index in range(topic.partitions)
        ]

    # ---- the parts of the groups, as `make_groups` of the product makes them, but with instruments

    def _make_groups(self, config: Config, loop: NodeLoop, storage: Storage) -> GroupParts:
        pending, pauses, sessions = ObservedRequests(), Pauses(), SessionTable(loop.wheel, seed=1)
        environment = Environment(
            config,
            WideTopics(storage.image),
            sessions,
            lambda: f"{next(self._ids):08d}",
            addresses=AddressLimits(config),
            producer_ids=storage.producer_ids,
            wall=loop.wall,
            pauses=pauses,
            settings=current_group_settings(config, storage.image),
            listing=TopicListing(storage.image, lambda: storage.metadata.end_offset),
        )
        storage.metadata.add_record_listener(sessions.close_all_heartbeats)
        loop.wall.add_step_listener(lambda step_ms: sessions.close_all_heartbeats())
        epoch = storage.directories.next_coordinator_epoch()
        self.checkpoints = AuditCheckpoints(storage.directories.metadata_checkpoint(GROUP_AUDIT))
        timers = KeyTimers(loop.wheel, OFFSETS_TOPIC)
        coordinator = ObservedCoordinator(
            partial(self._group_shard, storage, loop, sessions, timers, pending, environment),
            self.partitions,
            environment,
            sessions,
            loop.wheel,
            timers,
            checkpoints=self.checkpoints,
            request_iteration=loop.scheduler.request_iteration,
            start_steps=loop.slices.start,
            seconds=self.slice_clock,
        )
        coordinator.requests = pending
        coordinator.observe_commit, coordinator.observe_marker = self._observe_commit, self._observe_marker
        coordinator.announce(
            CoordinatorStarted(time_ms=0, node_id=NODE_ID, coordinator_epoch=epoch, software_version="simulated")
        )
        return GroupParts(
            coordinator=coordinator,
            coordinator_epoch=epoch,
            environment=environment,
            sessions=sessions,
            pauses=pauses,
            pending=pending,
            drain_meter=None,
        )

    def _group_shard(
        self,
        storage: Storage,
        loop: NodeLoop,
        sessions: SessionTable,
        timers: KeyTimers,
        pending: PendingRequests,
        environment: Environment,
        work: GroupWork,
        index: int,
        request_drain: RequestDrain,
    ) -> Shard[GroupStateMachine]:
        partitions, twins = storage.partitions, self.twins[index]
        stream = InstrumentedStream(
            partitions.get(AUDIT_TOPIC, index), self.checkpoints, twins, is_lingering=self.setup.lingers
        )
        store = InstrumentedStore(
            partitions.get(OFFSETS_TOPIC, index),
            stream,
            twins,
            storage.notifier.mark_appended,
            when_durable=storage.when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=loop.wall,
        )
        audit = InstrumentedAudit(stream, loop.wall, twins, partitions)
        machine = make_state_machine(sessions, audit, timers, environment, work)
        return Shard(index, machine, store, timers, pending, request_drain=request_drain, projection=audit, local=store)

    def twins_of(self, group_id: str) -> ShardTwins:
        return self.twins[self.coordinator.shard_of(group_id).partition]

    # ---- time

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_ahead_ms

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at each deadline on the way."""
        until_ms = self.now_ms + ms
        self.end_iteration()
        while (due_ms := self.loop.next_timer_ms()) is not None and due_ms <= until_ms:
            self.clock.advance(max(due_ms - self.now_ms, 0))
            self.loop.turn_until_idle()
        self.clock.advance(until_ms - self.now_ms)
        self.end_iteration()

    def stand_still(self, ms: int) -> None:
        """The event loop does nothing for so long, and then finds what is due."""
        self.clock.advance(ms)
        self.node.stood_still(ms / 1000, "suspended")
        self.loop.turn_until_idle()

    def end_iteration(self) -> None:
        self.node.loop.scheduler.request_iteration()
        self.loop.turn_until_idle()

    def turn(self) -> None:
        """As many turns of the loop as the history gives each step."""
        self.node.loop.scheduler.request_iteration()
        if not self.setup.turns:
            self.loop.turn_until_idle()
        for _ in range(self.setup.turns):
            self.loop.turn()

    def _drain_unless_batching(self) -> None:
        if not self.is_batching:
            self.turn()


def config_of(setup: Setup, others: Mapping[str, str] | None = None) -> Config:
    """The settings of a history, and `others`."""
    return Config(
        {
            "log.dirs": str(DATA),
            "offsets.topic.num.partitions": str(setup.partitions),
            "transaction.state.log.num.partitions": str(setup.partitions),
            "log.roll.ms": str(setup.roll_ms),
            "log.index.interval.bytes": "512",
            "log.index.size.max.bytes": "4096",
            "log.retention.ms": "-1",
            "log.cleaner.enable": "false",
            "log.flush.policy": "always" if setup.is_durable else "page-cache",
            # A producer repeats a batch after the wall clock was set back.
            "log.message.timestamp.after.max.ms": str(2**63 - 1),
            "message.max.bytes": str(RECORD_BATCH_BYTES_MAX),
            "group.initial.rebalance.delay.ms": str(setup.initial_delay_ms),
            "group.min.session.timeout.ms": "1000",
            "group.max.size": str(setup.max_size),
            "group.consumer.max.size": str(setup.max_size),
            "group.consumer.assignment.interval.ms": str(setup.assignment_interval_ms),
            "group.consumer.session.timeout.ms": str(CONSUMER_SESSION_MS),
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.heartbeat.interval.ms": "1000",
            "group.consumer.min.heartbeat.interval.ms": "1000",
            "group.consumer.regex.refresh.interval.ms": "10000",
            "group.audit.linger.ms": "5" if setup.lingers else "0",
            "offset.metadata.max.bytes": "10",
            "offsets.retention.minutes": "1",
            "offsets.retention.check.interval.ms": "20000",
            # Longer than any step of the wall clock: what a forgotten producer repeats is appended twice, as on Kafka.
            "producer.id.expiration.ms": str(2**31 - 1),
            "transactional.id.expiration.ms": str(TRANSACTIONAL_ID_EXPIRATION_MS),
            "transaction.remove.expired.transaction.cleanup.interval.ms": "20000",
        }
        | dict(others or {})
    )
