"""Answers that are sent again to whoever asks the same, by a whole node in this process and over its sockets."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, Final

import msgspec
import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.structs import Message
from coordinator.broker.directories.directory_assignment import _OnlineOnly
from coordinator.config.settings import Config
from coordinator.front.dispatch import Route
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import SingleNode
from coordinator.node.node import Node
from tests.waiting import wait_for
from tests.wire_client import WireClient

KEPT_BYTES_MAX: Final = 4 << 20
TOPIC: Final = "topic"
METADATA, FIND_COORDINATOR, API_VERSIONS = 3, 10, 18

SOFTWARE: Final = ApiVersionsRequest(client_software_name="client-a", client_software_version="1.0")
ONE_TOPIC: Final = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
ALL_TOPICS: Final = MetadataRequest(topics=None)


class ServedNode:
    """A node in a thread of its own, and how often its handlers were called."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.loop = asyncio.get_running_loop()
        self.handled: Counter[int] = Counter()
        routes = node.front.path.chain.routes
        for api_key in (METADATA, FIND_COORDINATOR, API_VERSIONS):
            route = node.front.path.chain.route(api_key)
            assert route is not None
            routes[api_key] = msgspec.structs.replace(route, handler=self._counting(route))

    def _counting(self, route: Route) -> Callable[[Any, Any], Any]:
        def handler(request: Any, call: Any) -> Any:
            self.handled[route.api.key] += 1
            return route.handler(request, call)

        return handler

    @property
    def kept_bytes(self) -> int:
        answers: Any = self.node.groups.sessions.answers
        kept: int = answers.kept_bytes
        return kept

    def set_switch(self, name: str) -> None:
        setattr(self.node.groups.sessions, name, True)


@contextmanager
def serving(settings: dict[str, str]) -> Iterator[ServedNode]:
    started: list[ServedNode] = []
    stopping: list[Callable[[], object]] = []

    async def serve() -> None:
        node = Node(Config(settings))
        await node.start()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        stopping.append(lambda: loop.call_soon_threadsafe(stop.set))
        started.append(ServedNode(node))
        await stop.wait()
        await node.stop()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        wait_for(lambda: bool(started) or not thread.is_alive(), 20, "the node")
        yield started[0]
    finally:
        for stop in stopping:
            stop()
        thread.join()


@pytest.fixture
def settings(tmp_path):
    return {"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0", "auto.create.topics.enable": "false"}


@pytest.fixture
def served(settings):
    with serving(settings) as node, WireClient(node.node.bootstrap) as client:
        client.create_topic(TOPIC, 3)
        yield node


@pytest.fixture
def client(served):
    with WireClient(served.node.bootstrap) as connected:
        yield connected


def same_answers(client: WireClient, request: Message, version: int) -> Any:
    """The answer to a request that is sent three times, pipelined."""
    asked = [client.frame(request, version) for _ in range(3)]
    client.socket.sendall(b"".join(frame for frame, _ in asked))
    answers = [client.receive(sent) for _, sent in asked]  # which checks the correlation ids
    assert answers[0] == answers[1] == answers[2]
    return answers[0]


@pytest.mark.parametrize(
    ("request_", "versions"),
    [
        (SOFTWARE, range(5)),
        (ONE_TOPIC, range(14)),
        (ALL_TOPICS, range(1, 14)),
        (FindCoordinatorRequest(key="group", coordinator_keys=["group"]), range(7)),
    ],
)
def test_whoever_asks_the_same_is_answered_the_same_without_the_handler(served, client, request_, versions):
    for version in versions:
        first = client.request(request_, version)
        assert served.handled[request_.API_KEY] == 1
        assert same_answers(client, request_, version) == first
        with WireClient(served.node.bootstrap) as another:
            assert another.request(request_, version) == first
        assert served.handled.pop(request_.API_KEY) == 1


@pytest.mark.parametrize("question", [ONE_TOPIC, ALL_TOPICS])
def test_a_topic_that_has_changed_is_described_anew(served, client, question):
    def partitions() -> list[int]:
        answer = same_answers(client, question, 12)
        return [len(topic.partitions) for topic in answer.topics if topic.name == TOPIC]

    assert partitions() == [3]
    grown = CreatePartitionsTopic(name=TOPIC, count=5, assignments=None)
    (result,) = client.request(CreatePartitionsRequest(topics=[grown], timeout_ms=5_000), 3).results
    assert result.error_code == ErrorCode.NONE
    assert partitions() == [5]
    client.delete_topic(TOPIC)
    assert partitions() == ([0] if question is ONE_TOPIC else [])
    client.create_topic(TOPIC, 1)
    assert partitions() == [1]


