"""What topics hold and what a group has committed, as librdkafka reads it."""

from typing import Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]

SECONDS: Final = 60
COMMITTED: Final = IsolationLevel.READ_COMMITTED
UNCOMMITTED: Final = IsolationLevel.READ_UNCOMMITTED


class Topics:
    """The topics of a server. It may be restarted meanwhile.

    Each question has an AdminClient of its own: after its broker was restarted, librdkafka may never send what it is
    asked. It is held until the answer is there, because one that is collected never answers.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def partitions(self, topic: str) -> int:
        return len(self._admin().list_topics(topic, timeout=SECONDS).topics[topic].partitions)

    def ends(self, topic: str, isolation: IsolationLevel) -> list[int]:
        """For each partition the high watermark, or the last stable offset (COMMITTED)."""
        wanted = {TopicPartition(topic, index): OffsetSpec.latest() for index in range(self.partitions(topic))}
        admin = self._admin()
        answers = admin.list_offsets(wanted, isolation_level=isolation, request_timeout=SECONDS)
        return [answers[partition].result().offset for partition in wanted]

    def is_settled(self, topic: str) -> bool:
        """Whether no transaction is open in it."""
        return self.ends(topic, COMMITTED) == self.ends(topic, UNCOMMITTED)

    def committed(self, group: str, topic: str) -> list[int]:
        """For each partition the offset that the group has committed; 0 for none."""
        partitions = [TopicPartition(topic, index) for index in range(self.partitions(topic))]
        admin = self._admin()
        wanted = [ConsumerGroupTopicPartitions(group, partitions)]
        (answer,) = admin.list_consumer_group_offsets(wanted, request_timeout=SECONDS).values()
        return [max(topic_partition.offset, 0) for topic_partition in answer.result().topic_partitions]

    def config(self, topic: str, name: str) -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        admin = self._admin()
        (answer,) = admin.describe_configs([resource], request_timeout=SECONDS).values()
        return str(answer.result()[name].value)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 2})

    def read(self, topic: str, isolation: IsolationLevel) -> list[list[Message]]:
        """For each partition the records from the first one to the present end."""
        records: list[list[Message]] = [[] for _ in range(self.partitions(topic))]
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed" if isolation == COMMITTED else "read_uncommitted",
                "auto.offset.reset": "earliest",
                "log_level": 2,
            }
        )
        consumer.assign([TopicPartition(topic, index, 0) for index in range(len(records))])
        unfinished = set(range(len(records)))
        try:
            while unfinished:
                message = consumer.poll(SECONDS)
                assert message is not None, f"the end of {topic}-{min(unfinished)} was not reached"
                problem = message.error()
                if problem is None:
                    partition = message.partition()
                    assert partition is not None
                    records[partition].append(message)
                elif problem.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(message.partition())
        finally:
            consumer.close()
        return records
