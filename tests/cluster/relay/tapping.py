"""A tap, and the connection of one client whose requests and answers pass it."""

from typing import Any

from _wire.headers import encode_request, encode_response
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from coordinator.audit.schema.sighted import (
    decode_sighting,
    encode_sighting,
)
from coordinator.cluster.relay.tap import Tap

GROUP, MEMBER, NODE = "watched", "m-1", 3


class Side:
    """A tap that watches GROUP, and the connection of one client."""

    def __init__(self) -> None:
        self.problems: list[Exception] = []
        self.tap = Tap(NODE, lambda group_id: group_id == GROUP, self.problems.append)
        self.connection: Any = SimpleConnection(address="10.0.0.1", client_id="c", software="")

    def ask(self, message: Any, version: int) -> Any:
        frame = encode_request(7, "c", message, version)[4:]
        return self.tap.request(self.connection, b"before" + frame, 6, 6 + len(frame), len(frame))

    def answer(self, passing: Any, message: Any, version: int) -> bool:
        frame = encode_response(7, message, version)[4:]
        return self.tap.response(passing, b"x" + frame, 1, 1 + len(frame), len(frame))

    @property
    def seen(self) -> list[Any]:
        """What was seen since, as it is read again."""
        sightings, lost = self.tap.drain()
        assert not lost and not self.problems
        return [decode_sighting(encode_sighting(sighting)) for sighting in sightings]


class SimpleConnection:
    """What the tap needs of a connection."""

    def __init__(self, address: str, client_id: str, software: str) -> None:
        self.address, self.client_id, self.software = address, client_id, software


def beat_answered(side: Side) -> None:
    """A heartbeat that is answered."""
    assert side.answer(side.ask(HeartbeatRequest(group_id=GROUP, member_id=MEMBER), 4), HeartbeatResponse(), 4)


def beat(side: Side, group_id: str, member_id: str) -> Any:
    return side.ask(HeartbeatRequest(group_id=group_id, member_id=member_id), 4)