def test_what_has_an_error_is_asked_of_the_handler_each_time(served, client):
    for number, (request, version) in enumerate(
        [
            (MetadataRequest(topics=[MetadataRequestTopic(name="unknown")]), 12),
            (FindCoordinatorRequest(coordinator_keys=["x"], key_type=7), 4),
            (ApiVersionsRequest(client_software_name="-", client_software_version="1"), 3),
        ]
    ):
        same_answers(client, request, version)
        assert served.handled.total() == 3 * (number + 1)
    assert served.kept_bytes == 0


def test_the_coordinator_of_transactions_is_asked_of_the_handler(served, client):
    """The first such request makes the topic of transactions, and each starts what reads it."""
    for _ in range(2):
        client.request(FindCoordinatorRequest(coordinator_keys=["id"], key_type=1), 4)
    assert served.handled[FIND_COORDINATOR] == 2


def test_a_connection_says_its_software_also_with_a_question_of_others(served, client):
    client.request(SOFTWARE, 3)
    with WireClient(served.node.bootstrap) as another:
        another.request(SOFTWARE, 3)
        another.request(ApiVersionsRequest(), 2)  # says nothing, and takes nothing back
        connections = served.node.front.dispatcher.connections
        assert [each.software for each in connections if each.serial > min(one.serial for one in connections)] == [
            ("client-a", "1.0"),
            ("client-a", "1.0"),
        ]
    assert served.handled[API_VERSIONS] == 2


def test_each_listener_is_told_by_its_own_port(settings):
    names = "A:PLAINTEXT,B:PLAINTEXT"
    listeners = "A://127.0.0.1:0,B://127.0.0.1:0"
    settings |= {"listeners": listeners, "listener.security.protocol.map": names, "inter.broker.listener.name": "A"}
    with serving(settings) as served:
        endpoints = served.node.front.listeners.endpoints
        for _ in range(2):
            for endpoint in endpoints:
                with WireClient(f"{endpoint.host}:{endpoint.port}") as client:
                    assert client.request(ALL_TOPICS, 12).brokers[0].port == endpoint.port
                    (found,) = client.request(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
                    assert found.port == endpoint.port
        assert served.handled == {METADATA: 2, FIND_COORDINATOR: 2}


@pytest.mark.parametrize("switch", ["leaves_heartbeats", "leaves_requests", "asks_authorizer"])
def test_what_has_to_see_each_request_sees_it(served, client, switch):
    client.request(ONE_TOPIC, 12)
    served.set_switch(switch)
    same_answers(client, ONE_TOPIC, 12)
    assert served.handled[METADATA] == 4


def test_what_is_kept_has_a_bound_whatever_clients_ask(served, client):
    most = 0
    for number in range(6_000):
        name = f"{number:04}" + "x" * 900
        client.request(FindCoordinatorRequest(coordinator_keys=[name]), 4)
        most = max(most, served.kept_bytes)
    assert KEPT_BYTES_MAX * 0.9 < most <= KEPT_BYTES_MAX
    served.handled.clear()
    client.request(FindCoordinatorRequest(coordinator_keys=[name]), 4)
    assert served.handled.total() == 0


def test_a_long_question_or_answer_is_not_kept(served, client):
    client.create_topic("large", 501)
    for request, version in (
        (FindCoordinatorRequest(coordinator_keys=["x" * 2_000]), 4),
        (MetadataRequest(topics=[MetadataRequestTopic(name="large")]), 12),
    ):
        same_answers(client, request, version)
        assert served.kept_bytes == 0


def test_a_log_directory_that_fails_changes_the_leaders():
    offline: set[str] = set()
    leadership = _OnlineOnly(SingleNode(1), MetadataImage(), offline)
    before = leadership.version
    offline.add("directory")
    assert leadership.version > before


def test_a_repeated_answer_counts_as_any_other(settings):
    settings["admin.listener"] = "127.0.0.1:0"
    with serving(settings) as served, WireClient(served.node.bootstrap) as client:
        client.create_topic(TOPIC, 3)
        client.request(ONE_TOPIC, 12)
        metrics: Any = served.node.front.listeners._metrics
        meter = metrics.requests
        once = {(key, code): count for key, code, count in meter.errors() if key == METADATA}
        assert sum(once.values()) > 0
        client.request(ONE_TOPIC, 12)
        assert served.handled[METADATA] == 1
        assert (METADATA, 12, 2) in meter.requests()
        twice = {(key, code): count for key, code, count in meter.errors() if key == METADATA}
        assert twice == {key: 2 * count for key, count in once.items()}
        assert set(twice) == {(METADATA, ErrorCode.NONE)}
