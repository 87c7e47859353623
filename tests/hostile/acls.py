"""Attacks on the authorizer: very many ACLs, filters that match all or nothing, and lists of which all is denied."""

from collections.abc import Iterator
from typing import Any, Final

from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_acls import DescribeAclsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.wire import ClientError
from coordinator.config.authorizer_keys import ACLS_MAX, STANDARD_AUTHORIZER
from tests.hostile.attack import Attack
from tests.hostile.target import CountingClient, Target
from tests.security.acls.filter_fields import filter_fields

SETTINGS: Final = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
}
"""Everybody may create ACLs, as long as nobody creates one about the cluster."""
MILLION: Final = 1_000_000
AT_ONCE: Final = 10_000
MATCH, LITERAL, PREFIXED = 2, 3, 4
TOPIC, WRITE, DESCRIBE, DENY, ALLOW = 2, 4, 8, 2, 3


def _acl(name: str, **fields: Any) -> AclCreation:
    given: dict[str, Any] = {
        "resource_type": TOPIC,
        "resource_pattern_type": LITERAL,
        "principal": "User:ANONYMOUS",
        "host": "*",
        "operation": WRITE,
        "permission_type": DENY,
    }
    return AclCreation(resource_name=name, **(given | fields))


def _create(client: CountingClient, count: int, **fields: Any) -> None:
    for first in range(0, count, AT_ONCE):
        names = range(first, min(first + AT_ONCE, count))
        client.request(CreateAclsRequest(creations=[_acl(f"name-{number}", **fields) for number in names]), 3)


def _most(scale: float) -> int:
    return int(ACLS_MAX.default * scale)


def _a_million(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        yield
        _create(client, int(MILLION * scale))


def _describe_all(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _create(client, _most(scale))
        yield
        for _ in range(3):
            client.request(DescribeAclsRequest(**filter_fields()), 3)


def _filters_that_match_nothing(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _create(client, _most(scale), resource_pattern_type=PREFIXED)
        yield
        long = "name" * 8_000
        filters = [DeleteAclsFilter(**filter_fields(resource_name_filter=long, pattern_type_filter=MATCH))] * 100
        client.request(DeleteAclsRequest(filters=filters), 3)


def _filters_that_match_all(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        _create(client, int(AT_ONCE * scale))
        yield
        try:
            client.request(DeleteAclsRequest(filters=[DeleteAclsFilter(**filter_fields())] * 1_000), 3)
        except ClientError:
            return  # the response would be larger than any may be


def _prefixes_of_each_length(target: Target, scale: float) -> Iterator[None]:
    lengths = [_acl("a" * length, resource_pattern_type=PREFIXED, resource_type=3) for length in range(1, 1_024)]
    with target.client() as client:
        client.request(CreateAclsRequest(creations=lengths), 3)
        yield
        keys = [f"{'a' * 1_100}{number}" for number in range(int(5_000 * scale))]
        client.request(FindCoordinatorRequest(coordinator_keys=keys), 4)


def _any_topic(target: Target, scale: float) -> Iterator[None]:
    """Each change of ACLs makes the server look again whether some topic may be written."""
    with target.client() as client:
        _create(client, _most(scale) // 2)
        _create(client, _most(scale) // 2, permission_type=ALLOW)
        client.request(CreateAclsRequest(creations=[_acl("hardcode")]), 3)
        yield
        for number in range(20):
            client.request(CreateAclsRequest(creations=[_acl(f"other-{number}")]), 3)
            client.request(InitProducerIdRequest(transactional_id=None), 4)


def _denied_topics(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        client.request(CreateAclsRequest(creations=[_acl("*", operation=DESCRIBE)]), 3)
        yield
        topics = [MetadataRequestTopic(name=f"topic-{number}") for number in range(int(200_000 * scale))]
        client.request(MetadataRequest(topics=topics), 9)


ATTACKS: Final = tuple(
    Attack(name, steps, settings=SETTINGS)
    for name, steps in (
        ("CreateAcls: a million ACLs", _a_million),
        ("DescribeAcls: as many ACLs as there may be", _describe_all),
        ("DeleteAcls: filters with long names that match nothing", _filters_that_match_nothing),
        ("DeleteAcls: filters that match all", _filters_that_match_all),
        ("ACLs for prefixes of each length, and names that have all of them", _prefixes_of_each_length),
        ("InitProducerId: each ALLOW of many has its DENY", _any_topic),
        ("Metadata: 200,000 names, all denied", _denied_topics),
    )
)
