"""What a node asks of a broker in a client's name, and which broker that is."""

import asyncio
from types import SimpleNamespace
from typing import Any

from coordinator.cluster.client_upstreams import ClientUpstreams
from coordinator.cluster.relay import upstreams as upstreams_module
from coordinator.cluster.relay.directory import Address
from coordinator.cluster.relay.upstream_connection import REQUESTS_MAX, UpstreamConnection
from coordinator.cluster.relay.upstreams import Upstreams
from tests.cluster.relay.scripted import BROKER_ID, LOOPS, FixedDirectory, Scene, play, request, response
from tests.differential.kafka import free_port


class Client:
    """A client of a node, and what the node found out in its name."""

    def __init__(self, scene: Scene) -> None:
        self.upstreams = ClientUpstreams(lambda: UpstreamConnection(scene.upstreams, BROKER_ID))
        self.answers: list[bytes | None] = []
        self._connection = SimpleNamespace(serial=1)

    def ask(self, correlation_id: int) -> None:
        call: Any = SimpleNamespace(connection=self._connection)
        self.upstreams.ask(call, request(3, 9, correlation_id)[4:], self.answers.append)

    def leave(self) -> None:
        connection: Any = self._connection
        self.upstreams.closed(connection)


@LOOPS
def test_there_is_no_answer_from_a_broker_that_is_lost(run):
    async def story(scene: Scene) -> None:
        client = Client(scene)
        client.ask(1)
        broker = await scene.accepted.get()
        broker.write(response(1))
        await scene.until(lambda: len(client.answers) == 1)
        client.ask(2)
        broker.writer.transport.abort()
        await scene.until(lambda: client.answers[1:] == [None])
        client.ask(3)
        assert client.answers[2:] == [None]
        client.leave()

    play(run, story)


@LOOPS
def test_a_request_too_many_is_answered_none(run):
    async def story(scene: Scene) -> None:
        client = Client(scene)
        for correlation_id in range(REQUESTS_MAX + 1):
            client.ask(correlation_id)
        assert client.answers == [None]
        client.leave()

    play(run, story)


def test_a_broker_that_cannot_be_reached_is_avoided_for_a_while(monkeypatch):
    async def story() -> None:
        directory = FixedDirectory({1: Address("127.0.0.1", free_port())})
        upstreams = Upstreams(directory)
        assert {upstreams.some_broker([1, 2, 3]) for _ in range(3)} == {1, 2, 3}
        assert upstreams.some_broker([]) is None
        failures: list[int] = []
        await upstreams.start(1, asyncio.Protocol(), lambda: failures.append(1))
        assert failures
        assert {upstreams.some_broker([1, 2, 3]) for _ in range(6)} == {2, 3}
        assert upstreams.some_broker([1]) == 1, "there is no other one"
        monkeypatch.setattr(upstreams_module, "AVOIDED_SECONDS", 0)
        assert {upstreams.some_broker([1, 2, 3]) for _ in range(3)} == {1, 2, 3}

    asyncio.run(story())
