"""The product's server with its twins beside it: whatever happens to a shard, they learn of it."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from coordinator.audit.trail import AuditTrail
from coordinator.config import Config
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.events import Event
from coordinator.core.states import GroupState
from coordinator.core.stored import Stored
from coordinator.log.config import LogConfig
from coordinator.log.partition_log import PartitionLog
from coordinator.runtime.interfaces import AuditRecord, StoreError
from coordinator.runtime.store import LogStore
from tests.model.memory_files import ProcessKilled
from tests.simulation.history import Setup
from tests.simulation.server import AUDIT, OFFSETS, SimulatedServer
from tests.simulation.twins import ShardTwins

RECORD_BATCH_BYTES_MAX: Final = 10_000
"""`message.max.bytes`: more than what a history's groups need, and little enough to be exceeded."""


class WatchedStore(LogStore):
    """The product's store; its twins learn what is in the logs."""

    def __init__(self, offsets: PartitionLog, audit: PartitionLog, twins: ShardTwins) -> None:
        super().__init__(offsets, audit, 0, lambda log: None)
        self._twins = twins

    def append(
        self,
        audit: list[AuditRecord],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        outcome: list[StoreError | None] = []
        audit_end, stored_end = self._audit.log_end_offset, self._offsets.log_end_offset
        try:
            super().append(audit, stored, now_ms, outcome.append)
        except ProcessKilled:
            self._twins.in_flight = (list(stored), audit)
            raise
        finally:
            was_audited = self._audit.log_end_offset > audit_end
            was_stored = self._offsets.log_end_offset > stored_end
            assert was_audited or not audit or not was_stored, "stored, but not audited"
            if not self._twins.in_flight[0] and not self._twins.in_flight[1]:
                self._twins.appended(list(stored) if was_stored else [], audit if was_audited else [])
        completed(outcome[0])

    def replay(self) -> Iterator[Stored]:
        found = list(super().replay())
        self._twins.found_stored(found)
        return iter(found)

    def replay_audit(self) -> Iterator[AuditRecord]:
        found = list(super().replay_audit())
        self._twins.found_audited(found)
        return iter(found)


class WatchedTrail(AuditTrail):
    """The product's audit; its twins see every event, and the groups of every load."""

    def __init__(self, twins: ShardTwins) -> None:
        super().__init__(node_id=1)
        self._twins = twins

    def observe(
        self,
        event: Event,
        group: ClassicGroup,
        state_before: GroupState,
        generation_before: int,
        into: list[AuditRecord],
    ) -> None:
        self._twins.happened(event)
        super().observe(event, group, state_before, generation_before, into)

    def resume(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> list[AuditRecord]:
        said = super().resume(groups, now_ms)
        self._twins.loaded(groups)
        return said


class WatchedServer(SimulatedServer):
    """A server whose stores and trails tell the twins of its shards, over all its lives."""

    def __init__(self, setup: Setup, seen: Counter[str]) -> None:
        self.twins = [ShardTwins(partition, seen) for partition in range(setup.partitions)]
        super().__init__(
            config_of(setup),
            partitions=setup.partitions,
            fast_path=setup.fast_path,
            log_config=LogConfig(
                segment_bytes=setup.segment_bytes,
                index_interval_bytes=512,
                max_message_bytes=RECORD_BATCH_BYTES_MAX,
            ),
        )

    def make_store(self, partition: int) -> LogStore:
        return WatchedStore(self.logs[OFFSETS, partition], self.logs[AUDIT, partition], self.twins[partition])

    def make_trail(self, partition: int) -> WatchedTrail:
        return WatchedTrail(self.twins[partition])

    def twins_of(self, group_id: str) -> ShardTwins:
        return self.twins[self.coordinator.shard_of(group_id).partition]


def config_of(setup: Setup) -> Config:
    return Config(
        {
            "group.initial.rebalance.delay.ms": str(setup.initial_delay_ms),
            "group.min.session.timeout.ms": "1000",
            "group.max.size": str(setup.max_size),
            "offset.metadata.max.bytes": "10",
            "offsets.retention.minutes": "1",
            "offsets.retention.check.interval.ms": "20000",
        }
    )


@contextmanager
def defects_of(defects: list[BaseException]) -> Iterator[None]:
    """Within the block, exceptions that the product catches and logs are put into the list; other lines are dropped."""

    def take(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event.get("exc_info"):
            problem = sys.exc_info()[1]
            assert problem is not None
            defects.append(problem)
        raise structlog.DropEvent

    before = structlog.get_config()["processors"]
    structlog.configure(processors=[take])
    try:
        yield
    finally:
        structlog.configure(processors=before)
