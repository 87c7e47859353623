"""The interface of events: what changes the state of a coordinator."""

from typing import Any, Protocol


class Event(Protocol):
    """One thing that happened to the state behind one key of a shard: a group, or a transactional id.

    It is never changed once it is made.
    """

    @property
    def key(self) -> str:
        """The key of the shard that it is about."""

    def apply(self, state: Any) -> None:
        """Change the state. It is total for a state that exists, and reads no clock."""
