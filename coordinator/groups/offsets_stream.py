"""The log of the state of a shard of groups: a partition of `__consumer_offsets`."""

from typing import Final

from _wire.errors import MalformedMessage
from coordinator.core.kinds.batch_replay import BatchReplay
from coordinator.core.kinds.stored import StoredGroups
from coordinator.groups.offsets_batches import OffsetsStream
from coordinator.runtime.interfaces import ReplayedLog, StoreError
from coordinator.runtime.slices import Steps

__all__ = ["GroupReplay", "OffsetsStream"]

REPLAYED_AT_ONCE: Final = 500
"""Records in one step of a replay: 0.2 ms if they are committed offsets."""


class GroupReplay:
    """Applies batches and markers to the groups that they are about."""

    def __init__(self, groups: StoredGroups) -> None:
        self._groups = groups

    def read(self, log: ReplayedLog, from_offset: int, load_bytes: int) -> Steps[None]:
        """A step is some hundred records, the read of `load_bytes`, or the metadata of a group.

        Raises:
            StoreError: the log cannot be read.
        """
        offset = from_offset
        replay = BatchReplay(self._groups)
        try:
            while offset < log.log_end_offset:
                data = yield from log.read_steps(offset, load_bytes)
                replay.open(data, log.log_end_offset)
                yield
                while replay.step(REPLAYED_AT_ONCE):
                    yield
                if replay.next_offset <= offset:
                    raise StoreError("there is no batch")
                offset = replay.next_offset
            yield from self._groups.decode_groups()
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}, records from offset {replay.next_offset} on: {problem}") from problem
