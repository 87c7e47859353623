"""The names of topics whose ids records have: those of consumer groups (KIP-848) name no topic otherwise."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final, Self

from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server
from coordinator.client.wire import ClientError, WireConnection

CLIENT_ID: Final = "coordinator-observe"
ANSWER_SECONDS: Final = 5
ASK_AGAIN_SECONDS: Final = 30
BY_ID: Final = 12
"""The first version of Metadata that finds topics by id (Kafka 3.1)."""
IDS_MAX: Final = 100_000
"""Of topics, known or not, that are remembered."""
IDS_AT_ONCE: Final = 1_000


class TopicIds:
    """Asks the cluster for an id that is new, and again after ASK_AGAIN_SECONDS for one that the cluster did not know.

    A topic that is gone, or that the client may not describe, keeps its id (32 hex digits) for a name.
    """

    def __init__(self, server: Server, *, clock: Callable[[], float] = monotonic) -> None:
        self._server = server
        self._clock = clock
        self._names: dict[str, str] = {}
        self._asked_at: dict[str, float] = {}
        """Of ids without a name."""
        self._connection: WireConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.socket.close()
            self._connection = None

    def __call__(self, topic_id: str) -> str:
        """The name of a topic; `topic_id` is in hex digits. A cluster that does not answer knows no topic."""
        if topic_id not in self._names:
            self.learn([topic_id])
        return self._names.get(topic_id, topic_id)

    def learn(self, topic_ids: Iterable[str]) -> None:
        """Ask for many at once."""
        now = self._clock()
        due = [
            fromkey
            for fromkey in dict.fromkeys(topic_ids)
            if fromkey not in self._names and now - self._asked_at.get(fromkey, -ASK_AGAIN_SECONDS) >= ASK_AGAIN_SECONDS
        ]
        if len(self._names) + len(self._asked_at) + len(due) > IDS_MAX:
            self._names, self._asked_at = {}, {}
        for start in range(0, len(due), IDS_AT_ONCE):
            part = due[start : start + IDS_AT_ONCE]
            self._asked_at.update(dict.fromkeys(part, now))
            found = self._asked(part)
            self._names |= found
            for name in found:
                del self._asked_at[name]

    def _asked(self, topic_ids: list[str]) -> dict[str, str]:
        try:
            if self._connection is None:
                self._connection = WireConnection(self._server, CLIENT_ID, ANSWER_SECONDS)
            if self._connection.latest_version(MetadataRequest.API_KEY) < BY_ID:
                return {}  # Kafka before 3.1 has no group whose records have ids
            topics = [MetadataRequestTopic(topic_id=bytes.fromhex(topic_id), name=None) for topic_id in topic_ids]
            answer = self._connection.send_latest(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
        except ClientError:
            self.close()
            return {}
        named = {topic.topic_id.hex(): topic.name for topic in answer.topics if topic.name}
        return {topic_id: named[topic_id] for topic_id in topic_ids if topic_id in named}
