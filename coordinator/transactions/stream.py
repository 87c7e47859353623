"""The log of a shard of the transaction coordinator: a partition of `__transaction_state`.

Counterpart in Kafka: the appends and the loading of `TransactionStateManager`.
"""

from collections.abc import Sequence

from _wire.records import build_batch, parse_records
from coordinator.core.stored import Stored
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.transactions.stored import StoredTransactions
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.slices import Steps


class TransactionStream:
    """Makes a batch of each record, as on Kafka."""

    def __init__(self, log: PartitionLog, leader_epoch: int) -> None:
        self.log = log
        self._leader_epoch = leader_epoch

    def build(self, records: Sequence[Stored], at_ms: int) -> list[PrebuiltBatch]:
        built: list[PrebuiltBatch] = []
        offset = self.log.log_end_offset
        for stored in records:
            assert isinstance(stored, StoredBatch), stored
            for record in stored.records:
                data = build_batch(
                    [record], base_offset=offset, timestamp_ms=at_ms, partition_leader_epoch=self._leader_epoch
                )
                built.append(PrebuiltBatch(data, offset))
                offset += 1
        return built


class TransactionReplay:
    """Applies batches to the transactions that they are about."""

    def __init__(self, transactions: StoredTransactions) -> None:
        self._transactions = transactions

    def read(self, log: PartitionLog, from_offset: int, load_bytes: int) -> Steps[None]:
        """A step is a batch."""
        for header, data in log.batches(from_offset, load_bytes):
            if not header.is_control:
                records = [(record.key or b"", record.value) for record in parse_records(data)]
                self._transactions.apply(StoredBatch(None, records))
            yield
