"""What a log on the cluster needs of the brokers. `broker_access.py` asks real ones, the simulation models them."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from _wire.errors import ErrorCode


class ProducerIdentity(msgspec.Struct, frozen=True):
    """The producer id and epoch that a node writes a partition with (KIP-98)."""

    producer_id: int
    producer_epoch: int


class Refused(msgspec.Struct, frozen=True):
    """Refused in a way that no retry mends, or it cannot be known whether it was done. `problem` is one line."""

    error: ErrorCode
    problem: str

    @property
    def is_fenced(self) -> bool:
        """Whether another node writes the partition now."""
        return self.error in FENCED


FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


class Appended(msgspec.Struct, frozen=True):
    """A batch is stored on all replicas in sync. -1: an earlier try has stored it, its offset is unknown."""

    base_offset: int


class Fetched(msgspec.Struct, frozen=True):
    """Record batches from the one on that has the offset asked for, and the bounds of the log then."""

    data: bytes
    log_start_offset: int
    high_watermark: int


IdentityGiven: TypeAlias = Callable[[ProducerIdentity | Refused], None]
AppendAnswered: TypeAlias = Callable[[Appended | Refused], None]
FetchAnswered: TypeAlias = Callable[[Fetched | Refused], None]
StartAnswered: TypeAlias = Callable[[int | Refused], None]


class LogAccess(Protocol):
    """Each call is answered once, unless the partition is `abandoned`. What fails for a while is tried again."""

    def init_producer_id(self, transactional_id: str, answered: IdentityGiven) -> None:
        """The producer id of a transactional id, with an epoch that is higher than all before."""

    def append(self, topic: str, partition: int, batch: bytes, answered: AppendAnswered) -> None:
        """Append one record batch, acks=all. A partition has one append at a time."""

    def fetch(self, topic: str, partition: int, offset: int, bytes_max: int, answered: FetchAnswered) -> None:
        """Read from an offset on, at least one batch if there is any."""

    def log_start_offset(self, topic: str, partition: int, answered: StartAnswered) -> None:
        """The first offset that the partition has."""

    def abandon(self, topic: str, partition: int) -> None:
        """Nobody waits for an answer about the partition any more; what was sent may still be done."""
