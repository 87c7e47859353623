"""What admin clients ask every broker for, and so the nodes, which Metadata lists like brokers.

A node has no logs, no transactions and no configs of a broker. Forwarded, such a request would be answered by a broker
that the client asks, too: each transaction would be listed once for each node. The answers are empty, so whoever asks
may have them.
"""

from typing import Final

from _wire.headers import decode_request_header, encode_response
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse, DescribeLogDirsResult
from _wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from _wire.structs import Message

DESCRIBE_CONFIGS: Final = DescribeConfigsRequest.API_KEY
NO_LOG_DIR: Final = "none"
"""Java's admin client takes a response without any directory for CLUSTER_AUTHORIZATION_FAILED."""
BROKER_RESOURCES: Final = frozenset({4, 8})
"""The types of resources whose names are ids of brokers: BROKER and BROKER_LOGGER (`ConfigResource.Type`)."""


def own_response(api_key: int, frame: bytes, listed_id: int) -> bytes | None:
    """The response to a request about this node, by the id that clients are told; None: a broker has to answer.

    Raises:
        MalformedMessage: it cannot be decoded.
    """
    response: Message | None
    if api_key == DESCRIBE_CONFIGS:
        response = _own_configs(frame, str(listed_id))
    elif api_key == ListTransactionsRequest.API_KEY:
        response = ListTransactionsResponse()
    elif api_key == DescribeLogDirsRequest.API_KEY:
        response = DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir=NO_LOG_DIR)])
    else:
        return None
    if response is None:
        return None
    header, _ = decode_request_header(frame)
    return encode_response(header.correlation_id, response, header.api_version)


def _own_configs(frame: bytes, name: str) -> DescribeConfigsResponse | None:
    """Clients send DescribeConfigs to the broker that it is about, and only what is about that one."""
    header, body_start = decode_request_header(frame)
    request = DescribeConfigsRequest.decode(frame, header.api_version, body_start, False)
    if not all(
        resource.resource_type in BROKER_RESOURCES and resource.resource_name == name for resource in request.resources
    ):
        return None
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(resource_type=resource.resource_type, resource_name=name)
            for resource in request.resources
        ]
    )
