"""Creates the internal topics of streams groups, if their clients may, as CreateTopics would.

Counterpart in Kafka: `DefaultAutoTopicCreationManager.createStreamsInternalTopics`.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any, Final, cast

from coordinator.broker.topics import DEFAULT_COUNT, Plan, TopicError, Topics
from coordinator.core.decision import OperationContext
from coordinator.core.topic_creation import NewTopic
from coordinator.front.authorization import Authorizer
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.deferred import committed
from coordinator.security.acls.model import AclOperation, ResourceType
from coordinator.security.principal import Principal

CLUSTER_NAME: Final = "kafka-cluster"
TOPICS_AT_ONCE: Final = 100
"""Topics that are created with one append, before other requests have their turn."""


class InternalTopicCreation:
    """Creates topics, and knows who may (`core/topic_creation.py`)."""

    def __init__(
        self, topics: Topics, metadata: MetadataStore, authorizer: Authorizer, now_ms: Callable[[], int]
    ) -> None:
        self._topics, self._metadata = topics, metadata
        self._authorizer, self._now_ms = authorizer, now_ms

    def unauthorized(self, names: Collection[str], context: OperationContext) -> list[str]:
        """Nothing, if the client may create topics in the cluster; else those that it may not create by name."""
        principal = cast(Principal, context.principal)

        def may_create(kind: ResourceType, name: str) -> bool:
            return self._authorizer.authorize(principal, context.client_host, AclOperation.CREATE, kind, name)

        if not names or may_create(ResourceType.CLUSTER, CLUSTER_NAME):
            return []
        return [name for name in names if not may_create(ResourceType.TOPIC, name)]

    def create(self, topics: Sequence[NewTopic]) -> Generator[Any, Any, Mapping[str, str]]:
        failed: dict[str, str] = {}
        for first in range(0, len(topics), TOPICS_AT_ONCE):
            plan = Plan()
            for topic in topics[first : first + TOPICS_AT_ONCE]:
                replicas = topic.replication_factor or DEFAULT_COUNT
                try:
                    self._topics.plan(plan, topic.name, topic.partitions, replicas, dict(topic.configs))
                except TopicError as problem:
                    failed[topic.name] = str(problem)
            self._topics.create_planned(plan, self._now_ms())
            yield
        yield from committed(self._metadata)
        return failed
