"""Makes the responses of APIs that report an error for each partition, by one description of each API."""

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.structs import Struct

TOPICS_AT_ONCE: Final = 500
"""So many topics are answered in one step: about as many as a client sends."""


class ErrorForEachPartition(msgspec.Struct, frozen=True):
    """Makes the response that has the same error for every partition of a request.

    `partition(index, error)` makes the entry of a partition. `topics` and `partitions` are the fields that hold the
    entries in the response; those that begin with `asked` are the same for the request. An entry of a topic identifies
    it by the same fields as the request does: name, id or both. A response that also has an error code of its own gets
    the same error there.
    """

    response: type[Struct]
    topic: type[Struct]
    partition: Callable[[int, ErrorCode], Any]
    topics: str = "topics"
    partitions: str = "partitions"
    asked_topics: str = "topics"
    asked_partitions: str = "partitions"
    asked_index: str = "partition_index"

    def __call__(self, request: Any, error: ErrorCode, api_version: int) -> Any:
        return self._response(self._topics(getattr(request, self.asked_topics), error), error)

    def in_steps(self, request: Any, error: ErrorCode, api_version: int) -> Generator[None, None, Any]:
        """The same, of a request that may have very many topics."""
        asked, answered = getattr(request, self.asked_topics), []
        for first in range(0, len(asked), TOPICS_AT_ONCE):
            if first:
                yield
            answered += self._topics(asked[first : first + TOPICS_AT_ONCE], error)
        return self._response(answered, error)

    def _response(self, topics: list[Any], error: ErrorCode) -> Any:
        fields: dict[str, Any] = {self.topics: topics}
        if "error_code" in self.response.FIELDS:
            fields["error_code"] = error
        return self.response(**fields)

    def _topics(self, topics: Iterable[Any], error: ErrorCode) -> list[Any]:
        identity = [name for name in self.topic.FIELDS if name != self.partitions]
        answered = []
        for topic in topics:
            indexes = [getattr(partition, self.asked_index) for partition in getattr(topic, self.asked_partitions)]
            fields: dict[str, Any] = {name: getattr(topic, name) for name in identity}
            fields[self.partitions] = [self.partition(index, error) for index in indexes]
            answered.append(self.topic(**fields))
        return answered
