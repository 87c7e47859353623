"""A partition of the cluster, as the node that leads it reads and writes it."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from _wire.batches import end_of_whole_batches
from coordinator.audit.schema import Record
from coordinator.cluster.log.access import Appended, Fetched, LogAccess, ProducerIdentity, Refused
from coordinator.cluster.log.writer import PartitionWriter
from coordinator.core.stored import StoredRecord
from coordinator.log.config import LogConfig
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps, awaited

NO_IDENTITY: Final = ProducerIdentity(-1, -1)


class ClusterLog:
    """One partition. Nobody else appends to it since `begin`; the end of the log is known from the appends."""

    def __init__(self, access: LogAccess, topic: str, partition: int, config: LogConfig) -> None:
        """`config` is what the cluster has for the topic."""
        self._access = access
        self.topic: Final = topic
        self.partition: Final = partition
        self.name: Final = f"{topic}-{partition}"
        self.config: Final = config
        self.log_start_offset = 0
        self.log_end_offset = 0
        """The offset after the last batch that this node has appended, or has read."""
        self._writer = PartitionWriter(NO_IDENTITY)

    def begin(self, identity: ProducerIdentity, first: StoredRecord | Record, at_ms: int) -> Steps[None]:
        """Write the first batch of a producer epoch: from here on, batches of earlier epochs are refused.

        Raises:
            StoreError: it is not stored.
        """
        self.use(identity)
        yield from self._append(self._writer, [first], at_ms, "none")

    def use(self, identity: ProducerIdentity) -> None:
        """Write with this producer epoch from the next batch on."""
        self._writer = PartitionWriter(identity)

    def learn_start(self) -> Steps[None]:
        """Ask where the log begins. Raises as `begin`."""
        start: int | Refused = yield from awaited(partial(self._access.log_start_offset, self.topic, self.partition))
        if isinstance(start, Refused):
            raise LogRefused(self.name, start)
        self.log_start_offset = start

    def fence(self, identity: ProducerIdentity, first: StoredRecord | Record, at_ms: int) -> Steps[None]:
        """Write one batch as another producer, so that its earlier epochs are refused. Raises as `begin`."""
        yield from self._append(PartitionWriter(identity), [first], at_ms, "none")

    def append(self, records: Sequence[StoredRecord | Record], at_ms: int, compression: str = "none") -> Steps[None]:
        """Append records, in as few batches as the topic takes. Raises as `begin`."""
        yield from self._append(self._writer, records, at_ms, compression)

    def _append(
        self, writer: PartitionWriter, records: Sequence[StoredRecord | Record], at_ms: int, compression: str
    ) -> Steps[None]:
        for batch in writer.build(records, at_ms, self.config.max_message_bytes, compression):
            appended: Appended | Refused = yield from awaited(
                partial(self._access.append, self.topic, self.partition, batch.data)
            )
            if isinstance(appended, Refused):
                raise LogRefused(self.name, appended)
            base_offset = self.log_end_offset if appended.base_offset < 0 else appended.base_offset
            # A fence that another node has written before is answered with the offset of that one.
            self.log_end_offset = max(self.log_end_offset, base_offset + batch.record_count)

    def read_steps(self, offset: int, bytes_max: int) -> Steps[bytes]:
        """Whole batches, from the one that has `offset` on; nothing is left out below `log_end_offset`.

        Raises:
            StoreError: the partition cannot be read.
        """
        fetched: Fetched | Refused = yield from awaited(
            partial(self._access.fetch, self.topic, self.partition, offset, bytes_max)
        )
        if isinstance(fetched, Refused):
            raise LogRefused(self.name, fetched)
        self.log_start_offset = fetched.log_start_offset
        return fetched.data[: end_of_whole_batches(fetched.data)]

    def abandon(self) -> None:
        """Wait for nothing any more."""
        self._access.abandon(self.topic, self.partition)


class LogRefused(StoreError):
    """The cluster refused an append or a read, and a retry would not help."""

    def __init__(self, log: str, refused: Refused) -> None:
        super().__init__(f"{log}: {refused.problem}")
        self.is_fenced = refused.is_fenced
        """Whether another node leads the partition now."""
