"""A server that a history with transactions is played on, with topics of the history's own."""

import asyncio
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.differential.sides import CLOSED, LiveSide, Server
from tests.differential.steps import Close, Send
from tests.differential.transactions.names import OWN, TransactionNames
from tests.differential.transactions.steps import TransactionHistory, step_label
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPICS: Final = {"~orders": 2, "~returns": 1}
"""Topics of a history → partitions."""
TRANSACTIONAL_IDS: Final = ("~t1", "~t2")
GROUP: Final = "~g"
COMMITTED: Final = 1
"""The isolation level."""
LOADING: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
ANSWER_SECONDS: Final = 20.0


def _partitions(field: str) -> list[dict[str, Any]]:
    return [{"name": name, field: list(range(count))} for name, count in TOPICS.items()]


def _ends(isolation_level: int) -> dict[str, Any]:
    topics = [
        {"name": name, "partitions": [{"partition_index": index, "timestamp": -1} for index in range(count)]}
        for name, count in TOPICS.items()
    ]
    return {"replica_id": -1, "isolation_level": isolation_level, "topics": topics}


STATE: Final = (
    ("transactions", "DescribeTransactions", 0, {"transactional_ids": list(TRANSACTIONAL_IDS)}),
    ("producers", "DescribeProducers", 0, {"topics": _partitions("partition_indexes")}),
    ("ends", "ListOffsets", 6, _ends(0)),
    ("committed ends", "ListOffsets", 6, _ends(COMMITTED)),
    ("stable offsets", "OffsetFetch", 8, {"groups": [{"group_id": GROUP, "topics": None}], "require_stable": True}),
    ("offsets", "OffsetFetch", 8, {"groups": [{"group_id": GROUP, "topics": None}], "require_stable": False}),
)
"""What is asked after each step, to compare the states of the servers: name, API, version, request."""


def _errors_of(ends: Any) -> list[int]:
    return [partition.error_code for topic in ends.topics for partition in topic.partitions if partition.error_code]


class TransactionSide(LiveSide):
    """One of the two servers in one playing of a history."""

    def __init__(self, server: Server, prefix: str) -> None:
        super().__init__(server, prefix)
        self.names: TransactionNames = TransactionNames(prefix, server.port)
        self._prefix = prefix
        self._asked = 0

    def prepare(self) -> None:
        """Make the topics. It blocks."""
        topics = [
            CreatableTopic(name=self._prefix + name.removeprefix(OWN), num_partitions=count, replication_factor=1)
            for name, count in TOPICS.items()
        ]
        with WireClient(self._server.bootstrap, "prepare") as client:
            made = client.request(CreateTopicsRequest(topics=topics, timeout_ms=10_000), 7).topics
            assert all(topic.error_code == 0 for topic in made), made
            ends = self.names.request("ListOffsets", 6, _ends(0))
            # Kafka has a topic before it leads its partitions.
            wait_for(lambda: not _errors_of(client.request(ends, 6)), 30, "the topics to be led")
        for topic in made:
            self.names.add_topic(OWN + topic.name.removeprefix(self._prefix), topic.topic_id)

    async def ask(self, step: Send) -> Any:
        """The answer to a request; None if there is none for `ANSWER_SECONDS`.

        Asked again while Kafka has no producer ids left and fetches some from its controller.
        """
        while True:
            answer = await self._ask_once(step)
            is_out_of_ids = step.api == "InitProducerId" and answer and answer.get("error_code") == LOADING
            if not is_out_of_ids:
                return answer
            await asyncio.sleep(0.02)

    async def _ask_once(self, step: Send) -> Any:
        await self.take(step)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while step.label not in self.answers:
                    self.heard.clear()
                    await self.heard.wait()
        except TimeoutError:
            return None
        answer = self.answers.pop(step.label)
        if answer == CLOSED:
            await self.take(Close(step.connection))
        return answer

    async def state(self) -> dict[str, Any]:
        """What the server says of the history's transactions, producers, logs and offsets."""
        found = {}
        for name, api, version, body in STATE:
            self._asked += 1
            found[name] = await self.ask(Send(f"state-{self._asked}", "control", api, version, body))
        return found

    def step_done(self) -> None:
        """A live server needs not be told."""

    def leave(self) -> None:
        """Close the connections; the next request opens new ones."""
        super().leave()
        self._connections.clear()


class RecordedTransactionSide:
    """What a server answered, and the states it was in, when the history was recorded."""

    def __init__(self, history: TransactionHistory) -> None:
        self._coming = list(history.outcomes)
        self._steps = 0
        self._labels = [step_label(step) for step in history.steps]

    def prepare(self) -> None:
        """There is nothing to prepare."""

    async def ask(self, step: Send) -> Any:
        """The requests come in the order in which they were recorded."""
        return self._coming[self._labels.index(step.label)].answer

    async def state(self) -> dict[str, Any]:
        return self._coming[self._steps].state

    def step_done(self) -> None:
        """The state was compared; the next one is that after the next step."""
        self._steps += 1

    def leave(self) -> None:
        """There is nothing to close."""
