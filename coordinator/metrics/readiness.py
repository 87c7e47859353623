"""Whether a node serves all groups that it leads."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from coordinator.runtime.shard import Shard, ShardState

FAILED_NAMED_MAX: Final = 100


class Readiness(msgspec.Struct, frozen=True):
    """The partitions of the groups' log that this node leads, by state. `failed` names the first of them."""

    active: int
    loading: int
    failed_count: int
    failed: tuple[int, ...]
    problem: str = ""
    """What is wrong beside the partitions."""

    @property
    def is_ready(self) -> bool:
        return not self.loading and not self.failed_count and not self.problem

    def as_json(self) -> dict[str, Any]:
        return {
            "ready": self.is_ready,
            "reason": self._reason(),
            "partitions": {"active": self.active, "loading": self.loading, "failed": self.failed_count},
            "failed_partitions": list(self.failed),
        }

    def _reason(self) -> str:
        led = self.active + self.loading + self.failed_count
        if self.is_ready:
            return f"all {led} partitions of groups that this node leads are active"
        parts = [self.problem] if self.problem else []
        if self.loading:
            parts.append(f"loading {self.loading} of {led}")
        if self.failed_count:
            parts.append(f"failed {self.failed_count} of {led}: they are loaded again within 10 s; the log says why")
        return ", ".join(parts)


def readiness(shards: Iterable[Shard[Any]], problem: str = "") -> Readiness:
    states: Counter[ShardState] = Counter()
    failed: list[int] = []
    for shard in shards:
        states[shard.state] += 1
        if shard.state is ShardState.FAILED and len(failed) < FAILED_NAMED_MAX:
            failed.append(shard.partition)
    by_state = states[ShardState.ACTIVE], states[ShardState.LOADING], states[ShardState.FAILED]
    return Readiness(*by_state, tuple(failed), problem)
