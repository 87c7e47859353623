"""A server that a history of consumer groups is played on, with topics of the history's own."""

import uuid
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from coordinator.core.consumer.assignors.orders import topics_in_order
from tests.differential.consumer.names import ConsumerNames
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory
from tests.differential.sides import CLOSED, Server
from tests.differential.steps import Send
from tests.differential.transactions.names import OWN
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient

GROUP: Final = "~g"
TOPICS: Final = {"~t1": 3, "~t2": 2}
"""The topics of a history at its beginning → partitions."""
STATE: Final[tuple[tuple[str, str, int, dict[str, Any]], ...]] = (
    ("groups", "ConsumerGroupDescribe", 1, {"group_ids": [GROUP]}),
    ("classic groups", "DescribeGroups", 6, {"groups": [GROUP]}),
    ("list", "ListGroups", 5, {}),
    ("offsets", "OffsetFetch", 9, {"groups": [{"group_id": GROUP, "topics": None}]}),
)
"""What is asked after each step, to compare the states of the servers: name, API, version, request."""
Order = list[list[str]]
"""The topics in the orders that decide between assignments that are as good: in a hash set of ids, and by id."""
ORDER_ATTEMPTS: Final = 1000


class ConsumerSide(Protocol):
    """Somebody who takes the steps of one history and answers."""

    def ask(self, step: Send) -> Any:
        """The answer to a request."""

    def change_topic(self, step: ChangeTopic, order: Order | None = None) -> Order:
        """Change a topic; return the order of the topics then. A new one gets an id by which they are in `order`."""

    def state(self) -> dict[str, Any]:
        """What the server says of the history's groups."""

    def step_done(self) -> None:
        """The state was compared."""

    def leave(self) -> None:
        """The history is over."""


class LiveConsumerSide:
    """A server, asked over one connection for each client of the history."""

    def __init__(self, server: Server, prefix: str) -> None:
        self._server = server
        self._prefix = prefix
        self._names = ConsumerNames(prefix, server.port)
        self._connections: dict[str, WireClient] = {}

    def _connection(self, name: str) -> WireClient:
        if name not in self._connections:
            self._connections[name] = WireClient(self._server.bootstrap, name)
        return self._connections[name]

    def ask(self, step: Send) -> Any:
        message = self._names.request(step.api, step.version, step.body)
        try:
            answer = self._connection(step.connection).request(message, step.version)
        except ConnectionClosed:
            del self._connections[step.connection]
            return CLOSED
        return self._names.answer(step.api, step.version, answer)

    def state(self) -> dict[str, Any]:
        return {name: self.ask(Send(name, "control", api, version, body)) for name, api, version, body in STATE}

    # ---- topics

    def _order(self) -> Order:
        names = {topic_id: name for name, topic_id in self._names.topic_ids().items()}
        by_value = sorted(names, key=lambda each: tuple(_signed(each[start : start + 8]) for start in (0, 8)))
        return [[names[each] for each in ids] for ids in (topics_in_order(sorted(names)), by_value)]

    def change_topic(self, step: ChangeTopic, order: Order | None = None) -> Order:
        name = self._prefix + step.topic.removeprefix(OWN)
        if step.partitions == 0:
            self._connection("control").delete_topic(name)
            self._names.forget_topic(step.topic)
        elif step.topic in self._names.topic_ids():
            topic = CreatePartitionsTopic(name=name, count=step.partitions)
            request = CreatePartitionsRequest(topics=[topic], timeout_ms=10_000)
            (result,) = self._connection("control").request(request, 3).results
            assert result.error_code == ErrorCode.NONE, result
        else:
            self._create_topic(step.topic, name, step.partitions, order)
        wait_for(lambda: self._assigned(name) == step.partitions, 20, f"{name} to have {step.partitions} partitions")
        return self._order()

    def _create_topic(self, said: str, name: str, partitions: int, order: Order | None) -> None:
        for _ in range(ORDER_ATTEMPTS):
            self._names.add_topic(said, self._connection("control").create_topic(name, partitions))
            if order is None or self._order() == order:
                return
            self._connection("control").delete_topic(name)
        raise AssertionError(f"{name} got no id in the wanted order {ORDER_ATTEMPTS} times")

    def _assigned(self, topic: str) -> int:
        """How many partitions of a topic the coordinator assigns."""
        group_id = f"probe-{uuid.uuid4().hex}"
        control = self._connection("control")
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id="probe",
            rebalance_timeout_ms=1000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        )
        joined = control.request(request, 1)
        control.request(ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="probe", member_epoch=-1), 1)
        topics = joined.assignment.topic_partitions if joined.assignment else []
        return sum(len(each.partitions) for each in topics)

    def step_done(self) -> None:
        """A live server needs not be told."""

    def leave(self) -> None:
        for connection in self._connections.values():
            connection.__exit__()


class RecordedConsumerSide:
    """What a server answered, and the states it was in, when the history was recorded."""

    def __init__(self, history: ConsumerHistory) -> None:
        self._coming = history.outcomes
        self._steps = 0

    def ask(self, step: Send) -> Any:
        return self._coming[self._steps].answer

    def change_topic(self, step: ChangeTopic, order: Order | None = None) -> Order:
        found: Order = self._coming[self._steps].answer
        return found

    def state(self) -> dict[str, Any]:
        return self._coming[self._steps].state

    def step_done(self) -> None:
        self._steps += 1

    def leave(self) -> None:
        """There is nothing to close."""


def _signed(part: bytes) -> int:
    return int.from_bytes(part, "big", signed=True)
