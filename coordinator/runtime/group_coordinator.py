"""All groups this node coordinates: finds the shard, and drains the queues once per loop turn."""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from coordinator.config import GROUP_AUDIT_OFFSETS_INTERVAL_MS, OFFSETS_RETENTION_CHECK_INTERVAL_MS, Config
from coordinator.core.decision import NOTHING, Decision
from coordinator.core.group import Group
from coordinator.core.members import expire_session
from coordinator.core.offset_expiry import expire
from coordinator.core.partitioning import partition_for
from coordinator.core.rebalance import is_too_large, rebalance_oversized_group
from coordinator.core.stored import TransactionMarker
from coordinator.runtime.asks import Ask, AuditAsk, GroupAsk, GroupDecision, MarkerAsk, ShardAsk, ShardDecision
from coordinator.runtime.audit_checkpoints import AuditCheckpoints
from coordinator.runtime.audit_schedule import AuditSchedule
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.sessions import SessionTable
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_MOST, Shard, ShardState
from coordinator.runtime.timer_keys import (
    AuditCheckpointFileKey,
    AuditSnapshotKey,
    CommitReportKey,
    GroupTimerKey,
    LoadRetryKey,
    OffsetsCheckKey,
    SessionKey,
)
from coordinator.timers.wheel import TimerWheel

GROUPS_CHECKED_AT_ONCE: Final = 1_000
"""Groups whose offsets are looked at before other work has its turn."""


