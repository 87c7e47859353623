"""A server that a history of consumer groups is played on, with topics of the history's own."""

import uuid
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tests.differential.consumer.names import ConsumerNames
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory
from tests.differential.sides import CLOSED, Server
from tests.differential.steps import Send
from tests.differential.transactions.names import OWN
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient

GROUP: Final = "~g"
TRANSACTIONAL_ID: Final = "~x"
TOPICS: Final = {"~t1": 3, "~t2": 2}
"""The topics of a history at its beginning → partitions."""
STATE: Final[tuple[tuple[str, str, int, dict[str, Any]], ...]] = (
    ("groups", "ConsumerGroupDescribe", 1, {"group_ids": [GROUP]}),
    ("classic groups", "DescribeGroups", 6, {"groups": [GROUP]}),
    ("list", "ListGroups", 5, {}),
    ("offsets", "OffsetFetch", 9, {"groups": [{"group_id": GROUP, "topics": None}]}),
    ("stable offsets", "OffsetFetch", 9, {"groups": [{"group_id": GROUP, "topics": None}], "require_stable": True}),
    ("transactions", "DescribeTransactions", 0, {"transactional_ids": [TRANSACTIONAL_ID]}),
)
"""What is asked after each step, to compare the states of the servers: name, API, version, request."""
Place = list[int]
"""Where a topic is among others, by its id: the bucket of a hash set, and the first byte, signed. Both decide between
assignments that are as good."""
BUCKETS: Final = 16
NEAR: Final = 12
"""How far apart the first bytes of a topic's ids may be."""
ID_ATTEMPTS: Final = 5000


class ConsumerSide(Protocol):
    """Somebody who takes the steps of one history and answers."""

    def ask(self, step: Send) -> Any:
        """The answer to a request."""

    def change_topic(self, step: ChangeTopic, place: Place | None = None) -> Place:
        """Change a topic; return the place of its id. A new one gets an id that is near `place`."""

    def state(self) -> dict[str, Any]:
        """What the server says of the history's groups."""

    def step_done(self) -> None:
        """The state was compared."""

    def leave(self) -> None:
        """Close the connections: the history is over, or the server is about to end."""


class LiveConsumerSide:
    """A server, asked over one connection for each client of the history. Closed ones are opened again."""

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

    def change_topic(self, step: ChangeTopic, place: Place | None = None) -> Place:
        name = self._prefix + step.topic.removeprefix(OWN)
        existing = self._names.topic_ids().get(step.topic)
        if step.partitions == 0:
            self._connection("control").delete_topic(name)
            self._names.forget_topic(step.topic)
        elif existing is not None:
            topic = CreatePartitionsTopic(name=name, count=step.partitions, assignments=None)
            request = CreatePartitionsRequest(topics=[topic], timeout_ms=10_000)
            (result,) = self._connection("control").request(request, 3).results
            assert result.error_code == ErrorCode.NONE, result
        else:
            existing = self._create_topic(name, step.partitions, place)
            self._names.add_topic(step.topic, existing)
        assert existing is not None, step
        topic_id = existing
        wait_for(
            lambda: self._assigned(name, topic_id) == step.partitions,
            20,
            f"{name} to have {step.partitions} partitions",
        )
        return place_of(existing)

    def _create_topic(self, name: str, partitions: int, place: Place | None) -> bytes:
        for _ in range(ID_ATTEMPTS):
            topic_id = self._connection("control").create_topic(name, partitions)
            if place is None or _is_near(place_of(topic_id), place):
                return topic_id
            self._connection("control").delete_topic(name)
        raise AssertionError(f"{name} got no id near {place} in {ID_ATTEMPTS} attempts")

    def _assigned(self, topic: str, topic_id: bytes) -> int:
        """How many partitions of a topic the coordinator assigns; it may still know another one of that name."""
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
        return sum(len(each.partitions) for each in topics if each.topic_id == topic_id)

    def step_done(self) -> None:
        """A live server needs not be told."""

    def leave(self) -> None:
        for connection in self._connections.values():
            connection.__exit__()
        self._connections.clear()


class RecordedConsumerSide:
    """What a server answered, and the states it was in, when the history was recorded."""

    def __init__(self, history: ConsumerHistory) -> None:
        self._coming = history.outcomes
        self._steps = 0

    def ask(self, step: Send) -> Any:
        return self._coming[self._steps].answer

    def change_topic(self, step: ChangeTopic, place: Place | None = None) -> Place:
        found: Place = self._coming[self._steps].answer
        return found

    def state(self) -> dict[str, Any]:
        return self._coming[self._steps].state

    def step_done(self) -> None:
        self._steps += 1

    def leave(self) -> None:
        """There is nothing to close."""


def place_of(topic_id: bytes) -> Place:
    """The bucket is that of java.util.HashMap for an `org.apache.kafka.common.Uuid`."""
    folded = int.from_bytes(topic_id[:8], "big") ^ int.from_bytes(topic_id[8:], "big")
    hashed = (folded >> 32) ^ (folded & 0xFFFFFFFF)
    return [(hashed ^ hashed >> 16) % BUCKETS, int.from_bytes(topic_id[:1], "big", signed=True)]


def _is_near(place: Place, wanted: Place) -> bool:
    return place[0] == wanted[0] and abs(place[1] - wanted[1]) <= NEAR
