"""How decisions assign producer ids: they read which one is next, and an effect of the decision takes it."""

from typing import Final, Protocol

import msgspec


class ProducerIds(Protocol):
    """The producer ids that are reserved for this node."""

    @property
    def next_id(self) -> int | None:
        """The next id that was never used; None: none is reserved now."""

    @property
    def has_failed(self) -> bool:
        """Whether no further ids could be reserved when that was tried last."""

    def allocate(self, now_ms: int) -> int | None:
        """Take the next id. It fails only where `next_id` is None."""

    def request(self, now_ms: int) -> None:
        """Have ids reserved; that takes a moment, or fails (`has_failed`)."""


class _NobodyReserves:
    """For a coordinator without transactions."""

    has_failed = True
    next_id = None

    def allocate(self, now_ms: int) -> int | None:
        return None

    def request(self, now_ms: int) -> None:
        return


NO_PRODUCER_IDS: Final[ProducerIds] = _NobodyReserves()


class ProducerIdAssigned(msgspec.Struct, frozen=True):
    """The decision has assigned this producer id, which was the next one."""

    producer_id: int

    def apply(self, producer_ids: ProducerIds, key: str, now_ms: int) -> None:
        allocated = producer_ids.allocate(now_ms)
        if allocated != self.producer_id:
            raise AssertionError(f"producer id {self.producer_id} was assigned, but {allocated} was next")


class ProducerIdMissing(msgspec.Struct, frozen=True):
    """The decision would have assigned a producer id, but none was reserved."""

    def apply(self, producer_ids: ProducerIds, key: str, now_ms: int) -> None:
        producer_ids.request(now_ms)
