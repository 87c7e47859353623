"""What a node answers for itself, in place of a broker."""

from typing import Any

from _wire.apis import APIS
from _wire.headers import decode_response_header, encode_request
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest
from _wire.messages.list_transactions import ListTransactionsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.structs import Message
from coordinator.cluster.handlers.own_node import own_response

LISTED_ID = 1_000_001
BROKER, TOPIC = 4, 2
VERSION = 4


def asked(*resources: tuple[int, str]) -> bytes | None:
    named = [DescribeConfigsResource(resource_type=each, resource_name=name) for each, name in resources]
    frame = encode_request(7, "client", DescribeConfigsRequest(resources=named), VERSION)
    return own_response(DescribeConfigsRequest.API_KEY, frame[4:], LISTED_ID)


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


def answer(request: Message, version: int) -> Any:
    answered = own_response(request.API_KEY, encode_request(7, "client", request, version)[4:], LISTED_ID)
    assert answered is not None
    _, body_start = decode_response_header(answered[4:], request.API_KEY, version)
    return APIS[request.API_KEY].response.decode(answered[4:], version, body_start)


def test_a_node_has_no_transactions():
    response = answer(ListTransactionsRequest(), 1)
    assert (response.error_code, response.transaction_states) == (0, [])


def test_a_node_has_one_log_directory_without_partitions():
    response = answer(DescribeLogDirsRequest(topics=None), 4)
    assert [(result.error_code, result.topics) for result in response.results] == [(0, [])]


def test_everything_else_is_forwarded():
    frame = encode_request(7, "client", MetadataRequest(), 9)[4:]
    assert own_response(MetadataRequest.API_KEY, frame, LISTED_ID) is None
