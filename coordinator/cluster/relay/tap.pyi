from collections.abc import Callable
from typing import Any, Final

from coordinator.audit.schema.sighted import AnySighting, ClientSighted

TAPPED: Final[frozenset[int]]
MORE: Final[object]

class Passing:
    api_key: int
    version: int

class Tap:
    apis: set[int]
    node_id: int
    lost: int
    unread: int
    requests: int
    failed: Callable[[Exception], object]
    def __init__(
        self,
        node_id: int,
        is_watched: Callable[[str], bool] | None = None,
        failed: Callable[[Exception], object] = ...,
    ) -> None: ...
    def watch(self, is_watched: Callable[[str], bool] | None) -> None: ...
    def drain(self) -> tuple[list[AnySighting], int]: ...
    def request(self, connection: Any, data: bytes, start: int, end: int, frame_bytes: int) -> Any: ...
    def response(self, passing: Passing, data: bytes, start: int, end: int, frame_bytes: int) -> bool: ...
    def closed(self, connection: Any, by_client: bool) -> None: ...
    def find_silent(self) -> None: ...
    def ask_again(self) -> None: ...

NO_CLIENT: Final[ClientSighted]
