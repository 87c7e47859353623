"""The table of what is served."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.produce import ProduceRequest
from _wire.structs import Struct
from coordinator.front.dispatch import Route
from tests.front.routes import routes, served
from tests.wire_client import ConnectionClosed, WireClient, produce_request

GOLDEN: Final = Path(__file__).parent.parent / "golden" / "wire"
ERRORS: Final = (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


ROUTES: Final = routes()
CASES: Final = [(route, version) for route in ROUTES for version in range(route.min_version, route.max_version + 1)]


def named(value: object) -> str | None:
    return value.api.name if isinstance(value, Route) else None


def test_api_versions_lists_the_dispatch_table(server):
    with WireClient(server.bootstrap) as client:
        for version in range(5):
            request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
            listed = client.request(request, version).api_keys
            assert [(key.api_key, key.min_version, key.max_version) for key in listed] == [
                (each.key, each.offered_from, each.max_version)
                for each in sorted(served().served.values(), key=lambda each: each.key)
            ]


def test_produce_is_offered_in_versions_that_close_the_connection(server):
    """librdkafka 2.6 derives from the lowest version that is offered whether the server knows compression."""
    with WireClient(server.bootstrap) as client:
        offered = {api_key.api_key: api_key.min_version for api_key in client.request(ApiVersionsRequest(), 0).api_keys}
        assert offered[ProduceRequest.API_KEY] == 0
    for version in range(3):
        with WireClient(server.bootstrap) as client, pytest.raises(ConnectionClosed):
            client.request(produce_request("any", b""), version)


@pytest.mark.parametrize("name", ["", "-test", "te st", "tést"])
def test_api_versions_rejects_invalid_names_of_client_software(server, name):
    with WireClient(server.bootstrap) as client:
        request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        assert client.request(request, 3).error_code == ErrorCode.INVALID_REQUEST


def test_only_versions_that_the_wire_layer_has_are_served():
    for route in ROUTES:
        assert APIS[route.api.key] is route.api
        assert route.api.min_version <= route.min_version <= route.max_version <= route.api.max_version


NEEDED: dict[str, dict[str, int]] = {
    "Produce": {"acks": 1},
    "DescribeAcls": {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
}
"""What an empty request needs to be answered: its connection is closed without it, as on Kafka."""


@pytest.mark.parametrize(("route", "version"), CASES, ids=named)
def test_trailing_bytes_are_ignored_in_every_request(server, route, version):
    """Kafka ignores them for every API."""
    request = route.api.request(**NEEDED.get(route.api.name, {}))
    with WireClient(server.bootstrap) as client:
        frame, sent = client.frame(request, version)
        body = frame[4:] + b"\x01\x00\x00"
        client.socket.sendall(len(body).to_bytes(4, "big") + body)
        assert isinstance(client.receive(sent), route.api.response)
        assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE, "the next frame is read correctly"


@pytest.mark.parametrize(("route", "version"), CASES, ids=named)
def test_a_truncated_request_is_rejected_in_every_version(route, version):
    body = route.api.request().encode(version)
    for size in range(len(body)):
        with pytest.raises(MalformedMessage, match="truncated"):
            route.decode(body[:size], version, 0)


@cache
def recorded(api_name: str) -> dict[int, list[Any]]:
    """Requests of an API that were recorded from Apache Kafka, by version."""
    requests: dict[int, list[Any]] = {}
    request_class = next(api.request for api in APIS.values() if api.name == api_name)
    for path in GOLDEN.glob(f"{api_name}*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for vector in map(json.loads, lines):
                if (
                    vector["api"] == api_name
                    and vector["kind"] == "request"
                    and vector["version"] <= request_class.MAX_VERSION
                ):
                    request = request_class.decode(bytes.fromhex(vector["body_hex"]), vector["version"])
                    requests.setdefault(vector["version"], []).append(request)
    return requests


@pytest.mark.parametrize(("route", "version"), CASES, ids=named)
def test_every_request_can_be_answered_with_an_error_in_its_version(route, version):
    requests = [route.api.request(), *recorded(route.api.name).get(version, [])]
    for request in requests:
        for error in ERRORS:
            response = route.error_response(request, error, version)
            if isinstance(request, ProduceRequest) and request.acks == 0:
                assert response is None, "its client expects none"
                continue
            if route.downgrade is not None:
                route.downgrade(response, version)
            read = route.api.response.decode(response.encode(version), version)
            codes = set(error_codes(read))
            assert codes - {ErrorCode.NONE} <= {error}, "no other error"
            assert error in codes or not names_anything(request), (request, read)


def error_codes(struct: Struct) -> Iterator[int]:
    """Every error code in a message, at any depth."""
    for name in struct.FIELDS:
        value = getattr(struct, name)
        if name == "error_code":
            yield value
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Struct):
                    yield from error_codes(each)


def names_anything(struct: Struct) -> bool:
    """Whether the request is about anything that could fail; one about everything (null) has no place for an error."""
    values = [getattr(struct, name) for name in struct.FIELDS]
    lists = [value for value in values if isinstance(value, list)]
    if getattr(struct, "topics", ()) is None:
        return False
    return not lists or any(not isinstance(each, Struct) or names_anything(each) for value in lists for each in value)


@pytest.mark.parametrize(
    ("api_name", "error"),
    [
        ("Heartbeat", ErrorCode.NONE),
        ("SyncGroup", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        ("JoinGroup", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        ("LeaveGroup", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_error_responses_to_members_during_a_load(api_name, error):
    """A loaded member gets a fresh session, so a heartbeat loses nothing."""
    api = APIS.named(api_name)
    route = served().routes[api.key]
    assert route.error_response(api.request(), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0).error_code == error
    assert route.error_response(api.request(), ErrorCode.NOT_COORDINATOR, 0).error_code == ErrorCode.NOT_COORDINATOR


def test_offset_delete_answers_each_partition_or_the_group(server):
    topics = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
        for name, index in (("deleted-from", 0), ("deleted-from", 7), ("no-such-topic", 0))
    ]
    with WireClient(server.bootstrap) as client:
        client.create_topic("deleted-from")
        unknown = client.request(OffsetDeleteRequest(group_id="never-heard-of", topics=topics), 0)
        assert (ErrorCode(unknown.error_code), unknown.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
        commit = OffsetCommitRequest(
            group_id="deletes", topics=[OffsetCommitRequestTopic(name="deleted-from", partitions=[partition])]
        )
        client.request(commit, 8)
        response = client.request(OffsetDeleteRequest(group_id="deletes", topics=topics), 0)
    said = {
        (topic.name, each.partition_index): ErrorCode(each.error_code)
        for topic in response.topics
        for each in topic.partitions
    }
    assert ErrorCode(response.error_code) is ErrorCode.NONE
    assert said == {
        ("deleted-from", 0): ErrorCode.NONE,
        ("deleted-from", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("no-such-topic", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len(response.topics) == len({topic.name for topic in response.topics}), "each topic stands once"


def test_share_partitions_have_a_coordinator_from_version_6_on(server):
    partition = f"billing:{'A' * 22}:0"
    with WireClient(server.bootstrap) as client:

        def error(key: str, version: int) -> ErrorCode:
            (found,) = client.request(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), version).coordinators
            return ErrorCode(found.error_code)

        assert error(partition, 6) == error(f"a:{partition}", 6) == error(f"{partition}1", 6) == ErrorCode.NONE
        assert error("billing", 6) == error(partition, 5) == error(f"{partition}x", 6) == ErrorCode.INVALID_REQUEST
