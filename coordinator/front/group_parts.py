"""Building of what a node needs to coordinate groups, whatever has their logs."""

import os
import random
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from coordinator import __version__
from coordinator.audit.schema import CoordinatorStarted
from coordinator.audit.world import Cluster
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import NO_SETTINGS, Environment, Topics
from coordinator.core.group_settings import GroupSettings
from coordinator.core.groups.group import Group
from coordinator.core.pauses import Pauses
from coordinator.core.producer_ids import NO_PRODUCER_IDS, ProducerIds
from coordinator.core.share_states import ShareStates
from coordinator.core.throttled_clients import ThrottledClients
from coordinator.core.topic_creation import TopicCreation
from coordinator.core.topic_listing import TopicListing
from coordinator.front.metered import metered_shard
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.audit_projection import AuditLog, AuditProjection
from coordinator.groups.audit_schedule import WritesCheckpoints
from coordinator.groups.background_work import GroupWork
from coordinator.groups.coordinator import GroupCoordinator, MakeGroupShard
from coordinator.groups.machines import make_state_machine
from coordinator.groups.sessions import SessionTable
from coordinator.groups.shared_partitions import SharedPartitions
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.interfaces import LocalStore, Store
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard
from coordinator.runtime.slices import Steps

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics
    from coordinator.metrics.timing import DrainMeter


class GroupLogs(msgspec.Struct, frozen=True):
    """The logs of one partition."""

    store: Store
    audit: AuditLog
    local: LocalStore | None = None
    """The store, if its logs are files of this node."""


class GroupHome(msgspec.Struct, frozen=True, kw_only=True):
    """What has the logs of the groups: this node itself, or a cluster behind it."""

    node_id: int
    coordinator_epoch: int
    """The number of this start of the node, for the audit."""
    after_clean_stop: bool | None = None
    """Whether the logs say that the process before was stopped in order; None: they do not tell."""
    topic: str
    """That of the logs."""
    partition_count: int
    logs: Callable[[int], GroupLogs]
    """Makes those of a partition."""
    topics: Topics
    """The topics that members read."""
    audited: Cluster
    """The same, with the ends of their logs."""
    checkpoints: WritesCheckpoints | None = None
    """None: the logs have them."""
    producer_ids: ProducerIds = NO_PRODUCER_IDS
    settings: Mapping[str, GroupSettings[Any]] = NO_SETTINGS
    listing: TopicListing | None = None
    look_up: Callable[[Iterable[Group[Any]]], Steps[None]] | None = None
    """Has what loaded groups compute with become known, before they are served; None: it always is."""
    shared: SharedPartitions | None = None
    keeps_offsets: bool = True
    """Whether committed offsets are in these logs."""
    share_states: ShareStates | None = None
    """The share coordinator; None: share groups get no partitions."""
    topic_creation: TopicCreation | None = None
    """Creates the internal topics of streams groups; None: nobody does."""
    drain_meter: "DrainMeter | None" = None


class GroupParts(msgspec.Struct, frozen=True, kw_only=True):
    """The group coordinator of a node, and what it shares with other coordinators and with connections."""

    coordinator: GroupCoordinator
    coordinator_epoch: int
    environment: Environment
    sessions: SessionTable
    pauses: Pauses
    pending: PendingRequests
    drain_meter: "DrainMeter | None"


def make_group_parts(
    config: Config, loop: NodeLoop, home: GroupHome, metrics: "NodeMetrics | None" = None
) -> GroupParts:
    """Make the group coordinator; no partition is loaded yet."""
    sessions = SessionTable(loop.wheel, random.SystemRandom().getrandbits(64))
    environment = _environment(config, loop, home, sessions)
    pending, timers = PendingRequests(), KeyTimers(loop.wheel, home.topic)
    coordinator = GroupCoordinator(
        _shard_maker(home, environment, sessions, pending, timers, metrics),
        home.partition_count,
        environment,
        sessions,
        loop.wheel,
        timers,
        checkpoints=home.checkpoints,
        request_iteration=(home.drain_meter or loop.scheduler).request_iteration,
        start_steps=loop.slices.start,
        shared=home.shared,
        keeps_offsets=home.keeps_offsets,
    )
    node_id, epoch = home.node_id, home.coordinator_epoch
    coordinator.announce(
        CoordinatorStarted(
            time_ms=0,
            node_id=node_id,
            coordinator_epoch=epoch,
            software_version=__version__,
            after_clean_stop=home.after_clean_stop,
        )
    )
    return GroupParts(
        coordinator=coordinator,
        coordinator_epoch=epoch,
        environment=environment,
        sessions=sessions,
        pauses=environment.pauses,
        pending=pending,
        drain_meter=home.drain_meter,
    )


def _environment(config: Config, loop: NodeLoop, home: GroupHome, sessions: SessionTable) -> Environment:
    return Environment(
        config,
        home.topics,
        sessions,
        _new_id,
        addresses=AddressLimits(config),
        producer_ids=home.producer_ids,
        wall=loop.wall,
        pauses=Pauses(),
        throttled=ThrottledClients(),
        settings=home.settings,
        listing=home.listing,
        look_up=home.look_up,
        share_states=home.share_states,
        topic_creation=home.topic_creation,
    )


def _shard_maker(
    home: GroupHome,
    environment: Environment,
    sessions: SessionTable,
    pending: PendingRequests,
    timers: KeyTimers,
    metrics: "NodeMetrics | None",
) -> MakeGroupShard:
    shard_class = Shard if metrics is None else metered_shard(metrics)
    on_applied = None if metrics is None else metrics.groups.applied

    def make_shard(work: GroupWork, index: int, request_drain: RequestDrain) -> Shard[GroupStateMachine]:
        logs = home.logs(index)
        audit = AuditProjection(
            logs.audit,
            environment.wall,
            node_id=home.node_id,
            coordinator_epoch=home.coordinator_epoch,
            cluster=home.audited,
        )
        machine = make_state_machine(sessions, audit, timers, environment, work, on_applied)
        return shard_class(
            index,
            machine,
            logs.store,
            timers,
            pending,
            request_drain=request_drain,
            projection=audit,
            local=logs.local,
        )

    return make_shard


def _new_id() -> str:
    """A random UUID, version 4 (RFC 9562). `uuid` makes the same by way of an integer and an object."""
    random = bytearray(os.urandom(16))
    random[6] = random[6] & 0x0F | 0x40
    random[8] = random[8] & 0x3F | 0x80
    digits = random.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
