"""All that handlers reach: one node, put together."""

from collections.abc import Callable
from dataclasses import dataclass

from coordinator.broker.fetch import Fetching
from coordinator.broker.partitions import Partitions
from coordinator.broker.produce import Producing
from coordinator.broker.topics import Topics
from coordinator.config import NODE_ID, Config
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.groups import Groups
from coordinator.server.answers import AnswerDesk


@dataclass(slots=True)
class Broker:
    """`now_ms` is milliseconds since the epoch, never going back."""

    config: Config
    cluster_id: str
    metadata: MetadataStore
    image: MetadataImage
    """That of the store."""
    partitions: Partitions
    topics: Topics
    producing: Producing
    fetching: Fetching
    groups: Groups
    desk: AnswerDesk
    now_ms: Callable[[], int]

    @property
    def node_id(self) -> int:
        return self.config[NODE_ID]
