"""What only the cluster can tell of `__consumer_offsets`: how many partitions it has, and the names of topics.

Records of consumer groups (KIP-848) have only the ids of topics.
"""

from time import monotonic
from typing import Any, Final

from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.wire import ClientError, WireConnection

ANSWER_SECONDS: Final = 5
ASK_AGAIN_SECONDS: Final = 10


def partitions_of(bootstrap: Server, topic: str) -> list[int]:
    """The partitions of a topic. `bootstrap` may be several servers.

    Raises:
        ClientError: none of the addresses answers.
    """
    response = _ask(bootstrap, [MetadataRequestTopic(name=topic)])
    return sorted(partition.partition_index for found in response.topics for partition in found.partitions)


class TopicNames:
    """Asks when an unknown id comes, at most every ASK_AGAIN_SECONDS.

    A topic that no longer exists, or that the cluster does not tell, keeps its id (32 hex digits) for a name.
    """

    def __init__(self, bootstrap: Server) -> None:
        self._bootstrap = bootstrap
        self._names: dict[str, str] = {}
        self._asked_at: float | None = None

    def __call__(self, topic_id: str) -> str:
        """`topic_id` in hex digits."""
        is_due = self._asked_at is None or monotonic() - self._asked_at >= ASK_AGAIN_SECONDS
        if topic_id not in self._names and is_due:
            self._asked_at = monotonic()
            self._names = self.read()
        return self._names.get(topic_id, topic_id)

    def read(self) -> dict[str, str]:
        """Topic id → name, of all topics; as before if the cluster does not answer."""
        try:
            response = _ask(self._bootstrap, None)
        except ClientError:
            return self._names
        return self._names | {topic.topic_id.hex(): topic.name for topic in response.topics if topic.name}


def _ask(bootstrap: Server, topics: list[MetadataRequestTopic] | None) -> Any:
    problems = []
    for server in bootstrap_of(bootstrap).servers():
        try:
            with WireConnection(server, "coordinator-pipeline", ANSWER_SECONDS) as connection:
                return connection.send_latest(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
        except ClientError as problem:
            problems.append(str(problem))
    raise ClientError("; ".join(problems))
