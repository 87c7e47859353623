"""What share groups delivered (KIP-932), as the server counted it in its answers to ShareFetch."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from types import GeneratorType
from typing import Any, Final, NamedTuple

from _wire.messages.share_fetch import ShareFetchResponse
from coordinator.explain.words import counted, listed, plain
from coordinator.front.dispatch import Handler, Route
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps

NAMED_MAX: Final = 5
"""Records that a complaint names."""


class Delivery(NamedTuple):
    """Records of a partition that were delivered together, for the `times`-th time."""

    topic_id: bytes
    partition: int
    first_offset: int
    last_offset: int
    times: int
    client_id: str


class Delivered(NamedTuple):
    """A record, how often it was delivered by the server's count, and the client ids that got it, in order."""

    topic: str
    partition: int
    offset: int
    times: int
    clients: tuple[str, ...]


class Deliveries:
    """Sees the answers to ShareFetch pass, of one node after the other when it is restarted."""

    def __init__(self) -> None:
        self._by_group: defaultdict[str, list[Delivery]] = defaultdict(list)

    def step(self, route: Route, proceed: Handler) -> Handler:
        """The step of the request chain that sees the answers pass."""
        return partial(self._noting, proceed) if route.api.name == "ShareFetch" else proceed

    def of(self, group_id: str, topic_name: Callable[[bytes], str | None]) -> list[Delivered]:
        """The records that a group delivered, by topic, partition and offset.

        `topic_name(topic_id)` is the name of a topic; None if there is none any more.
        """
        found: dict[tuple[str, int, int], tuple[int, list[str]]] = {}
        for delivery in self._by_group.get(group_id, ()):
            topic = topic_name(delivery.topic_id) or f"topic {delivery.topic_id.hex()}"
            for offset in range(delivery.first_offset, delivery.last_offset + 1):
                count, clients = found.get((topic, delivery.partition, offset), (0, []))
                found[topic, delivery.partition, offset] = max(count, delivery.times), [*clients, delivery.client_id]
        return [Delivered(*where, count, tuple(clients)) for where, (count, clients) in sorted(found.items())]

    def _noting(self, handler: Handler, request: Any, context: RequestContext) -> Any:
        response = handler(request, context)
        if type(response) is GeneratorType:
            return self._noted_in_steps(response, request, context)
        return response  # one that fails as a whole delivers nothing

    def _noted_in_steps(self, steps: Steps[Any], request: Any, context: RequestContext) -> Steps[Any]:
        response = yield from steps
        if isinstance(response, ShareFetchResponse):  # a fault may have dealt with it
            self._by_group[request.group_id].extend(_acquired(response, context.client_id or ""))
        return response


def _acquired(response: ShareFetchResponse, client_id: str) -> Iterator[Delivery]:
    for topic in response.responses:
        for partition in topic.partitions:
            for run in partition.acquired_records:
                where = topic.topic_id, partition.partition_index, run.first_offset, run.last_offset
                yield Delivery(*where, run.delivery_count, client_id)


def check_deliveries(
    group_id: str, found: list[Delivered], at_most: int | None, at_least: int | None, records: int | None
) -> None:
    """Raises AssertionError: it is otherwise; the message names records, how often and to whom they were delivered."""
    group = f"group {plain(group_id)}"
    if records is not None and len(found) != records:
        raise AssertionError(f"{group} delivered {counted(len(found), 'record')}, and {records} was expected")
    for wrong, expected in (
        ([record for record in found if at_most is not None and record.times > at_most], f"at most {at_most}"),
        ([record for record in found if at_least is not None and record.times < at_least], f"at least {at_least}"),
    ):
        if wrong:
            lines = [f"  {_in_words(record)}" for record in wrong[:NAMED_MAX]]
            more = [f"  and {len(wrong) - NAMED_MAX} more"] if len(wrong) > NAMED_MAX else []
            what = f"{group} delivered {counted(len(wrong), 'record')} otherwise than {expected} times:"
            raise AssertionError("\n".join([what, *lines, *more]))
    if at_least and not found:
        raise AssertionError(f"{group} delivered no record, and at least {at_least} times was expected")


def _in_words(record: Delivered) -> str:
    where = f"offset {record.offset} of {plain(record.topic)}-{record.partition}"
    return f"{where}: {counted(record.times, 'time')}, to {listed([plain(client) for client in record.clients])}"
