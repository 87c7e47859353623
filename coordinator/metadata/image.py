"""The state that the metadata log adds up to, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.log.names import check_topic_name
from coordinator.metadata.records import MetadataRecord, ProducerIdsRecord, RemoveTopicRecord, TopicRecord


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; its partitions are 0 to `partitions` - 1. `topic_id` is 16 bytes."""

    name: str
    topic_id: bytes
    partitions: int
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class MetadataImage:
    """Changed by records only; a topic in it has a legal name."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.next_producer_id = 0

    def apply(self, record: MetadataRecord) -> None:
        """Take a record in. Raises ValueError, KeyError where it cannot be one of ours."""
        match record:
            case TopicRecord():
                # Everything a client does goes by the topics of the image, so the metadata log stays out of reach.
                check_topic_name(record.name)
                topic_id = bytes.fromhex(record.topic_id)
                topic = Topic(record.name, topic_id, record.partitions, dict(record.configs))
                self.topics[topic.name] = self.topics_by_id[topic_id] = topic
            case RemoveTopicRecord():
                topic = self.topics.pop(record.name)
                del self.topics_by_id[topic.topic_id]
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id

    def partition_count(self, name: str) -> int:
        """Partitions of the topic, 0 where there is none of that name."""
        topic = self.topics.get(name)
        return 0 if topic is None else topic.partitions

    def names(self) -> frozenset[str]:
        """The topics that exist at the time of the call."""
        return frozenset(self.topics)

    def topic_id(self, name: str) -> bytes:
        """16 bytes, all zero where there is no topic of that name."""
        topic = self.topics.get(name)
        return bytes(16) if topic is None else topic.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with that id, None where there is none."""
        topic = self.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def has_partition(self, name: str, partition: int) -> bool:
        return 0 <= partition < self.partition_count(name)
