"""The names of topics by their ids, asked of the cluster: records of consumer groups (KIP-848) have only the ids."""

from time import monotonic
from typing import Final

from _wire.messages.metadata import MetadataRequest
from coordinator.client.wire import ClientError, WireConnection

ANSWER_SECONDS: Final = 5
ASK_AGAIN_SECONDS: Final = 10


class TopicNames:
    """Asks when an unknown id comes, at most every ASK_AGAIN_SECONDS.

    A topic that no longer exists, or that the cluster does not tell, keeps its id (32 hex digits) for a name.
    """

    def __init__(self, bootstrap: str) -> None:
        """`bootstrap` is one or more HOST:PORT, separated by commas."""
        self._bootstrap = bootstrap
        self._names: dict[str, str] = {}
        self._asked_at: float | None = None

    def __call__(self, topic_id: str) -> str:
        """`topic_id` in hex digits."""
        if topic_id not in self._names and self._may_ask():
            self._ask()
        return self._names.get(topic_id, topic_id)

    def _may_ask(self) -> bool:
        return self._asked_at is None or monotonic() - self._asked_at >= ASK_AGAIN_SECONDS

    def _ask(self) -> None:
        self._asked_at = monotonic()
        for address in self._bootstrap.split(","):
            try:
                with WireConnection(address.strip(), "coordinator-pipeline", ANSWER_SECONDS) as connection:
                    response = connection.send_latest(MetadataRequest(topics=None, allow_auto_topic_creation=False))
            except ClientError:
                continue  # another address may answer; the topic keeps its id if none does
            self._names |= {each.topic_id.hex(): each.name for each in response.topics if each.name}
            return
