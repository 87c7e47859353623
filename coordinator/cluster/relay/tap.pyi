from collections.abc import Callable
from typing import Any, Final

from coordinator.cluster.relay.seen_members import SeenMembers

TAPPED: Final[frozenset[int]]
MORE: Final[object]

class Passing:
    api_key: int
    version: int

class Tap(SeenMembers):
    apis: set[int]
    requests: int
    failed: Callable[[Exception], object]
    def __init__(
        self,
        node_id: int,
        is_watched: Callable[[str], bool] | None = None,
        failed: Callable[[Exception], object] = ...,
    ) -> None: ...
    def request(self, connection: Any, data: bytes, start: int, end: int, frame_bytes: int) -> Any: ...
    def response(self, passing: Passing, data: bytes, start: int, end: int, frame_bytes: int) -> bool: ...
