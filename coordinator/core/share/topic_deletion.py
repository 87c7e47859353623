"""Topics that are deleted: share groups keep no states of their partitions.

Counterpart in Kafka: `maybeCleanupShareGroupState` of `GroupMetadataManager`.
"""

from coordinator.core.decision import OperationContext
from coordinator.core.event import Event
from coordinator.core.offsets.delete import GoneTopics
from coordinator.core.share.events import ShareTopicsForgotten
from coordinator.core.share.group import ShareGroup


def forget_topics(group: ShareGroup, gone: GoneTopics, context: OperationContext) -> tuple[Event, ...]:
    """The event that forgets them. A topic that was created again under the name has another id, and stays."""
    topics = context.topics

    def is_gone(topic_id: bytes, name: str) -> bool:
        # After a load all topics of the group are compared: one may have been created again in the meantime.
        may_be = gone.existing is not None or gone.has(name)
        return may_be and topics.topic_id(name) != topic_id

    left = group.states.without(is_gone)
    if left is group.states:
        return ()
    return (ShareTopicsForgotten(group_id=group.group_id, at_ms=context.wall_ms, states=left),)
