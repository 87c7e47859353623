"""The meters of one node, and the values that they have at a scrape."""

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode
from coordinator import __version__
from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import METRICS_GROUPS_ALLOW, METRICS_GROUPS_MAX, METRICS_GROUPS_PARTITIONS_MAX
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import TRANSACTION_MAX_TIMEOUT_MS
from coordinator.core.groups.kind import CLASSIC_NAME
from coordinator.core.kinds.table import KINDS
from coordinator.core.offsets.events import DeletionCause
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.sessions import SessionTable
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.metrics.census import Census, GroupCensus, Pause
from coordinator.metrics.declarations import groups as of_groups
from coordinator.metrics.declarations import node as of_node
from coordinator.metrics.declarations import requests as of_requests
from coordinator.metrics.group_meter import GroupMeter
from coordinator.metrics.group_series import group_samples, read_groups
from coordinator.metrics.histogram import HistogramValue, Samples, histogram_value
from coordinator.metrics.lag_series import lag_samples, read_lags
from coordinator.metrics.late_transactions import LateTransactions, find_late_transactions
from coordinator.metrics.login_meter import LoginMeter
from coordinator.metrics.metric import Metric
from coordinator.metrics.readiness import Readiness, readiness
from coordinator.metrics.request_meter import TIME_BOUNDS_MS, ListenerMeter, RequestMeter
from coordinator.metrics.runtime_meter import LoopProbe, RuntimeMeter
from coordinator.metrics.timing import DrainMeter, TimeHistogram
from coordinator.metrics.top_groups import TopGroups
from coordinator.runtime.shard import ShardState
from coordinator.timers.wheel import TimerWheel

NETWORK_PROCESSOR: Final = "0"
ERROR_NAMES: Final = {int(error): error.name for error in ErrorCode}

PARTITION_STATES: Final = {"loading": ShardState.LOADING, "active": ShardState.ACTIVE, "failed": ShardState.FAILED}


Source: TypeAlias = Callable[[], Iterable[tuple[Metric, Samples]]]
"""Reads the values of metrics that a part of a node has, at each scrape; a part with much to read takes slices."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The groups of a node, and what is read of its logs at a scrape. What else it has registers its own values.

    `log_bytes` is of the log of a topic and partition.
    """

    coordinator: GroupCoordinator
    coordinator_epoch: int
    sessions: SessionTable
    wheel: TimerWheel
    pending: Mapping[int, Any]
    """Request id → receiver."""
    leads: Callable[[str, int], bool]
    now_ms: Callable[[], int]
    wall_ms: Callable[[], int]
    """The time of the records of users."""
    log_bytes: Callable[[str, int], int] = lambda topic, partition: 0
    timestamp_at: Callable[[str, int, int], int | None] = lambda topic, partition, offset: None
    """Topic, partition, offset → the timestamp of the first record from there on, if a few reads tell it."""
    oldest_transactions: Callable[[], Iterator[int | None]] = lambda: iter(())
    """`ProducerDirectory.oldest_transactions`."""
    not_ready_because: Callable[[], str] = str
    """Why the node is not ready, whatever its partitions are; empty if nothing is wrong."""


