"""Large answers about groups are built in turns: what they hold counts before they are made, until they are encoded.

Descriptions, and lists of offsets and groups, may take many megabytes for a request of some bytes. So a request that
asks for much waits for room among what all requests hold together (`Slices`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.headers import encode_response
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.core.groups import admin
from coordinator.core.groups.answer_sizes import GROUP_BYTES, LISTED_BYTES, is_about_all
from coordinator.core.groups.group import Group
from coordinator.core.kinds import operations
from coordinator.core.operation import Operation
from coordinator.core.partitioning import partition_for
from coordinator.front.dispatch import DEFERRED
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.portions import KEYS_AT_MOST, part_of
from coordinator.front.request_context import RequestContext
from coordinator.runtime.pauses import in_steps_beside
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.slices import Steps, awaited, awaited_all

PARTS_AT_ONCE: Final = 500
"""Parts of a request that are measured in one step."""

BUILT_FACTOR: Final = 3
"""An answer about many groups may take so many times `socket.request.max.bytes`: objects are larger than bytes."""
PORTION_BYTES: Final = 1 << 18
"""Groups whose answers take so much together are asked before others have their turn."""

BytesOf = Callable[[Group[Any] | None, Any], int]
"""(group, request for it) → about how many bytes its answer takes."""
Enqueue = Callable[[], object]
"""Asks for the answer, which goes to the request id of the context."""


class Merged(msgspec.Struct, frozen=True):
    """A request about many groups."""

    operation: Operation
    parts: Callable[[], Iterable[tuple[str, Any]]]
    """Group id and request of each group, made again with each call."""
    merge: Callable[[Iterable[Any]], Any]
    bytes_of: BytesOf | None


class LargeAnswers:
    """What the handlers of groups need to know of the sizes."""

    def __init__(self, node: GroupContext) -> None:
        self._node = node

    @property
    def _built_bytes_max(self) -> int:
        return BUILT_FACTOR * self._node.config[SOCKET_REQUEST_MAX_BYTES]

    def bytes_of(self, bytes_of: BytesOf, group_id: str, request: Any) -> int:
        return bytes_of(self._group(group_id), request)

    def sum_bytes(self, many: Merged) -> Steps[int]:
        """Of a request about many groups; not counted further than what closes its connection."""
        bytes_of, most_bytes = many.bytes_of, self._built_bytes_max
        size_by_group: dict[str, int] = {}
        total_bytes = 0
        for position, (group_id, part) in enumerate(many.parts()):
            size_bytes = size_by_group.get(group_id)
            if size_bytes is None:
                size_bytes = GROUP_BYTES if bytes_of is None else bytes_of(self._group(group_id), part)
                if is_about_all(part):
                    size_by_group[group_id] = size_bytes
            total_bytes += size_bytes
            if total_bytes > most_bytes:
                break
            if position % PARTS_AT_ONCE == PARTS_AT_ONCE - 1:
                yield
        return total_bytes

    def in_turn(self, size_bytes: int, context: RequestContext, enqueue: Enqueue) -> Steps[Any]:
        """The steps to the answer about one group, which begin when there is room for it."""
        yield size_bytes
        context.built_bytes = size_bytes
        return (yield from awaited(partial(self._ask, context, enqueue)))

    def merged_in_turn(self, many: Merged, size_bytes: int, context: RequestContext) -> Steps[Any]:
        """The same, of an answer about many groups, of which a portion is asked at a time.

        The connection is closed when the answer is larger than `socket.request.max.bytes`, or much larger while it is
        built.
        """
        if size_bytes > self._built_bytes_max:
            context.connection.reject(
                f"the response to {many.operation.name} would take more memory than {BUILT_FACTOR} times "
                "socket.request.max.bytes"
            )
            return DEFERRED
        yield size_bytes
        context.built_bytes = size_bytes
        most_bytes = self._node.config[SOCKET_REQUEST_MAX_BYTES]
        response, encoded_bytes = many.merge(()), 0
        for portion in self._portions(many):
            asks = [partial(self._ask, context, partial(self._enqueue, many, part, context)) for part in portion]
            merged = many.merge((yield from awaited_all(asks)))
            encode = partial(encode_response, context.correlation_id, merged, context.api_version, None)
            encoded_bytes += len((yield from in_steps_beside(size_bytes, encode)))
            for name in merged.ARRAYS:
                getattr(response, name).extend(getattr(merged, name))
            if encoded_bytes > most_bytes:
                reason = f"the response to {many.operation.name} is larger than socket.request.max.bytes"
                context.connection.release([response, merged])
                context.connection.reject(reason)
                return DEFERRED
        return response

    def _portions(self, many: Merged) -> Iterator[list[tuple[str, Any]]]:
        portion: list[tuple[str, Any]] = []
        portion_bytes = 0
        for group_id, part in many.parts():
            portion.append((group_id, part))
            portion_bytes += GROUP_BYTES if many.bytes_of is None else self.bytes_of(many.bytes_of, group_id, part)
            if portion_bytes > PORTION_BYTES or len(portion) == KEYS_AT_MOST:
                yield portion
                portion, portion_bytes = [], 0
        if portion:
            yield portion

    def _enqueue(self, many: Merged, asked: tuple[str, Any], context: RequestContext) -> None:
        group_id, part = asked
        assert context.request_id is not None
        self._node.coordinator.enqueue(many.operation, group_id, part, part_of(context, context.request_id))

    def list_in_turn(self, request: Any, context: RequestContext) -> Steps[Any]:
        """The groups of one shard after the other, so that others are served between them."""
        shards = self._node.coordinator.shards
        size_bytes = LISTED_BYTES * sum(len(shard.machine.states) for shard in shards)
        yield size_bytes
        context.built_bytes = size_bytes
        responses = []
        for shard in shards:

            def enqueue(partition: int = shard.partition) -> None:
                assert context.request_id is not None
                part = part_of(context, context.request_id)
                self._node.coordinator.enqueue_for_shard(operations.LIST_GROUPS, partition, request, part)

            responses.append((yield from awaited(partial(self._ask, context, enqueue))))
        return admin.merge_listed(responses)

    def _ask(self, context: RequestContext, enqueue: Enqueue, answered: Callable[[Any], None]) -> None:
        def failed(error: ErrorCode) -> Any:
            return context.route.error_response(context.request, error, context.api_version)

        context.request_id = self._node.pending.register(ReplyTo(answered, failed))
        enqueue()

    def _group(self, group_id: str) -> Group[Any] | None:
        shards = self._node.coordinator.shards
        return shards[partition_for(group_id, len(shards))].machine.states.get(group_id)
