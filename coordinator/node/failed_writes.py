"""What becomes of a request whose handler could not write."""

from collections.abc import Callable
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.directories.storage_errors import StorageErrors
from coordinator.front.request_context import RequestContext
from coordinator.log.errors import LogAppendError, LogFlushError


class FailedWrites:
    """Handlers let these exceptions pass."""

    def __init__(self, on_flush_failure: Callable[[LogFlushError], None]) -> None:
        """`on_flush_failure` is called when an fsync failed: the process has to stop."""
        self._on_flush_failure: Final = on_flush_failure
        self._storage_errors: Final = StorageErrors("cannot store a change of the metadata; nothing has changed", "api")

    def answered(self, call: RequestContext, problem: Exception) -> bool:
        """Answer the request, or have the process stopped; False: it failed for another reason."""
        if isinstance(problem, LogFlushError):
            self._on_flush_failure(problem)
            return True
        if isinstance(problem, LogAppendError):
            # Of the metadata log: a full disk, for one. Nothing has changed.
            self._storage_errors.report(call.route.api.name, problem)
            call.connection.send_error_response(ErrorCode.KAFKA_STORAGE_ERROR)
            return True
        return False
