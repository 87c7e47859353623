"""The parts of a node that the handlers of transactions use."""

from collections.abc import Callable

from coordinator.broker.data.produce import ProduceService
from coordinator.broker.data.producers import ProducerStates
from coordinator.broker.data.transaction_markers import MarkerWriter
from coordinator.broker.partitions import Partitions
from coordinator.front.group_context import GroupContext
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Steps
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.partition_adder import PartitionAdder


class NodeContext(GroupContext, frozen=True, kw_only=True):
    """What requests to transactions need beside what those to groups need."""

    metadata: MetadataStore
    producer_ids: ProducerIds
    partitions: Partitions
    transactions: TransactionCoordinator
    partition_adder: PartitionAdder
    marker_writer: MarkerWriter
    produce_service: ProduceService
    load_producers: Callable[[PartitionLog], Steps[ProducerStates]]
    """Reads what is not known yet of the producers of a log; may raise OSError."""
    now_ms: Callable[[], int]
    """The time of deadlines, in milliseconds since the epoch; it never goes back."""
