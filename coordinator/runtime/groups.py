"""All groups this node coordinates: finds the shard, and drains the queues once per loop turn."""

from collections.abc import Callable, Iterable

from coordinator.core.decision import NOTHING, Decision
from coordinator.core.group import Group
from coordinator.core.members import expire_session
from coordinator.core.partitioning import partition_for
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.leases import LeaseTable
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_MOST, GroupAsk, GroupDecision, Shard, ShardAsk, ShardDecision
from coordinator.runtime.timer_keys import GroupTimerKey, LoadRetryKey, SessionKey
from coordinator.timers.wheel import TimerWheel


class Groups:
    """The group coordinator of one node. Knows no loop: it is told the time, and says by `wake` that work is queued."""

    def __init__(
        self,
        shards: Iterable[Shard],
        wheel: TimerWheel,
        timers: GroupTimers,
        leases: LeaseTable,
        wake: Callable[[], None],
    ) -> None:
        self.shards = tuple(shards)
        self.leases = leases
        self._wheel = wheel
        self._timers = timers
        self._wake = wake
        self._dirty: dict[int, Shard] = {}

    def load(self, now_ms: int) -> None:
        for shard in self.shards:
            self._load(shard, now_ms)

    def shard_of(self, group_id: str) -> Shard:
        return self.shards[partition_for(group_id, len(self.shards))]

    def ask(self, group_id: str, decide: GroupDecision, request_id: int | None = None) -> None:
        """Queue something for a group; the answer goes to `request_id`."""
        self._submit(self.shard_of(group_id), GroupAsk(request_id, group_id, decide))

    def ask_shard(self, partition: int, decide: ShardDecision, request_id: int) -> None:
        """Queue something for all groups of a partition."""
        self._submit(self.shards[partition], ShardAsk(request_id, decide))

    def drain(self, now_ms: int) -> None:
        """Handle what is queued. Call it once per loop turn when `wake` was called."""
        while self._dirty:
            shards, self._dirty = self._dirty, {}
            for shard in shards.values():
                was_loaded = shard.loaded
                shard.drain(now_ms)
                if was_loaded and not shard.loaded:
                    self._retry_later(shard, now_ms)

    def due(self, key: object, now_ms: int) -> None:
        """A timer of ours is due: it becomes something asked of its shard."""
        match key:
            case SessionKey(group_id, member_id):
                if self.leases.is_due(group_id, member_id, now_ms):
                    self.ask(group_id, self._expiry(member_id))
            case GroupTimerKey(group_id, _):
                self._timers.fired(key)
                self.ask(group_id, _ask_what_follows)
            case LoadRetryKey(partition):
                self._load(self.shards[partition], now_ms)

    def _expiry(self, member_id: str) -> GroupDecision:
        def decide(group: Group, now_ms: int) -> Decision:
            # A request of the same batch, or one read meanwhile, may have renewed the session.
            over = self.leases.is_over(group.group_id, member_id, now_ms)
            return expire_session(group, member_id, now_ms) if over else NOTHING

        return decide

    def _submit(self, shard: Shard, ask: GroupAsk | ShardAsk) -> None:
        shard.submit(ask)
        if not self._dirty:
            self._wake()
        self._dirty[shard.partition] = shard

    def _load(self, shard: Shard, now_ms: int) -> None:
        if not shard.load(now_ms):
            self._retry_later(shard, now_ms)

    def _retry_later(self, shard: Shard, now_ms: int) -> None:
        self._wheel.start(LoadRetryKey(shard.partition), now_ms + shard.retry_ms)
        shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)


def _ask_what_follows(group: Group, now_ms: int) -> Decision:
    return NOTHING
