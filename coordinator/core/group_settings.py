"""Settings that may differ from group to group, by the kind of the groups (`Environment.settings`)."""

from typing import Protocol, TypeVar

Values_co = TypeVar("Values_co", covariant=True)


class GroupSettings(Protocol[Values_co]):
    """Read access to what holds for the groups of one kind at the time of the call. The kind defines the values."""

    def is_enabled(self) -> bool:
        """Whether groups of the kind are served at all: their protocol is enabled, and their feature is in use."""

    def of(self, group_id: str) -> Values_co:
        """What holds for a group, whether it exists or not."""
