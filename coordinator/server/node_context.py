"""The parts of one node that the handlers of groups and of transactions use."""

from collections.abc import Callable

import msgspec

from coordinator.broker.partitions import Partitions
from coordinator.broker.produce import ProduceService
from coordinator.broker.producers import ProducerStates
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.config.settings import Config
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.log.partition_log import PartitionLog
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Steps
from coordinator.server.pending_requests import PendingRequests
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.partition_adder import PartitionAdder


class GroupContext(msgspec.Struct, frozen=True, kw_only=True):
    """What requests to groups need."""

    config: Config
    coordinator: GroupCoordinator
    pending: PendingRequests


class NodeContext(GroupContext, frozen=True, kw_only=True):
    """What requests to transactions need beside it."""

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
