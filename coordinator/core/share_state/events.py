"""The events of the states of share partitions. Nothing else changes them."""

import msgspec

from coordinator.core.share_state.state import SharePartition, ShareState

States = dict[str, ShareState]
"""Key of a share partition → its state."""


class SnapshotTaken(msgspec.Struct, frozen=True):
    """All that is known of a share partition is stored in one record."""

    after: ShareState

    @property
    def key(self) -> str:
        """The key of the share partition."""
        return self.after.of.key

    def apply(self, states: States) -> None:
        states[self.key] = self.after


class StateUpdated(msgspec.Struct, frozen=True):
    """What has changed is stored: `start_offset`, unless it is -1, and the batches as they came, merged."""

    after: ShareState
    start_offset: int
    batches: bytes
    """Packed."""

    @property
    def key(self) -> str:
        """The key of the share partition."""
        return self.after.of.key

    def apply(self, states: States) -> None:
        states[self.key] = self.after


class StateForgotten(msgspec.Struct, frozen=True):
    """Its group was deleted, or its topic, or its offsets in the group."""

    of: SharePartition

    @property
    def key(self) -> str:
        """The key of the share partition."""
        return self.of.key

    def apply(self, states: States) -> None:
        del states[self.key]


StateEvent = SnapshotTaken | StateUpdated | StateForgotten
