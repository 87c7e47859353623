"""The share partitions in memory: loaded by the first fetch of a group, dropped when what is in memory no longer holds.

Counterpart in Kafka: `SharePartitionCache` and `SharePartitionManager`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.share.settings import RecordSettings
from coordinator.broker.share.share_partition import SharePartition
from coordinator.broker.share.share_partition_parts import ShareKey, SharePartitionParts
from coordinator.broker.share.waiting import WaitingFetches
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger

LOADS_MAX: Final = 1000
"""Share partitions that are loaded at a time; the fetch of another one leaves it out, as one that is still loading."""


class SharePartitions:
    """By group, topic id and partition."""

    def __init__(self, parts: SharePartitionParts, waiting: WaitingFetches) -> None:
        self._parts = parts
        self._waiting = waiting
        self.by_key: Final[dict[ShareKey, SharePartition]] = {}
        """To read only."""
        self._by_group: dict[str, dict[ShareKey, None]] = {}
        self._by_log: dict[PartitionLog, dict[ShareKey, None]] = {}
        self._loads = 0
        parts.partitions.add_removal_listener(self.log_removed)

    def __len__(self) -> int:
        return len(self.by_key)

    def settings_of(self, group_id: str) -> RecordSettings:
        return self._parts.settings.of(group_id)

    def __iter__(self) -> Iterator[SharePartition]:
        return iter(self.by_key.values())

    def get(self, key: ShareKey) -> SharePartition | None:
        """One that somebody has fetched since it was loaded."""
        return self.by_key.get(key)

    def open(self, key: ShareKey, topic: str) -> SharePartition | ErrorCode | None:
        """Find one, or begin to load it; None: too many are being loaded."""
        found = self.by_key.get(key)
        if found is not None:
            return found
        log = self._parts.partitions.locate(topic, key.partition)
        if isinstance(log, ErrorCode):
            return log
        if self._loads >= LOADS_MAX:
            return None
        made = self.by_key[key] = SharePartition(key, log, self._parts, self.drop, self._waiting)
        self._by_group.setdefault(key.group_id, {})[key] = None
        self._by_log.setdefault(log, {})[key] = None
        self._load(made)
        return made

    def _load(self, made: SharePartition) -> None:
        self._loads += 1

        def loaded(error: ErrorCode) -> None:
            self._loads -= 1
            if error is not ErrorCode.NONE:
                self.drop(made)
            self._waiting.wake(made)

        def failed(problem: Exception) -> None:
            logger.error("unhandled exception while a share partition is loaded", problem=repr(problem))
            made.load_error = ErrorCode.UNKNOWN_SERVER_ERROR
            loaded(made.load_error)

        self._parts.slices.start(made.load(), loaded, failed)

    def drop(self, share_partition: SharePartition) -> None:
        """Forget one; the next fetch loads it."""
        key = share_partition.key
        share_partition.drop()
        if self.by_key.get(key) is not share_partition:
            return
        del self.by_key[key]
        for index, of in ((self._by_group, key.group_id), (self._by_log, share_partition.log)):
            keys = index[of]  # type: ignore[index]
            del keys[key]
            if not keys:
                del index[of]  # type: ignore[arg-type]

    def drop_group(self, group_id: str) -> None:
        """The last session of a group is gone."""
        self._drop_keys(self._by_group.get(group_id, ()))

    def drop_all(self) -> None:
        """Share groups are switched off."""
        self._drop_keys(self.by_key)

    def log_removed(self, log: PartitionLog) -> None:
        """A topic was deleted, or a log directory has failed."""
        self._drop_keys(self._by_log.get(log, ()))

    def _drop_keys(self, keys: Iterable[ShareKey]) -> None:
        for key in list(keys):
            self.drop(self.by_key[key])
