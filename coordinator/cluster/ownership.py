"""Which groups the nodes own, and how a group becomes theirs.

A rule, of `coordinator cluster adopt` or the setting `cluster.adopt`, says that the nodes coordinate a group. It is
theirs from when its sentinel has joined at the cluster, which the cluster refuses while the group has members there.
Then a note in its partition says so, by which the next node that leads the partition knows.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from _wire.errors import ErrorCode
from coordinator.cluster.brokers.tasks import Tasks, ask_about_all, completed
from coordinator.cluster.found import FOUND, NOT_FOUND, Finding, Unknown
from coordinator.cluster.log.group_patterns import NAME_CHARACTERS_MAX, GroupPattern
from coordinator.cluster.log.notes import Notes, owned_record
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.cluster.sentinels.sentinels import HELD_BY_CLUSTER, Sentinels
from coordinator.core.stored import StoredRecord
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.logger import logger
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import Shard
from coordinator.runtime.slices import Steps

OPENED_AT_ONCE: Final = 64
"""Sentinels of a partition that was taken over that join at a time; those that are needed join before."""
SENTINELS_CHECKED_SECONDS: Final = 60
"""How often it is looked whether a group has no sentinel. Without one its committed offsets expire some day."""

Owns: TypeAlias = Callable[[Sentinel | ErrorCode], None]


class GroupOwnership:
    """The groups of the partitions that this node leads."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        sentinels: Sentinels,
        adopted: Sequence[str],
        wall_ms: Callable[[], int],
    ) -> None:
        """`adopted` are names and patterns of the settings, for groups that no rule is about."""
        self._coordinator = coordinator
        self._sentinels = sentinels
        self._adopted = [GroupPattern(pattern) for pattern in adopted]
        self._wall_ms = wall_ms
        self._tasks = Tasks()
        self._noting: dict[str, list[Owns]] = {}
        """Group → who waits until its note is stored."""
        self._on_held: list[Callable[[str], None]] = []
        self._on_moved: list[Callable[[str, bool], None]] = []
        self._keeping: dict[int, asyncio.Task[None]] = {}
        """Partition → what sees that its groups have their sentinels."""

    def stop(self) -> None:
        self._tasks.cancel()

    def on_held(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with each group that the nodes were asked for, and which has members at the cluster."""
        self._on_held.append(listener)

    def on_moved(self, listener: Callable[[str, bool], None]) -> None:
        """Call `listener` with each group that has become the nodes', and True, or the cluster's, and False.

        Before anything else happens to the group.
        """
        self._on_moved.append(listener)

    # ---- rules

    def notes_of(self, partition: int) -> Notes:
        return self._store_of(partition).notes

    def _store_of(self, partition: int) -> ClusterStore:
        store = self._coordinator.shards[partition].store
        assert isinstance(store, ClusterStore)
        return store

    def leave_note(self, group_id: str, record: StoredRecord, completed: Callable[[StoreError | None], None]) -> None:
        """Leave a note about a group for the nodes that lead its partition next."""
        self._store_of(self._coordinator.partition_of(group_id)).leave_note(record, completed)

    def is_adopted(self, group_id: str) -> bool:
        """Whether a rule says that the nodes coordinate the group. Its partition has to be led by this node."""
        if len(group_id) > NAME_CHARACTERS_MAX:
            return False
        notes = self.notes_of(self._coordinator.partition_of(group_id))
        if group_id in notes.rules:
            return notes.rules[group_id].is_adopted
        return any(
            pattern.matches(group_id) for patterns in (notes.adopted.values(), self._adopted) for pattern in patterns
        )

    def is_owned(self, group_id: str) -> bool:
        """Whether the nodes own the group."""
        return group_id in self.notes_of(self._coordinator.partition_of(group_id)).owned

    def has_sentinel(self, group_id: str) -> bool:
        """Whether the nodes own the group, and its sentinel is a member at the cluster."""
        return self._sentinels.get(group_id) is not None and self.is_owned(group_id)

    def owned_groups(self) -> list[str]:
        """The groups that the nodes own, of the partitions that are served here."""
        return [
            group_id
            for shard in self._coordinator.shards
            if shard.is_active
            for group_id in self.notes_of(shard.partition).owned
        ]

    # ---- finding out, and taking

    def find(self, group_id: str, answered: Callable[[Finding[None]], None]) -> None:
        """Whether the group is the nodes', or would be with its first member. Nothing is changed."""
        shard = self._coordinator.shard_of(group_id)
        if not shard.is_active:
            answered(Unknown(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        elif self.is_owned(group_id):
            answered(FOUND)
        elif not self.is_adopted(group_id):
            answered(NOT_FOUND)
        else:
            self._tasks.ask(lambda: completed(self._find(group_id)), answered)

    def _find(self, group_id: str) -> Steps[Finding[None]]:
        if self._sentinels.get(group_id) is not None:
            return FOUND
        described = yield from self._sentinels.describe(group_id)
        if isinstance(described, ErrorCode):
            return Unknown(described)
        if described.is_of_other_kind:
            return NOT_FOUND
        if not described.has_members:
            return FOUND
        self._is_held(group_id)
        return NOT_FOUND

    def own(self, group_id: str, answered: Owns) -> None:
        """Have the sentinel of the group joined, and the note written. `answered` may be called at once.

        It gets NOT_COORDINATOR if the group is the cluster's.
        """
        sentinel = self._sentinels.get(group_id)
        if sentinel is not None and self.is_owned(group_id):
            answered(sentinel)
            return
        shard = self._coordinator.shard_of(group_id)
        if not shard.is_active or (not self.is_owned(group_id) and not self.is_adopted(group_id)):
            answered(ErrorCode.NOT_COORDINATOR)
        else:
            self._sentinels.open(group_id, lambda result: self._opened(group_id, result, answered))

    def _opened(self, group_id: str, result: Sentinel | ErrorCode, answered: Owns) -> None:
        shard = self._coordinator.shard_of(group_id)
        if not isinstance(result, Sentinel):
            if result in HELD_BY_CLUSTER:
                self._is_held(group_id)
                result = ErrorCode.NOT_COORDINATOR
            answered(result if result.retriable else ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif not shard.is_active:
            self._sentinels.forget([group_id])
            answered(ErrorCode.NOT_COORDINATOR)
        elif self.is_owned(group_id):
            answered(result)
        else:
            self._note_owned(group_id, result, answered)

    def _note_owned(self, group_id: str, sentinel: Sentinel, answered: Owns) -> None:
        waiting = self._noting.setdefault(group_id, [])
        waiting.append(answered)
        if len(waiting) > 1:
            return

        def completed(problem: StoreError | None) -> None:
            if problem is None:
                self._moved(group_id, is_owned=True)
            for waiter in self._noting.pop(group_id):
                waiter(sentinel if problem is None else ErrorCode.COORDINATOR_NOT_AVAILABLE)

        logger.info("group adopted", group=group_id)
        self.leave_note(group_id, owned_record(group_id, self._wall_ms()), completed)

    def disown(self, group_id: str, answered: Callable[[StoreError | None], None]) -> None:
        """Note that the group is the nodes' no more: its sentinel has left, and a rule may adopt it again."""

        def completed(problem: StoreError | None) -> None:
            if problem is None:
                self._moved(group_id, is_owned=False)
            answered(problem)

        self.leave_note(group_id, owned_record(group_id, None), completed)

    def _moved(self, group_id: str, *, is_owned: bool) -> None:
        for listener in self._on_moved:
            listener(group_id, is_owned)

    def _is_held(self, group_id: str) -> None:
        for listener in self._on_held:
            listener(group_id)

    # ---- partitions that come and go

    def loaded(self, shard: Shard[Any]) -> None:
        """A partition is served here from now on: the sentinels of its groups become this node's."""
        self._stop_keeping(shard.partition)
        open_missing = partial(self._open_missing, shard)
        keeping = self._tasks.every(SENTINELS_CHECKED_SECONDS, open_missing, starts_now=True)
        self._keeping[shard.partition] = keeping

    def _open_missing(self, shard: Shard[Any]) -> Coroutine[Any, Any, None]:
        """Also those that could not join, or that were removed while nobody needed them."""
        owned = self.notes_of(shard.partition).owned
        missing = sorted(group_id for group_id in owned if self._sentinels.get(group_id) is None)
        return ask_about_all(missing, self.own, OPENED_AT_ONCE)

    def unloaded(self, partition: int) -> None:
        """Another node leads the partition."""
        self._stop_keeping(partition)
        self._sentinels.forget(self.notes_of(partition).owned)

    def _stop_keeping(self, partition: int) -> None:
        keeping = self._keeping.pop(partition, None)
        if keeping is not None:
            keeping.cancel()
