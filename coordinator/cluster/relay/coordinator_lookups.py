"""How often a client looks a coordinator up: one that asks again and again does not get there.

A broker has another address by way of each node. librdkafka takes no notice of an address that changes while the id of
the coordinator stays: it goes on to connect to a node that is gone, and asks each second who the coordinator is. With
an error in between it begins anew. Other clients are not counted: some pass such an error on to their users.
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.cluster.relay.responses import ForwardedRequest

ASKED_MAX: Final = 3
WITHIN_SECONDS: Final = 10.0
"""A client that asks more often than that within this time is told once to ask later."""
LIBRDKAFKA: Final = (b"librdkafka", b"confluent-kafka")
"""The software of an ApiVersions request (KIP-511): librdkafka's own name, or that of a client that is made of it."""
KEYS_MAX: Final = 10
"""Groups and transactional ids that are counted for one client: who asks for many is an admin client."""


class CoordinatorLookups:
    """Those of one connection."""

    __slots__ = ("_asked", "_now", "is_librdkafka")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self.is_librdkafka = False
        """Whether the client has said that it is; no other one is counted."""
        self._asked: dict[tuple[int, str], tuple[int, float]] = {}
        """(key type, key) → how often it was asked for since when."""

    def note_software(self, said: bytes) -> None:
        """The client has said what it is, somewhere in these bytes."""
        self.is_librdkafka = any(name in said for name in LIBRDKAFKA)

    def note(self, request: ForwardedRequest) -> ForwardedRequest:
        """Count a request; return what its response is to be rewritten by."""
        if not self.is_librdkafka or len(request.keys) != 1:
            return request
        asked_for, now = (request.key_type, request.keys[0]), self._now()
        times, since = self._asked.pop(asked_for, (0, now))
        if now - since > WITHIN_SECONDS:
            times, since = 0, now
        if times == ASKED_MAX:
            return msgspec.structs.replace(request, is_reached=False)
        if len(self._asked) == KEYS_MAX:
            del self._asked[next(iter(self._asked))]
        self._asked[asked_for] = times + 1, since
        return request
