"""What a shard writes beside its state: records about what happens, in a log of their own.

The shard knows no more of it than this. The audit of groups is one (`groups/audit_projection.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from coordinator.core.causes import Cause


class Projection(Protocol):
    """Collects the records of the batch that is being made; they are appended before the state's."""

    @property
    def records(self) -> Sequence[Any]:
        """The records of the batch so far, in their order."""

    def pop_records(self) -> list[Any]:
        """The records of the batch, which ends here."""

    def discard(self, key: str, count: int) -> None:
        """Forget a key, and what was recorded in this batch after the first `count` records."""

    def load(self, stored: Mapping[str, Any], now_ms: int, cause: Cause | None) -> Iterator[None]:
        """Read the log, in steps, and go on where it ends. Records are left that come before all others.

        `stored` is the state of each key as it was loaded. `cause` says why it is loaded, if it failed before.

        Raises:
            StoreError, MalformedMessage: the log cannot be read.
        """

    def rebuild(self, stored: Mapping[str, Any]) -> Iterator[None]:
        """Read, in steps, what the log says of keys that were discarded. Raises as `load`."""

    def serve(self, key: str, state: Any | None, now_ms: int) -> None:
        """Go on with a key that was rebuilt; `state` is None if nothing is stored of it."""

    def clear(self) -> None:
        """Forget everything, the records of the batch too."""
