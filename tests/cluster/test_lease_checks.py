"""Where a node looks at its lease: before it answers, sends, or does anything that is due."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from _wire.headers import encode_response
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.produce import ProduceResponse
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.forwarded_requests import ForwardedRequests
from coordinator.cluster.log.access import Appended, Refused
from coordinator.cluster.log.produce_pipeline import ProducePipeline
from coordinator.cluster.node import ClusterNode
from coordinator.cluster.nodes.lease import Lease


def test_before_a_request_is_handled() -> None:
    calls: list[str] = []
    nothing: Any = None
    requests = ForwardedRequests(
        {},
        nothing,
        nothing,
        nothing,
        nothing,
        listed_id=0,
        before_request=lambda: calls.append("lease"),
        forget=nothing,
    )
    connection: Any = SimpleNamespace(call=None, reject=lambda reason: calls.append("rejected"))
    requests.passes_on.around(nothing)(connection, b"\x00\x03")
    assert calls == ["lease", "rejected"]


class OneBroker:
    """Leads every partition."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def leader_of(self, topic: str, partition: int) -> int:
        return 0

    async def connection(self, broker_id: int, purpose: str) -> "OneBroker":
        return self

    async def request(self, message: Any, version_max: int) -> ProduceResponse:
        self.sent.append(message)
        return ProduceResponse()


def test_before_batches_leave() -> None:
    broker, answers = OneBroker(), list[Appended | Refused]()

    async def append() -> None:
        pipeline = ProducePipeline(broker, lambda: pipeline.abandon("t", 0))  # type: ignore[arg-type]
        pipeline.append("t", 0, b"batch", answers.append)
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(append())
    assert (broker.sent, answers) == ([], [])


def test_before_responses_of_brokers_are_handled() -> None:
    calls: list[str] = []

    async def answered() -> None:
        connection = BrokerConnection("b:1", "c", 1, lambda: calls.append("lease"))
        connection.connection_made(SimpleNamespace(write=lambda data: None, abort=lambda: None))
        connection.send(HeartbeatRequest(), 0, lambda response: calls.append("answer"))
        connection.data_received(encode_response(1, HeartbeatResponse(), 0))

    asyncio.run(answered())
    assert calls == ["lease", "answer"]


def test_before_anything_that_is_due() -> None:
    due: list[Callable[[object, int], None]] = []
    ended: list[Callable[[int], None]] = []
    calls: list[str] = []
    scheduler = SimpleNamespace(on_due=due.append, on_iteration_end=ended.append)
    loop = SimpleNamespace(scheduler=scheduler, wall=SimpleNamespace(follow=None), delays=SimpleNamespace(due=None))
    node: Any = SimpleNamespace(
        loop=loop,
        leads=SimpleNamespace(check_lease=lambda: calls.append("lease"), on_gained=lambda gained: None),
        links=SimpleNamespace(lease=Lease(1_000, lambda: 0)),
        groups=SimpleNamespace(coordinator=SimpleNamespace(due=None, drain=None)),
    )
    ClusterNode._schedule(node)
    due[0]("key", 1)
    ended[0](1)
    assert calls == ["lease", "lease"]