class Groups:
    """The group coordinator of one node. Knows no loop: it is told the time, and says by `request_iteration` that work is queued."""

    def __init__(
        self,
        shards: Iterable[Shard],
        wheel: TimerWheel,
        timers: GroupTimers,
        sessions: SessionTable,
        config: Config,
        checkpoints: AuditCheckpoints,
        request_iteration: Callable[[], None],
    ) -> None:
        self.shards = tuple(shards)
        self.sessions = sessions
        self._wheel = wheel
        self._timers = timers
        self._config = config
        self._request_iteration = request_iteration
        self._dirty: dict[int, Shard] = {}
        self._loading: deque[Shard] = deque()
        self._checks: dict[int, int] = {}
        """Partition → number on the wheel of its next look at the age of offsets."""
        interval_ms = config[GROUP_AUDIT_OFFSETS_INTERVAL_MS]
        self.audit = AuditSchedule(wheel, interval_ms, checkpoints, self._submit_first)

    def load(self, partitions: Iterable[int]) -> None:
        """Lead these partitions from now on. They are read in slices, at each `drain`, one after the other."""
        for partition in partitions:
            self.shards[partition].start_loading()
            self._loading.append(self.shards[partition])
        self._request_iteration()

    def unload(self, partition: int) -> None:
        """Another node leads the partition now."""
        shard = self.shards[partition]
        if shard in self._loading:
            self._loading.remove(shard)
        shard.unload()

    def shard_of(self, group_id: str) -> Shard:
        return self.shards[partition_for(group_id, len(self.shards))]

    def ask(self, group_id: str, decide: GroupDecision, request_id: int | None = None) -> None:
        """Queue something for a group; the answer goes to `request_id`."""
        self._submit(self.shard_of(group_id), GroupAsk(request_id, group_id, decide))

    def ask_shard(self, partition: int, decide: ShardDecision, request_id: int) -> None:
        """Queue something for all groups of a partition."""
        self._submit(self.shards[partition], ShardAsk(request_id, decide))

    def end_transaction(self, partition: int, marker: TransactionMarker, request_id: int | None = None) -> None:
        """Queue the end of a transaction for all groups of a partition; NONE goes to `request_id`."""
        self._submit(self.shards[partition], MarkerAsk(request_id, marker))

    def drain(self, now_ms: int) -> None:
        """Handle what is queued. Call it once per loop turn when `request_iteration` was called.

        Answers leave when all shards have appended: in a row they wake a client once, where one by one, with the work
        of a shard between, each of them would. That is a tenth of what a commit costs.
        """
        if self._loading:
            self._go_on_loading(now_ms)
        while self._dirty:
            shards, self._dirty = self._dirty, {}
            for shard in shards.values():
                if not shard.drain(now_ms):
                    self._retry_later(shard, now_ms)
                elif shard.audit.is_checkpoint_due or self.audit.is_writing:
                    self.audit.drained(shard, now_ms)
            for shard in shards.values():
                shard.release()

    def due(self, key: object, now_ms: int) -> None:
        """A timer of ours is due: it becomes something asked of its shard."""
        match key:
            case SessionKey(group_id, member_id):
                if self.sessions.is_due(group_id, member_id, now_ms):
                    self.ask(group_id, self._expiry(member_id))
            case GroupTimerKey(group_id):
                self._timers.fired(group_id)
                self.ask(group_id, _ask_what_follows)
            case LoadRetryKey(partition):
                if self.shards[partition].state is ShardState.FAILED:
                    self.load([partition])
            case OffsetsCheckKey(partition, group_ids):
                self._check_offsets(self.shards[partition], group_ids, now_ms)
            case CommitReportKey() | AuditSnapshotKey() | AuditCheckpointFileKey():
                self.audit.due(key, now_ms)

    def stop(self, now_ms: int) -> None:
        """Before a clean stop: write what makes the next start cheap. Nothing may be asked any more."""
        self.audit.finish(self.shards, now_ms, self.drain)

    def _expiry(self, member_id: str) -> GroupDecision:
        def decide(group: Group, now_ms: int) -> Decision:
            # A request of the same batch, or one read meanwhile, may have renewed the session.
            over = self.sessions.is_over(group.group_id, member_id, now_ms)
            return expire_session(group, member_id, now_ms) if over else NOTHING

        return decide

    def _submit(self, shard: Shard, ask: Ask) -> None:
        shard.submit(ask)
        if not self._dirty:
            self._request_iteration()
        self._dirty[shard.partition] = shard

    def _submit_first(self, shard: Shard, ask: AuditAsk) -> None:
        shard.submit_first(ask)
        if not self._dirty:
            self._request_iteration()
        self._dirty[shard.partition] = shard

    def _go_on_loading(self, now_ms: int) -> None:
        while self._loading:
            shard = self._loading[0]
            if not shard.load_next_slice(now_ms):
                self._request_iteration()
                return
            self._loading.popleft()
            if shard.state is ShardState.FAILED:
                self._retry_later(shard, now_ms)
            else:
                self._loaded(shard, now_ms)

    def _loaded(self, shard: Shard, now_ms: int) -> None:
        for group in shard.groups.values():
            if is_too_large(group, self._config):
                self.ask(group.group_id, partial(rebalance_oversized_group, config=self._config))
        self._check_later(shard, (), now_ms + self._check_interval_ms)
        self.audit.loaded(shard, now_ms)

    def _retry_later(self, shard: Shard, now_ms: int) -> None:
        self._wheel.start(LoadRetryKey(shard.partition), now_ms + shard.retry_ms)
        shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)

    @property
    def _check_interval_ms(self) -> int:
        return self._config[OFFSETS_RETENTION_CHECK_INTERVAL_MS]

    def _check_offsets(self, shard: Shard, group_ids: tuple[str, ...], now_ms: int) -> None:
        """Look at some groups; the rest follows a moment later, so that many groups stall nobody."""
        self._checks.pop(shard.partition, None)
        if not shard.loaded:
            return
        group_ids = group_ids or tuple(shard.groups)
        for group_id in group_ids[:GROUPS_CHECKED_AT_ONCE]:
            self.ask(group_id, partial(expire, config=self._config))
        left = group_ids[GROUPS_CHECKED_AT_ONCE:]
        self._check_later(shard, left, now_ms + (1 if left else self._check_interval_ms))

    def _check_later(self, shard: Shard, group_ids: tuple[str, ...], at_ms: int) -> None:
        if shard.partition in self._checks:
            self._wheel.cancel(self._checks[shard.partition])
        self._checks[shard.partition] = self._wheel.start(OffsetsCheckKey(shard.partition, group_ids), at_ms)


def _ask_what_follows(group: Group, now_ms: int) -> Decision:
    return NOTHING
