"""When the records of a log have to be flushed while it is open (flush.messages, flush.ms)."""

from typing import Generic, Protocol, TypeVar

from coordinator.config.key import INT64_MAX
from coordinator.log.config import LogConfig


class FlushedLater(Protocol):
    """The log of a trigger."""

    config: LogConfig
    log_end_offset: int
    recovery_point: int


L_contra = TypeVar("L_contra", contravariant=True)
L = TypeVar("L", bound=FlushedLater)


class FlushListener(Protocol[L_contra]):
    """Decides when a log is flushed while it is open."""

    def rolled(self, log: L_contra) -> None:
        """A new segment was begun; those before it will not change any more."""

    def flush_requested(self, log: L_contra, after_ms: int) -> None:
        """Records that were appended have to be flushed in so many ms."""


class FlushTrigger(Generic[L]):
    """Tells the listener of a log that a flush is wanted."""

    def __init__(self) -> None:
        self.listener: FlushListener[L] | None = None
        self.durable_only = False
        """Whether records are served when they have been flushed: then the listener flushes whatever is appended."""
        self.notify_at = INT64_MAX
        """The log end offset from which on the listener is told."""

    def schedule(self, log: L) -> None:
        """Decide when the listener is told next; call this when the settings or the recovery point changed."""
        if self.listener is None or self.durable_only:
            self.notify_at = INT64_MAX
            return
        messages = 1 if log.config.flush_ms < INT64_MAX else log.config.flush_messages
        self.notify_at = min(log.recovery_point + messages, INT64_MAX)

    def notify(self, log: L) -> None:
        """`flush.messages` or more records are not flushed, or the first one since the last flush (`flush.ms`)."""
        assert self.listener is not None
        messages = log.config.flush_messages
        if log.log_end_offset - log.recovery_point >= messages:
            self.notify_at = INT64_MAX
            self.listener.flush_requested(log, 0)
        else:
            self.notify_at = min(log.recovery_point + messages, INT64_MAX)
            self.listener.flush_requested(log, log.config.flush_ms)
