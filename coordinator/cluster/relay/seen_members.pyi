from collections.abc import Callable
from typing import Any

from coordinator.audit.schema.sighted import AnySighting

SILENT_AFTER_MS: int
LATE_ANSWER_MS: int

class SeenMembers:
    node_id: int
    lost: int
    """Facts that were dropped, as nobody collected them, since the last `drain`."""
    unread: int
    """Requests and answers of watched groups that could not be read."""
    def __init__(self, node_id: int, is_watched: Callable[[str], bool] | None = None) -> None: ...
    def watch(self, is_watched: Callable[[str], bool] | None) -> None: ...
    def drain(self) -> tuple[list[AnySighting], int]: ...
    def closed(self, connection: Any, by_client: bool) -> None: ...
    def find_silent(self) -> None: ...
    def ask_again(self) -> None: ...
