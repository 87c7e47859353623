"""What creates topics for groups, if their clients may.

Counterpart in Kafka: `AutoTopicCreationManager`.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any, Protocol


class NewTopic(Protocol):
    """A topic to create. `replication_factor` 0: the broker's default."""

    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def configs(self) -> Sequence[tuple[str, str]]: ...


class TopicCreation(Protocol):
    """Creates topics, and knows who may."""

    def unauthorized(self, names: Collection[str], context: Any) -> list[str]:
        """Those of the names that the client of an operation (`OperationContext`) may not create, in order."""

    def create(self, topics: Sequence[NewTopic]) -> Generator[Any, Any, Mapping[str, str]]:
        """Create topics, in steps. Returns topic → why it was not created."""