class NodeMetrics:
    """Made before the node, which hands its parts to the meters; `measure` comes when it has all its parts."""

    def __init__(self, config: Config, log_lines_dropped: Callable[[], int]) -> None:
        """Raises ConfigError: more groups are allowed than may have series."""
        allowed = [pattern.strip() for pattern in config[METRICS_GROUPS_ALLOW].split(",") if pattern.strip()]
        self._top_groups = TopGroups(allowed, config[METRICS_GROUPS_MAX])
        if len(self._top_groups.allowed) > self._top_groups.groups_max:
            raise ConfigError(
                f"{METRICS_GROUPS_ALLOW.name}: it names {len(self._top_groups.allowed)} groups, "
                f"but {METRICS_GROUPS_MAX.name} is {self._top_groups.groups_max}"
            )
        self._partitions_max = config[METRICS_GROUPS_PARTITIONS_MAX]
        self._transaction_timeout_max_ms = config[TRANSACTION_MAX_TIMEOUT_MS]
        self.requests = RequestMeter()
        self.runtime = RuntimeMeter()
        self.groups = GroupMeter(keeps_records=bool(self._top_groups.groups_max))
        self.loop = LoopProbe(self.runtime)
        self.listeners: dict[str, ListenerMeter] = {}
        self.logins: dict[str, LoginMeter] = {}
        """Of all listeners."""
        self._log_lines_dropped = log_lines_dropped
        self._sources: list[Source] = []
        self._node: Measured
        self._census: GroupCensus

    def listener(self, name: str) -> ListenerMeter:
        """The meter of the connections of a listener. Where nobody logs in, the counts of logins are 0, as on Kafka."""
        self.login_meter(name)
        return self.listeners.setdefault(name, ListenerMeter(self.requests))

    def login_meter(self, name: str) -> LoginMeter:
        """The meter of the logins of a listener."""
        return self.logins.setdefault(name, LoginMeter())

    def drain_meter(self, request_iteration: Callable[[], None]) -> DrainMeter:
        return DrainMeter(request_iteration, self.runtime.queue_times, self.runtime.processing_times)

    def register(self, source: Source) -> None:
        """Read the values of a part of the node at each scrape, too."""
        self._sources.append(source)

    def measure(self, node: Measured) -> None:
        """Read this node from now on."""
        self._node = node
        self._census = GroupCensus(node.coordinator, self.groups, self._top_groups)
        self.loop.start()

    def readiness(self) -> Readiness:
        return readiness(self._node.coordinator.shards, self._node.not_ready_because())

    async def samples(self, pause: Pause) -> list[tuple[Metric, Samples]]:
        """The values of all metrics. `pause` is awaited between slices of the work."""
        census = await self._census.count(self._node.now_ms(), pause)
        logs = await self._audit_log_bytes(pause)
        late = await find_late_transactions(
            self._node.oldest_transactions, self._transaction_timeout_max_ms, self._node.wall_ms(), pause
        )
        values = [
            *self._of_groups(census),
            *self._of_requests(),
            *self._of_node(logs, late),
            *chain.from_iterable(source() for source in self._sources),
        ]
        await pause()
        of_top = await read_groups(census.top, self._node.coordinator, self.groups.records, pause)
        lags = await read_lags(
            census.top,
            self._node.coordinator,
            self._partitions_max,
            self._node.timestamp_at,
            self._node.wall_ms(),
            pause,
        )
        return _merged([*values, *group_samples(of_top), *lag_samples(lags)])

    async def _audit_log_bytes(self, pause: Pause) -> int:
        total = 0
        for shard in self._node.coordinator.shards:
            if self._node.leads(OFFSETS_TOPIC, shard.partition):
                total += self._node.log_bytes(AUDIT_TOPIC, shard.partition)
            if shard.partition % 500 == 499:
                await pause()
        return total

    def _of_groups(self, census: Census) -> Iterator[tuple[Metric, Samples]]:
        shards = self._node.coordinator.shards
        states = Counter(shard.state for shard in shards)
        yield of_groups.NUM_PARTITIONS, [((name,), states[state]) for name, state in PARTITION_STATES.items()]
        yield of_groups.GROUP_COUNT, [((name,), census.groups_of(name)) for name in KINDS]
        for name, metric in of_groups.GROUP_COUNT_BY_STATE.items():
            yield metric, [((state.value,), census.states[name, state]) for state in KINDS[name].states]
        yield of_groups.NUM_GROUPS, [((), census.groups)]
        yield of_groups.NUM_OFFSETS, [((), census.offsets)]
        for state, metric in of_groups.NUM_GROUPS_IN.items():
            yield metric, [((), census.states[CLASSIC_NAME, state])]
        yield of_groups.MEMBERS, [((), census.members)]
        yield of_groups.GROUPS_FAILED, [((), sum(len(shard.failed_keys.by_key) for shard in shards))]
        yield of_groups.EVENT_QUEUE_SIZE, [((), sum(shard.queue_size for shard in shards))]
        meter = self.groups
        yield of_groups.OFFSET_COMMITS, [((), meter.offset_commits)]
        yield of_groups.OFFSET_EXPIRATIONS, [((), meter.offset_deletions[DeletionCause.EXPIRED])]
        yield of_groups.OFFSET_DELETIONS, [((), meter.offset_deletions[DeletionCause.REQUESTED])]
        for name, metric in of_groups.REBALANCES_OF_KIND.items():
            yield metric, [((), meter.counted_rebalances[name])]
        yield of_groups.REBALANCES, [((cause.value,), count) for cause, count in meter.rebalances.items()]
        yield of_groups.MEMBERS_REMOVED, [((cause.value,), count) for cause, count in meter.removed_members.items()]
        yield of_groups.REJECTED, [(names, count) for names, count in meter.rejected.items()]

    def _of_requests(self) -> Iterator[tuple[Metric, Samples]]:
        requests = self.requests
        yield (
            of_requests.REQUESTS,
            [((APIS[key].name, str(version)), count) for key, version, count in requests.requests()],
        )
        yield (
            of_requests.ERRORS,
            [((APIS[key].name, _error_name(code)), count) for key, code, count in requests.errors()],
        )
        yield (
            of_requests.TOTAL_TIME_MS,
            [
                ((APIS[key].name,), histogram_value(TIME_BOUNDS_MS, counts, sum_ms))
                for key, counts, sum_ms in requests.times()
            ],
        )
        meters = [((name, NETWORK_PROCESSOR), meter) for name, meter in self.listeners.items()]
        yield of_requests.CONNECTION_COUNT, [(labels, meter.created - meter.closed) for labels, meter in meters]
        yield of_requests.CONNECTION_CREATION, [(labels, meter.created) for labels, meter in meters]
        yield of_requests.CONNECTION_CLOSE, [(labels, meter.closed) for labels, meter in meters]
        yield of_requests.INCOMING_BYTES, [(labels, meter.bytes_in) for labels, meter in meters]
        yield of_requests.OUTGOING_BYTES, [(labels, meter.bytes_out) for labels, meter in meters]
        yield (
            of_requests.CONNECTIONS_REJECTED,
            [((name,), listener.rejected) for name, listener in self.listeners.items()],
        )

        logins = [((name, NETWORK_PROCESSOR), meter) for name, meter in self.logins.items()]
        yield of_requests.SUCCESSFUL_AUTHENTICATION, [(labels, meter.successes) for labels, meter in logins]
        yield of_requests.FAILED_AUTHENTICATION, [(labels, meter.failures) for labels, meter in logins]
        yield of_requests.SUCCESSFUL_REAUTHENTICATION, [(labels, meter.reauthentications) for labels, meter in logins]
        yield (
            of_requests.FAILED_REAUTHENTICATION,
            [(labels, meter.reauthentication_failures) for labels, meter in logins],
        )
        yield of_requests.EXPIRED_CONNECTIONS_KILLED, [(labels, meter.expired) for labels, meter in logins]

    def _of_node(self, audit_log_bytes: int, late: LateTransactions) -> Iterator[tuple[Metric, Samples]]:
        node, runtime = self._node, self.runtime
        loads_ms = runtime.recent_loads_ms()
        yield of_groups.EVENT_QUEUE_TIME_MS, [((), _times(runtime.queue_times))]
        yield of_groups.EVENT_PROCESSING_TIME_MS, [((), _times(runtime.processing_times))]
        yield of_groups.BATCH_FLUSH_TIME_MS, [((), _times(runtime.flush_times))]
        yield of_node.LOOP_LAG, [((), self.loop.lag_seconds.value)]
        yield of_node.LOADS, [((), runtime.load_seconds.value)]
        versions = (__version__, platform.python_version())
        yield of_node.BUILD_INFO, [(versions, 1)]
        for metric, value in (
            (of_groups.PARTITION_LOAD_TIME_MAX, max(loads_ms, default=float("nan"))),
            (of_groups.PARTITION_LOAD_TIME_AVG, sum(loads_ms) / len(loads_ms) if loads_ms else float("nan")),
            (of_groups.THREAD_IDLE_RATIO_AVG, self.loop.idle_ratio),
            (of_node.EPOCH, node.coordinator_epoch),
            (of_groups.SESSIONS, len(node.sessions)),
            (of_node.TIMERS, node.wheel.pending),
            (of_groups.PENDING_REQUESTS, len(node.pending)),
            (of_node.APPEND_FAILURES, runtime.appends.failures),
            (of_node.LOAD_FAILURES, runtime.load_failures),
            (of_node.AUDIT_EVENTS, runtime.appends.audit_events),
            (of_node.AUDIT_LOG_BYTES, audit_log_bytes),
            (of_node.AUDIT_SNAPSHOTS_WAITING, node.coordinator.audit.partitions_waiting),
            (of_node.LOG_LINES_DROPPED, self._log_lines_dropped()),
            (of_node.PARTITIONS_WITH_LATE_TRANSACTIONS, late.late_partitions),
            (of_node.OLDEST_TRANSACTION, late.oldest_seconds),
        ):
            yield metric, [((), value)]


def _merged(values: Iterable[tuple[Metric, Samples]]) -> list[tuple[Metric, Samples]]:
    """Each metric once: some nodes have more samples of a metric that all nodes have."""
    found: dict[str, tuple[Metric, Samples]] = {}
    for metric, samples in values:
        before = found.get(metric.name)
        found[metric.name] = metric, samples if before is None else [*before[1], *samples]
    return list(found.values())


def _times(histogram: TimeHistogram) -> HistogramValue:
    return histogram_value(histogram.bounds_ms, histogram.range_counts, histogram.sum_ms)


def _error_name(code: int) -> str:
    return ERROR_NAMES.get(code, str(code))
