from collections.abc import Callable

from coordinator.groups.sessions import SessionTable

class RepeatedAnswers:
    """The answers that are sent again. `version_now` gives a number that is another one whenever one may be another."""

    def __init__(self, sessions: SessionTable, version_now: Callable[[], int]) -> None: ...
    @property
    def kept_bytes(self) -> int:
        """Of all answers and questions: 4 MiB at most."""
