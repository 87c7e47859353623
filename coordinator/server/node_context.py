"""The parts of one node that handlers use."""

from collections.abc import Callable
from dataclasses import dataclass

from coordinator.broker.fetch import FetchService
from coordinator.broker.log_flusher import LogFlusher
from coordinator.broker.partitions import Partitions
from coordinator.broker.produce import ProduceService
from coordinator.broker.producers import ProducerStates
from coordinator.broker.recompression_threads import RecompressionThreads
from coordinator.broker.replica_moves import ReplicaMoves
from coordinator.broker.topics import Topics
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.log.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import Leadership
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Slices, Steps
from coordinator.server.pending_requests import PendingRequests
from coordinator.server.throttling import Throttling
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.partition_adder import PartitionAdder


@dataclass(slots=True)
class NodeContext:
    """`now_ms` is the time of deadlines, in milliseconds since the epoch; it never goes back.

    `wall_ms` is what the system's clock shows: the time of records. It follows when that clock is set.
    """

    config: Config
    cluster_id: str
    metadata: MetadataStore
    image: MetadataImage
    """That of the store, with what is durable. A request that changes it is checked against `metadata.latest_image`."""
    producer_ids: ProducerIds
    leadership: Leadership
    partitions: Partitions
    topics: Topics
    produce_service: ProduceService
    recompression_threads: RecompressionThreads
    slices: Slices
    fetch_service: FetchService
    coordinator: GroupCoordinator
    transactions: TransactionCoordinator
    partition_adder: PartitionAdder
    marker_writer: MarkerWriter
    load_producers: Callable[[PartitionLog], Steps[ProducerStates]]
    """Reads what is not known yet of the producers of a log; may raise OSError."""
    flusher: LogFlusher
    replica_moves: ReplicaMoves
    pending: PendingRequests
    throttling: Throttling
    now_ms: Callable[[], int]
    wall_ms: Callable[[], int]
    start_transactions: Callable[[], None]
    """Begins to coordinate transactions if `__transaction_state` exists and it was not done yet."""

    @property
    def node_id(self) -> int:
        return self.config[NODE_ID]
