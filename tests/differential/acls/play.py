"""Plays cases on the two servers, and compares the answers."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_acls import DescribeAclsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from coordinator.security.acls.model import Acl, AclOperation, PatternType, PermissionType, ResourceType
from tests.differential.acls.cases import ADMIN, ALICE, Case, with_others
from tests.differential.acls.group_bases import OTHER_TOPIC
from tests.differential.names import DEFINITIONS
from tests.differential.requests.play import Peer, built
from tests.differential.requests.state import PARTITIONS, Refs, State, start
from tests.waiting import wait_for
from tests.wire_client import WireClient

ANY: Final = 1
IN_FORCE_SECONDS: Final = 10
GENERATED: Final = re.compile(r"(t|g|x|new|absent|marker|warm)-[0-9]+(-other)?")
"""Names that cases have."""


class PlainClient(WireClient):
    """A connection that logs in by PLAIN; the password of each user is its name."""

    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(bootstrap, client_id)
        assert self.request(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        token = f"\0{client_id}\0{client_id}".encode()
        assert self.request(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == 0


class Side:
    """One of the servers, as the admin and as alice."""

    def __init__(self, name: str, bootstrap: str) -> None:
        self.state: Final[State] = start(name, bootstrap, PlainClient(bootstrap, ADMIN))
        self.state.create_topics([OTHER_TOPIC], PARTITIONS)
        self._peer = Peer(self.state)
        self.last_acls: list[Acl] = []

    def play(self, case: Case, number: int) -> dict[str, Any]:
        """Create the ACLs of a case, and let alice send its request; the answer.

        `number` is part of the names of what the case uses.
        """
        refs = with_others(case.base.prepare(self.state, number), self.state, number)
        self.last_acls = case.acls(refs, number)
        self._set_acls(self.last_acls, number)
        if self._peer.connection is None:
            self._peer.connection = PlainClient(self.state.bootstrap, ALICE)
            self._peer.connection.socket.settimeout(5)
        definition = DEFINITIONS[case.base.api]
        message = built(definition, definition.structs[f"{definition.name}Request"], case.body, case.version, refs)
        answer = self._peer.receive(self._peer.send(message, case.version), definition)
        rendered: dict[str, Any] = own(answer, refs)
        return rendered

    def _set_acls(self, acls: Sequence[Acl], number: int) -> None:
        """Replace all ACLs, and wait until the new ones are in force: after them there is a marker.

        Kafka applies those of one request in any order.
        """
        everything = DeleteAclsFilter(resource_type_filter=ANY, pattern_type_filter=ANY, operation=ANY)
        everything.permission_type = ANY
        everything.resource_name_filter = everything.principal_filter = everything.host_filter = None
        client = self.state.client
        deleted = client.request(DeleteAclsRequest(filters=[everything]), 3).filter_results
        assert not deleted[0].error_code, deleted
        marker = f"marker-{number}"
        literal, describe, allow = PatternType.LITERAL, AclOperation.DESCRIBE, PermissionType.ALLOW
        marked = Acl(ResourceType.GROUP.value, marker, literal.value, f"User:{ALICE}", "*", describe.value, allow.value)
        for several in (acls, [marked]):
            created = client.request(CreateAclsRequest(creations=list(map(_creation, several))), 3)
            assert not any(result.error_code for result in created.results), created
        find = DescribeAclsRequest(
            resource_type_filter=ANY,
            resource_name_filter=marker,
            pattern_type_filter=ANY,
            operation=ANY,
            permission_type=ANY,
        )
        find.principal_filter = find.host_filter = None
        wait_for(
            lambda: bool(client.request(find, 3).resources),
            IN_FORCE_SECONDS,
            f"{self.state.name} to have the ACLs",
            every_ms=2,
        )

    def close(self) -> None:
        self._peer.close()


def _creation(acl: Acl) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def own(value: Any, refs: Refs) -> Any:
    """An answer without what other cases have made: names of this case are replaced, elements about others left out."""
    names = {text: f"<{key}>" for key, text in refs.items() if isinstance(text, str) and GENERATED.fullmatch(text)}
    return _own(value, names)


def _own(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _own(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_own(each, names) for each in value if not _is_of_others(each, names)]
    if isinstance(value, str):
        for text, key in names.items():
            value = key if value == text else value.replace(f"id of {text}", f"id of {key}")
        return value
    return value


def _is_of_others(element: Any, names: dict[str, str]) -> bool:
    values: Iterator[Any] = iter(element.values() if isinstance(element, dict) else (element,))
    return any(isinstance(value, str) and GENERATED.fullmatch(value) and value not in names for value in values)
