"""What a shard depends on beside its state machine: a log, and a way to send responses."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from _wire.errors import ErrorCode
from coordinator.core.stored import Stored
from coordinator.runtime.slices import Steps


class StoreError(OSError):
    """The log behind a shard could not be written or read; nothing of the batch counts as stored."""

    def __init__(self, message: str, *, is_logged: bool = False) -> None:
        """`is_logged`: the log directory failed, which has a line of its own."""
        super().__init__(message)
        self.is_logged = is_logged


class ReplayedLog(Protocol):
    """A log that is replayed: one of this node, or a partition of a cluster."""

    @property
    def name(self) -> str: ...

    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...

    def read_steps(self, offset: int, bytes_max: int) -> Steps[bytes]:
        """Whole batches, from the one on that has `offset`; empty at the end of the log.

        Raises:
            OSError, CorruptBatch: the log cannot be read.
        """


LogT_contra = TypeVar("LogT_contra", contravariant=True)


class Replay(Protocol[LogT_contra]):
    """Takes in what a log says of the state of keys."""

    def read(self, log: LogT_contra, from_offset: int, load_bytes: int) -> Steps[None]:
        """Apply the batches and markers from an offset on, in order, in steps that read `load_bytes` at a time.

        Raises:
            OSError, MalformedMessage: the log cannot be read.
        """


class Store(Protocol):
    """The logs behind a shard: that of the state, and that of the projection if there is one."""

    @property
    def batch_bytes_max(self) -> int:
        """The largest record batch that the log of the state takes (`message.max.bytes`)."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record of the state will get."""

    def append(
        self,
        projected: Sequence[Any],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append the records of the projection first, then the state's; call `completed` once, now or later.

        `completed` gets None when the batch is stored, else why it is not. Until then nothing else is appended.
        """

    def prepare(self) -> Steps[None]:
        """Before a load: become the only one that appends to these logs. Raises StoreError."""

    def replay(self, replay: Replay[Any], from_offset: int = 0) -> Steps[None]:
        """Apply what is stored from an offset on, in steps, with what is appended meanwhile.

        `from_offset` is 0, or an `end_offset` while nothing was in flight. Raises StoreError.
        """


class LocalStore(Store, Protocol):
    """A store whose logs are files of this node.

    Records of the projection that come with nothing to store may be held back until the next append, or `write_held`.
    """

    @property
    def has_files(self) -> bool:
        """Whether all of the logs have files already, so that no append makes any."""

    def makes_files(self, projected: Sequence[Any], stored: Sequence[Stored]) -> bool:
        """Whether the append of this batch is the first one to one of the logs, which has no files before."""

    @property
    def held(self) -> Sequence[Any]:
        """Records of the projection that are held back."""

    def write_held(self, now_ms: int) -> None:
        """Append what is held back. Raises StoreError."""

    @property
    def appends_at_once(self) -> bool:
        """Whether `append_at_once` may be called: no record is held back, and an append is complete when written."""

    def append_at_once(self, stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        """As `append` of records of the state alone, which has completed with the returned problem."""

    def drop_held(self) -> None:
        """Forget what is held back: what it is about is forgotten, too."""


class Responses(Protocol):
    """Delivers replies. An id for which no client waits any more is ignored."""

    def reply(self, request_id: int, response: object) -> None: ...

    def fail(self, request_id: int, error: ErrorCode) -> None:
        """Answer a request with an error when only its id is known, as for a JoinGroup that waits in a group."""


class AppendMeter(Protocol):
    """Measures appends. `begin` and `end` are called in pairs."""

    def begin(self) -> None: ...

    def end(self, projected: int, failed: bool) -> None:
        """The append of a batch with so many records of its projection is over."""
