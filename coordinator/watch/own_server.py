"""The server of `coordinator watch --into DIR`: it has the audit topic, which the watcher appends to, and no groups."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from _wire.records import build_batch
from coordinator.audit.schema import Record
from coordinator.config.group_keys import OFFSETS_TOPIC_NUM_PARTITIONS
from coordinator.config.listener_keys import ADVERTISED_LISTENERS, LISTENERS
from coordinator.config.metrics_keys import ADMIN_LISTENER, METRICS_GROUPS_MAX, METRICS_GROUPS_PARTITIONS_MAX
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.log.errors import LogError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.partition.retention import retained_from
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.metrics.top_groups import TopGroups
from coordinator.node.node import Node
from coordinator.node.work import keep_logs
from coordinator.security.protocols import SecurityProtocol
from coordinator.watch.positions import now_ms
from coordinator.watch.sink import SinkError

if TYPE_CHECKING:
    from coordinator.metrics.histogram import Samples
    from coordinator.metrics.metric import Metric
    from coordinator.watch.session import Session

COMPRESSION: Final = "lz4"
APPEND_SECONDS: Final = 60


def own_config(
    folder: Path, listen: str, advertise: str | None, admin: str | None, metrics_groups: int, partitions: int
) -> Config:
    """Of addresses HOST:PORT. Raises ConfigError."""
    protocol = SecurityProtocol.PLAINTEXT.value
    texts = {
        LISTENERS.name: f"{protocol}://{listen}",
        LOG_DIRS.name: str(folder),
        OFFSETS_TOPIC_NUM_PARTITIONS.name: str(partitions),
        METRICS_GROUPS_MAX.name: str(metrics_groups),
        "transaction.state.log.num.partitions": "1",
        "auto.create.topics.enable": "false",
    }
    if advertise is not None:
        texts[ADVERTISED_LISTENERS.name] = f"{protocol}://{advertise}"
    if admin is not None:
        texts[ADMIN_LISTENER.name] = admin
    return Config(texts)


class OwnServer:
    """Serves what is appended. Its groups are never loaded: so it coordinates none, and writes no event of its own."""

    def __init__(self, config: Config, session: "Session", log_lines_dropped: Callable[[], int]) -> None:
        """`session` is what is watched, for the metrics."""
        self._session = session
        self._top_groups = TopGroups((), config[METRICS_GROUPS_MAX])
        self.retained: dict[int, int] = {}
        """Partition → the offset from which the watcher needs its positions."""
        self.node: Final = Node(
            config,
            log_lines_dropped=log_lines_dropped,
            begin_work=self._begin_work,
            not_ready_because=lambda: session.problem,
        )

    def _begin_work(self, node: Node) -> None:
        if node.metrics is not None:
            node.metrics.register(self._samples)
        keep_logs(node, self._retained_from)

    def _retained_from(self, log: PartitionLog, wall_ms: int) -> int:
        """Never what the watcher goes on from."""
        needed = self.retained.get(log.partition, log.log_start_offset)
        return min(retained_from(log, wall_ms), max(needed, log.log_start_offset))

    def _samples(self) -> "Iterable[tuple[Metric, Samples]]":
        from coordinator.watch.metrics import samples

        return samples(self._session, self._top_groups, self.node.config[METRICS_GROUPS_PARTITIONS_MAX])

    @property
    def partition_count(self) -> int:
        return self.node.storage.partitions.partition_count(AUDIT_TOPIC)


class OwnSink:
    """Appends to the server from another thread than that of its event loop."""

    def __init__(self, server: OwnServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server, self._loop = server, loop

    def begin(self, ends: Mapping[int, int]) -> None:
        """The log knows where it ends, and nobody else appends to it."""

    def close(self) -> None:
        """The server is closed by who has opened it."""

    def end_offset(self, partition: int) -> int:
        return self._server.node.storage.partitions.get(AUDIT_TOPIC, partition).log_end_offset

    def retain(self, partition: int, offset: int) -> None:
        self._server.retained[partition] = offset

    def append(self, batches: dict[int, list[Record]]) -> None:
        """Raises SinkError."""
        try:
            asyncio.run_coroutine_threadsafe(self._append(batches), self._loop).result(APPEND_SECONDS)
        except (LogError, TimeoutError) as problem:
            raise SinkError(f"cannot append to the own log: {problem}") from problem

    async def _append(self, batches: dict[int, list[Record]]) -> None:
        storage, at_ms = self._server.node.storage, now_ms()
        for partition, records in batches.items():
            log = storage.partitions.get(AUDIT_TOPIC, partition)
            data = build_batch(
                records,
                base_offset=log.log_end_offset,
                timestamp_ms=at_ms,
                compression=COMPRESSION,
                partition_leader_epoch=storage.partitions.leader_epoch,
            )
            log.append_prebuilt([PrebuiltBatch(data, log.log_end_offset + len(records) - 1)], at_ms)
            storage.notifier.mark_appended(log)
