"""Which ACLs apply to an operation on a resource, found by a few look-ups however many ACLs there are."""

from collections import Counter
from collections.abc import Iterator

from coordinator.security.acls.model import (
    IMPLIED_BY,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)

Pattern = tuple[int, str, int]
"""Type of the resource, name, type of the pattern: the first fields of an Acl."""


class AclIndex:
    """A set of ACLs. To add or remove one takes the same time in a small and a large set.

    Counterpart in Kafka: `StandardAuthorizerData`, whose sorted set of ACLs answers the same questions.
    """

    def __init__(self) -> None:
        self._acls: set[Acl] = set()
        self._patterns: Counter[Pattern] = Counter()
        """How many ACLs each pattern has."""
        self._prefix_lengths: dict[int, Counter[int]] = {}
        """Type of resource → how many prefixed patterns there are of each length."""
        self._by_principal: dict[tuple[int, str], set[Acl]] = {}
        """Type of resource and principal → ACLs."""

    def __len__(self) -> int:
        return len(self._acls)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._acls

    def add(self, acl: Acl) -> None:
        if acl in self._acls:
            return
        self._acls.add(acl)
        pattern = acl[:3]
        self._patterns[pattern] += 1
        if acl.pattern_type == PatternType.PREFIXED and self._patterns[pattern] == 1:
            self._prefix_lengths.setdefault(acl.resource_type, Counter())[len(acl.resource_name)] += 1
        self._by_principal.setdefault((acl.resource_type, acl.principal), set()).add(acl)

    def remove(self, acl: Acl) -> None:
        if acl not in self._acls:
            return
        self._acls.remove(acl)
        pattern = acl[:3]
        self._patterns[pattern] -= 1
        if not self._patterns[pattern]:
            del self._patterns[pattern]
            if acl.pattern_type == PatternType.PREFIXED:
                _count_down(self._prefix_lengths[acl.resource_type], len(acl.resource_name))
        key = acl.resource_type, acl.principal
        self._by_principal[key].remove(acl)
        if not self._by_principal[key]:
            del self._by_principal[key]

    def patterns_of(self, resource_type: ResourceType, name: str) -> Iterator[Pattern]:
        """The patterns that match a resource and have an ACL."""
        for literal in (name, WILDCARD) if name != WILDCARD else (name,):
            pattern = (resource_type.value, literal, PatternType.LITERAL.value)
            if pattern in self._patterns:
                yield pattern
        for length in self._prefix_lengths.get(resource_type, ()):
            pattern = (resource_type.value, name[:length], PatternType.PREFIXED.value)
            if length <= len(name) and pattern in self._patterns:
                yield pattern

    def find(
        self,
        pattern: Pattern,
        principal: str,
        host: str,
        operations: tuple[AclOperation, ...],
        permission_type: PermissionType,
    ) -> Acl | None:
        """An ACL of the pattern about this principal, this host and one of the operations, or all operations."""
        for whom in (principal, WILDCARD_PRINCIPAL):
            for where in (host, WILDCARD):
                for operation in (*operations, AclOperation.ALL):
                    acl = Acl(*pattern, whom, where, operation.value, permission_type.value)
                    if acl in self._acls:
                        return acl
        return None

    def about(self, resource_type: ResourceType, principal: str) -> Iterator[Acl]:
        """All ACLs about resources of a type that are for this principal or for any."""
        for whom in {principal, WILDCARD_PRINCIPAL}:
            yield from self._by_principal.get((resource_type.value, whom), ())


def _count_down(lengths: Counter[int], length: int) -> None:
    lengths[length] -= 1
    if not lengths[length]:
        del lengths[length]


def allowing(operation: AclOperation) -> tuple[AclOperation, ...]:
    """The operations whose ALLOW allows this one."""
    return (operation, *IMPLIED_BY.get(operation, ()))
