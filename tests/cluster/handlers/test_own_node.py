"""What a node answers for itself, in place of a broker."""

from _wire.headers import decode_response_header, encode_request
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse
from coordinator.cluster.handlers.own_node import OwnNodeHandlers, own_configs
from coordinator.server.dispatch import DispatchTable

LISTED_ID = 1_000_001
BROKER, TOPIC = 4, 2
VERSION = 4


def asked(*resources: tuple[int, str]) -> bytes | None:
    named = [DescribeConfigsResource(resource_type=each, resource_name=name) for each, name in resources]
    frame = encode_request(7, "client", DescribeConfigsRequest(resources=named), VERSION)
    return own_configs(frame[4:], LISTED_ID)


def test_a_node_has_no_configs_of_a_broker():
    answered = asked((BROKER, str(LISTED_ID)))
    assert answered is not None
    correlation_id, body_start = decode_response_header(answered[4:], DescribeConfigsRequest.API_KEY, VERSION)
    (result,) = DescribeConfigsResponse.decode(answered[4:], VERSION, body_start).results
    assert (correlation_id, result.error_code, result.resource_name, result.configs) == (7, 0, str(LISTED_ID), [])


def test_configs_of_brokers_and_topics_are_the_clusters():
    assert asked((BROKER, "1")) is None
    assert asked((TOPIC, str(LISTED_ID))) is None
    assert asked((BROKER, str(LISTED_ID)), (TOPIC, "orders")) is None


def test_what_all_brokers_are_asked_for_is_not_forwarded():
    table = DispatchTable()
    OwnNodeHandlers().add_to(table)
    names = {route.api.name for route in table.routes.values()}
    assert names == {"ListTransactions", "DescribeLogDirs"}
