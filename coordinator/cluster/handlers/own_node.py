"""What admin clients ask every broker for, and so the nodes, which Metadata lists like brokers.

A node has no logs, no transactions and no configs of a broker. Forwarded, such a request would be answered by a broker
that the client asks, too: each transaction would be listed once for each node.
"""

from typing import Any, Final

from _wire.headers import decode_request_header, encode_response
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from _wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from coordinator.server.dispatch import DispatchTable
from coordinator.server.request_context import RequestContext

BROKER_RESOURCES: Final = frozenset({4, 8})
"""The types of resources whose names are ids of brokers: BROKER and BROKER_LOGGER (`ConfigResource.Type`)."""


class OwnNodeHandlers:
    """At a node's own port."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("ListTransactions", self._list_transactions, versions=(0, 2))
        table.add("DescribeLogDirs", self._describe_log_dirs, versions=(1, 5))

    def _list_transactions(self, request: ListTransactionsRequest, call: RequestContext) -> Any:
        return ListTransactionsResponse()

    def _describe_log_dirs(self, request: DescribeLogDirsRequest, call: RequestContext) -> Any:
        return DescribeLogDirsResponse()


def own_configs(frame: bytes, listed_id: int) -> bytes | None:
    """The response to a DescribeConfigs about this node, by the id that clients are told; None: it is about others.

    Clients send it to the broker that it is about, and only what is about that one.

    Raises:
        MalformedMessage: it cannot be decoded.
    """
    header, body_start = decode_request_header(frame)
    request = DescribeConfigsRequest.decode(frame, header.api_version, body_start, False)
    name = str(listed_id)
    if not all(each.resource_type in BROKER_RESOURCES and each.resource_name == name for each in request.resources):
        return None
    results = [
        DescribeConfigsResult(resource_type=each.resource_type, resource_name=name) for each in request.resources
    ]
    return encode_response(header.correlation_id, DescribeConfigsResponse(results=results), header.api_version)
