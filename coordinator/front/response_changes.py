"""What is to be done with a response before it is encoded, beside the downgrade of its route."""

from collections.abc import Callable
from time import perf_counter as seconds
from typing import Any, Final

from coordinator.front.long_messages import TooLong
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps

AT_ONCE_SECONDS: Final = 0.000_5
"""How long the steps of a request, and of its response, are taken at once; what needs more waits for its turns."""


class ResponseChanges:
    """What is to be done with a response before it is encoded: stands in for the downgrade of its route.

    Long changes raise TooLong, and are then done by `finish`, as messages that are encoded in steps.
    """

    def __init__(
        self,
        changes: list[Callable[[Any], Steps[None]]],
        add_to: Callable[[Any], None] | None,
        call: RequestContext,
    ) -> None:
        self._changes = changes
        self._add_to = add_to
        self._call = call
        self._downgrade = call.route.downgrade
        self._rest: Steps[None] | None = None

    def __call__(self, response: Any, api_version: int) -> None:
        """Change the response.

        Raises:
            TooLong: it has so many elements that `finish` has to.
        """
        steps = self._steps(response, api_version)
        until = seconds() + AT_ONCE_SECONDS
        try:
            while True:
                next(steps)
                if seconds() >= until:
                    break
        except StopIteration:
            return
        self._rest = steps
        raise TooLong

    def finish(self) -> Steps[None]:
        """The rest of the changes, if there is any."""
        rest, self._rest = self._rest, None
        if rest is not None:
            yield from rest

    def _steps(self, response: Any, api_version: int) -> Steps[None]:
        for change in self._changes:
            yield from change(response)
        if self._add_to is not None:
            self._add_to(response)
        if self._downgrade is not None:
            self._downgrade(response, api_version)
