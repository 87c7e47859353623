"""The faults as methods, for blocking and for async code: each makes the fields of coordinator/faults/specs.py."""

from typing import Any, Generic, TypeVar

Added = TypeVar("Added")
"""What injecting a fault returns: a handle, or an awaitable of one."""
AddedBarrier = TypeVar("AddedBarrier")


class FaultMethods(Generic[Added, AddedBarrier]):
    """Injects faults. `where` narrows the requests down: `group`, `member`, `leader`, `nth`, `times`, `seconds`,
    `probability` and `seed`, as `RequestSpec` describes them.

    Each raises FaultError with one line if the fault cannot be injected.
    """

    def add(self, fields: dict[str, Any]) -> Added:
        """Inject a fault by its fields (coordinator/faults/specs.py); `do` names its kind."""
        raise NotImplementedError

    def add_barrier(self, fields: dict[str, Any]) -> AddedBarrier:
        """As `add`, of a barrier."""
        raise NotImplementedError

    def answer(self, api: str, error: str, **where: Any) -> Added:
        """Answer requests with an error by Kafka's name, such as `answer("Heartbeat", "ILLEGAL_GENERATION")`."""
        return self.add({"do": "answer", "api": api, "error": error, **where})

    def delay(self, api: str, ms: int, **where: Any) -> Added:
        """Send answers `ms` later, by the server's clock."""
        return self.add({"do": "delay", "api": api, "ms": ms, **where})

    def drop(self, api: str, **where: Any) -> Added:
        """Never send answers; the client waits for its own timeout."""
        return self.add({"do": "drop", "api": api, **where})

    def close(self, api: str, when: str = "before", **where: Any) -> Added:
        """Close the connection `before` the coordinator sees a request, or `after`, instead of the answer."""
        return self.add({"do": "close", "api": api, "when": when, **where})

    def throttle(self, api: str, ms: int, **where: Any) -> Added:
        """Ask the client to wait `ms` (throttle_time_ms)."""
        return self.add({"do": "throttle", "api": api, "ms": ms, **where})

    def hold(self, api: str, **where: Any) -> AddedBarrier:
        """Hold requests at a barrier until it is released."""
        return self.add_barrier({"do": "hold", "api": api, **where})

    def fill(self, group: str, size: int | None = None) -> Added:
        """Let the group have no more members than now, or than `size`: GROUP_MAX_SIZE_REACHED for others."""
        return self.add({"do": "fill", "group": group, "size": size})

    def expire(self, group: str, member: str) -> Added:
        """End the session of a member now; `member` is its id, client id or instance id."""
        return self.add({"do": "expire", "group": group, "member": member})

    def rebalance(self, group: str, reason: str = "") -> Added:
        """Make the group rebalance now."""
        return self.add({"do": "rebalance", "group": group, "reason": reason})

    def fence(self, group: str, instance: str) -> Added:
        """Take over the place of a static member, which is fenced."""
        return self.add({"do": "fence", "group": group, "instance": instance})

    def unavailable(self, group: str, error: str = "NOT_COORDINATOR", seconds: float | None = None) -> Added:
        """Stop leading the group's partition of `__consumer_offsets`, until the fault is removed or for `seconds`."""
        return self.add({"do": "unavailable", "group": group, "error": error, "seconds": seconds})
