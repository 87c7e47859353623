"""ACLs as clients, a metadata log of Kafka and the settings bring them: all are taken or refused, as in the model.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_acls

The first byte of an input says what the rest is: a request about ACLs, a record of Kafka's metadata log, `super.users`.
"""

from collections.abc import Callable, Iterator

from _wire.errors import MalformedMessage
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from coordinator.config.authorizer_keys import parse_super_users
from coordinator.config.key import ConfigError
from coordinator.kafka_folder.records import KafkaAcl, KafkaMetadataError, decode_kafka_record, encode_kafka_record
from coordinator.security.acls.authorizer import StandardAuthorizer
from coordinator.security.acls.filters import (
    AclFilter,
    InvalidAcl,
    check_filter,
    check_new,
    has_unknown,
    is_for_filters_only,
)
from coordinator.security.acls.model import Acl, AclOperation, ResourceType
from coordinator.security.principal import Principal
from tests.fuzz.harness import fuzz
from tests.model import acls as model

VERSION = 3
KINDS = 4
ASKED = (("User", "alice"), ("User", "*"))
OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.CREATE)


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    kind, body = (data[0] % KINDS, data[1:]) if data else (0, b"")
    saw((created, filtered, imported, super_users)[kind](body))


def created(body: bytes) -> str:
    try:
        request = CreateAclsRequest.decode(body, VERSION, 0)
    except MalformedMessage as malformed:
        return f"{malformed.field} {malformed.why}"
    taken: list[Acl] = []
    outcomes: set[str] = set()
    for creation in request.creations:
        acl = Acl(
            creation.resource_type,
            creation.resource_name,
            creation.resource_pattern_type,
            creation.principal,
            creation.host,
            creation.operation,
            creation.permission_type,
        )
        if has_unknown(acl) or is_for_filters_only(acl):
            outcomes.add("closed or failed")
            continue
        try:
            check_new(acl)
        except InvalidAcl as invalid:
            outcomes.add(str(invalid)[:20])
        else:
            taken.append(acl)
    compare(taken)
    return f"{min(len(taken), 8)} taken, {sorted(outcomes)}"


def compare(acls: list[Acl]) -> None:
    """Each ACL decides as in the model, about its own name and a longer one."""
    authorizer = StandardAuthorizer((), allows_without_acl=True)
    for acl in acls:
        assert str(acl)
        authorizer.add(acl)
    assert len(authorizer) == len(set(acls))
    for acl in acls[:8]:
        for name in (acl.resource_name, acl.resource_name + "x"):
            for kind, user in (*ASKED, (acl.principal.partition(":")[0], acl.principal.partition(":")[2])):
                for operation in OPERATIONS:
                    about = (f"{kind}:{user}", acl.host, operation.value, acl.resource_type)
                    decided = authorizer.authorize(
                        Principal(kind, user), f"/{acl.host}", operation, ResourceType(acl.resource_type), name
                    )
                    assert decided is model.is_allowed(acls, (), True, *about, name), (acl, name, operation)
    for acl in acls:
        authorizer.remove(acl)
    assert len(authorizer) == 0


def filtered(body: bytes) -> str:
    try:
        request = DeleteAclsRequest.decode(body, VERSION, 0)
    except MalformedMessage as malformed:
        return f"{malformed.field} {malformed.why}"
    outcomes: set[str] = set()
    for filter_ in request.filters:
        wanted = AclFilter(
            filter_.resource_type_filter,
            filter_.resource_name_filter,
            filter_.pattern_type_filter,
            filter_.principal_filter,
            filter_.host_filter,
            filter_.operation,
            filter_.permission_type,
        )
        try:
            check_filter(wanted)
        except InvalidAcl as invalid:
            outcomes.add(str(invalid))
        outcomes.add(str(wanted.matches(Acl(2, "t", 3, "User:alice", "*", 3, 3))))
    return str(sorted(outcomes))


def imported(body: bytes) -> str:
    try:
        record = decode_kafka_record(body)
    except KafkaMetadataError as damaged:
        return str(damaged)[:30]
    if isinstance(record, KafkaAcl):
        assert decode_kafka_record(encode_kafka_record(record, 1)) == record
    return type(record).__name__


def super_users(body: bytes) -> str:
    try:
        return f"{min(len(parse_super_users(body.decode(errors='replace'))), 4)} super users"
    except ConfigError:
        return "no principal"


def corpus() -> Iterator[bytes]:
    creations = [
        AclCreation(
            resource_type=2,
            resource_name=name,
            resource_pattern_type=pattern,
            principal=principal,
            host="*",
            operation=operation,
            permission_type=permission,
        )
        for name, pattern, principal, operation, permission in (
            ("t", 3, "User:alice", 3, 3),
            ("*", 3, "User:*", 2, 2),
            ("te", 4, "User:alice", 11, 3),
        )
    ]
    yield b"\0" + CreateAclsRequest(creations=creations).encode(VERSION)
    wanted = DeleteAclsFilter(resource_type_filter=1, pattern_type_filter=2, operation=1, permission_type=1)
    yield b"\1" + DeleteAclsRequest(filters=[wanted]).encode(VERSION)
    yield b"\2" + encode_kafka_record(KafkaAcl(bytes(16), 2, "t", 3, "User:alice", "*", 3, 3), 1)
    yield b"\3User:alice;User:CN=admin,O=org"


if __name__ == "__main__":
    fuzz("acls", one_input, corpus())
