"""The configs of a broker as it describes them (DescribeConfigs)."""

from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from coordinator.client.bootstrap import Server
from coordinator.client.wire import ClientError, WireConnection

CLIENT_ID: Final = "coordinator-config"
BROKER: Final = 4


class Described(msgspec.Struct, frozen=True):
    """The value of a config, None if it has none or is secret."""

    value: str | None
    is_sensitive: bool


def broker_configs(server: Server) -> dict[str, Described]:
    """The configs of the broker that is asked, by name. Of a cluster it is the broker with the lowest id.

    Raises:
        ClientError: the server cannot be reached, or does not allow it.
    """
    with WireConnection(server, CLIENT_ID) as connection:
        cluster = connection.send_latest(DescribeClusterRequest())
        _check(cluster.error_code, cluster.error_message)
        node_id = min(broker.broker_id for broker in cluster.brokers)
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name=str(node_id), configuration_keys=None)
        (result,) = connection.send_latest(DescribeConfigsRequest(resources=[resource])).results
    _check(result.error_code, result.error_message)
    return {config.name: Described(config.value, config.is_sensitive) for config in result.configs}


def _check(error_code: int, message: str | None) -> None:
    if error_code:
        error = ErrorCode(error_code)
        raise ClientError(f"cannot read the configs of the broker: {error.name}: {message or error.description}")
