"""Decides by ACLs who may do what (`StandardAuthorizer`), and keeps the decisions until an ACL changes."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from coordinator.security.acls.index import AclIndex, allowing
from coordinator.security.acls.model import (
    WILDCARD,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
    question_of,
)
from coordinator.security.principal import Principal

DECISIONS_MAX: Final = 100_000
"""Decisions that are kept, some 150 bytes each. One more, and all are made again: clients choose the names."""
ANY_NAME: Final = "hardcode"
"""The name that Kafka asks about first for `authorizeByResourceType`.

A principal that may use it may use any, whatever DENY other names have.
"""

NO_DECISIONS: Final[Mapping[tuple[int, str | None], bool]] = {}


class Rule(msgspec.Struct, frozen=True):
    """Why an operation is allowed or denied, as the log of Kafka's authorizer tells it."""

    is_allowed: bool
    name: str
    acl: Acl | None = None

    def __str__(self) -> str:
        return self.name if self.acl is None else f"MatchingAcl(acl={self.acl})"


SUPER_USER: Final = Rule(True, "SuperUser")
DEFAULT_DENY: Final = Rule(False, "DefaultDeny")
DEFAULT_ALLOW: Final = Rule(True, "DefaultAllow")


class StandardAuthorizer:
    """The rules of `org.apache.kafka.metadata.authorizer.StandardAuthorizer` over a set of ACLs.

    Belongs to the event loop. `changed` is told after each change of the set: decisions that others keep are void.
    """

    def __init__(
        self,
        super_users: Iterable[str],
        *,
        allows_without_acl: bool,
        decisions_max: int = DECISIONS_MAX,
    ) -> None:
        """`allows_without_acl`: a resource that has no ACL at all may be used by everybody."""
        self._super_users = frozenset(super_users)
        self._without_acl = DEFAULT_ALLOW if allows_without_acl else DEFAULT_DENY
        self._decisions_max = decisions_max
        self._index = AclIndex()
        self._decisions: dict[tuple[Principal, str], dict[tuple[int, str | None], bool]] = {}
        """Principal and host → number of the question, name → decision. Without a name it is about any resource."""
        self._decisions_count = 0
        self._change_listeners: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._index)

    def on_change(self, changed: Callable[[], None]) -> None:
        """Call this after each change of the ACLs."""
        self._change_listeners.append(changed)

    def add(self, acl: Acl) -> None:
        self._index.add(acl)
        self._changed()

    def remove(self, acl: Acl) -> None:
        self._index.remove(acl)
        self._changed()

    def _changed(self) -> None:
        if self._decisions:
            self._forget()
        for changed in self._change_listeners:
            changed()

    def authorize(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        """Whether the operation on this resource is allowed. `client_host` is a slash and an address."""
        question = question_of(operation, resource_type), name
        decision = self.decisions(principal, client_host).get(question)
        if decision is None:
            decision = self.rule(principal, client_host, operation, resource_type, name).is_allowed
            self._keep(principal, client_host, question, decision)
        return decision

    def decisions(self, principal: Principal, client_host: str) -> Mapping[tuple[int, str | None], bool]:
        """What was decided about a client since the last change of ACLs: (`question_of`, name) → decision."""
        return self._decisions.get((principal, client_host), NO_DECISIONS)

    def authorize_by_resource_type(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether the operation is allowed on any resource of this type (`Authorizer.authorizeByResourceType`)."""
        question = question_of(operation, resource_type), None
        decision = self.decisions(principal, client_host).get(question)
        if decision is None:
            decision = self.rule(
                principal, client_host, operation, resource_type, ANY_NAME
            ).is_allowed or self._allows_any(principal, client_host, operation, resource_type)
            self._keep(principal, client_host, question, decision)
        return decision

    def _keep(self, principal: Principal, client_host: str, question: tuple[int, str | None], decision: bool) -> None:
        if self._decisions_count >= self._decisions_max:
            self._forget()
        self._decisions_count += 1
        self._decisions.setdefault((principal, client_host), {})[question] = decision

    def _forget(self) -> None:
        self._decisions, self._decisions_count = {}, 0

    def rule(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> Rule:
        """The rule that decides; it is found again each time."""
        whom, host = str(principal), client_host[1:]
        if whom in self._super_users:
            return SUPER_USER
        hosts = host, WILDCARD
        found = self._index.find(resource_type, name, whom)
        for entry in found:
            acl = entry.acl(hosts, (operation.value, AclOperation.ALL.value), PermissionType.DENY.value)
            if acl is not None:
                return Rule(False, "", acl)
        allowed_by = allowing(operation)
        for entry in found:
            acl = entry.acl(hosts, allowed_by, PermissionType.ALLOW.value)
            if acl is not None:
                return Rule(True, "", acl)
        if self._without_acl is DEFAULT_ALLOW and not self._index.has_any(resource_type, name):
            return DEFAULT_ALLOW
        return DEFAULT_DENY

    def _allows_any(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether some ALLOW is not covered by a DENY: here no operation implies another."""
        about = partial(self._index.about, resource_type, str(principal), client_host[1:], operation)
        denied = {(acl.resource_name, acl.pattern_type) for acl in about(PermissionType.DENY)}
        if (WILDCARD, PatternType.LITERAL) in denied:
            return False
        prefix_lengths = sorted({len(name) for name, kind in denied if kind == PatternType.PREFIXED})
        return any(not _is_covered(acl, denied, prefix_lengths) for acl in about(PermissionType.ALLOW))


def _is_covered(acl: Acl, denied: set[tuple[str, int]], prefix_lengths: list[int]) -> bool:
    """Whether a DENY of the same name or of a prefix of it leaves nothing of an ALLOW.

    An ALLOW of all resources is not covered by a prefix.
    """
    name = acl.resource_name
    if acl.pattern_type == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if (name, PatternType.LITERAL) in denied:
            return True
    return any((name[:length], PatternType.PREFIXED) in denied for length in prefix_lengths if length <= len(name))
