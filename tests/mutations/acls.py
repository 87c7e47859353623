"""Mutants of ACLs: the rules of the authorizer, what each API needs, and what becomes of a part that is denied."""

from typing import Final

from coordinator.front.requirements import GROUP_REQUIREMENTS
from coordinator.node.requirements import REQUIREMENTS
from tests.mutations.mutant import Mutant

WITHOUT_CHECK: Final = tuple(
    Mutant(
        f"{name} needs nothing",
        "GROUP_REQUIREMENTS" if name in GROUP_REQUIREMENTS else "REQUIREMENTS",
        f'"{name}":',
        f'"{name}": () if True else',
    )
    for name, needed in REQUIREMENTS.items()
    if needed
)
"""For each API, its check is left out."""

MUTANTS: Final = (
    *WITHOUT_CHECK,
    # ---- rules
    Mutant(
        "super users need ACLs",
        "StandardAuthorizer.rule",
        "if whom in self._super_users:",
        "if False:",
    ),
    Mutant(
        "what is allowed by one pattern cannot be denied by another",
        "StandardAuthorizer.rule",
        'return Rule(False, "", acl)',
        'return Rule(len(found) > 1, "", acl)',
    ),
    Mutant(
        "an ALLOW of READ does not allow DESCRIBE",
        "StandardAuthorizer.rule",
        "allowed_by = allowing(operation)",
        "allowed_by = (operation.value, AclOperation.ALL.value)",
    ),
    Mutant(
        "a DENY of READ denies DESCRIBE",
        "StandardAuthorizer.rule",
        "(operation.value, AclOperation.ALL.value), PermissionType.DENY.value",
        "allowing(operation), PermissionType.DENY.value",
    ),
    Mutant(
        "a resource with ACLs of others is open to all",
        "StandardAuthorizer.rule",
        "and not self._index.has_any(resource_type, name)",
        "",
    ),
    Mutant(
        "ACLs of any principal are for nobody",
        "AclIndex.find",
        "for whom in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):",
        "for whom in (principal,):",
    ),
    Mutant(
        "ACLs of a host are for all hosts",
        "Found.acl",
        "for host in hosts:",
        "for host in (*hosts, '10.0.0.1', '10.0.0.2'):",
    ),
    Mutant(
        "a name is no prefix of itself",
        "AclIndex._possible_patterns",
        "if length <= len(name):",
        "if length < len(name):",
    ),
    Mutant(
        "the literal wildcard matches nothing",
        "AclIndex._possible_patterns",
        "if name != WILDCARD:",
        "if False:",
    ),
    Mutant(
        "a removed ACL still has its pattern",
        "AclIndex.remove",
        "self._patterns[pattern] -= 1",
        "self._patterns[pattern] -= 0",
    ),
    Mutant(
        "a removed prefix is still looked for",
        "AclIndex._remove_prefix",
        "self._prefixes[key].remove(name)",
        "pass",
    ),
    Mutant(
        "decisions outlive the ACLs",
        "StandardAuthorizer._changed",
        "self._forget()",
        "pass",
    ),
    Mutant(
        "nobody is told of changed ACLs",
        "StandardAuthorizer._changed",
        "changed()",
        "pass",
    ),
    Mutant(
        "decisions are kept without bound",
        "StandardAuthorizer._keep",
        "if self._decisions_count >= self._decisions_max:",
        "if False:",
    ),
    Mutant(
        "any topic may be written where all is denied",
        "StandardAuthorizer._allows_any",
        "if (WILDCARD, PatternType.LITERAL) in denied:",
        "if False:",
    ),
    Mutant(
        "an ALLOW that a prefix denies still allows some resource",
        "_is_covered",
        "return any((name[:length], PatternType.PREFIXED) in denied",
        "return False and any((name[:length], PatternType.PREFIXED) in denied",
    ),
    # ---- requests
    Mutant(
        "a part of a request that is denied is handled",
        "Elements.__call__",
        "setattr(request, self._requested, left)",
        "",
    ),
    Mutant(
        "a part that is denied is not answered",
        "Elements.__call__",
        "getattr(response, self._answered).extend(answers)",
        "pass",
    ),
    Mutant(
        "authorized operations are those that there are",
        "_AuthorizedRoute._prepare_response",
        "if row.operations is not None and row.has_operations(request):",
        "if False:",
    ),
    Mutant(
        "what was found and is denied is in the response",
        "_AuthorizedRoute._prepare_response",
        "elif row.leave_out is not None:",
        "elif False:",
    ),
    Mutant(
        "all topics are described page by page",
        "_AuthorizedRoute._prepare_response",
        "if row.restrict is not None:",
        "if False:",
    ),
    Mutant(
        "responses that come later keep the denied part",
        "_AuthorizedRoute._prepare_response",
        "if changes or part.add_to is not None:",
        "if False:",
    ),
    Mutant(
        "topics that Metadata creates need no CREATE",
        "_AuthorizedRoute._denied_names",
        "if requirement.only_missing and",
        "if requirement.only_missing or",
    ),
    Mutant(
        "an alternative does not replace what is needed",
        "_AuthorizedRoute._denied_names",
        "if requirement.alternatives and access.has_alternative(requirement):",
        "if False:",
    ),
    Mutant(
        "denials are not reported",
        "_AuthorizedRoute._denied_names",
        "self._step.denials.denied(call, requirement.operation, requirement.resource_type, resource_name)",
        "",
    ),
    Mutant(
        "a long change of a response is left out",
        "ResponseChanges.finish",
        "yield from rest",
        "yield",
    ),
    Mutant(
        "an API that does not say what becomes of a denied part is served",
        "AuthorizationStep.__call__",
        "assert suffices(row, route.requirements),",
        "assert route.api.name,",
    ),
    # ---- heartbeats
    Mutant(
        "heartbeats need no authorization",
        "RequestChain.__init__",
        "sessions.asks_authorizer = True",
        "pass",
    ),
    Mutant(
        "what is not known counts as allowed",
        "_AuthorizedRoute._is_allowed_by_cache",
        "continue\n                return False",
        "continue",
    ),
    Mutant(
        "a topic by id is known to be allowed",
        "_AuthorizedRoute._is_allowed_by_cache",
        "name if isinstance(name, str) else self._topic_name(name)",
        "name if isinstance(name, str) else None",
    ),
    Mutant(
        "all heartbeats are left to the authorizer",
        "_AuthorizedRoute._steps",
        "if self._is_heartbeat:",
        "if False:",
    ),
    Mutant(
        "heartbeats of a member that was authorized may be anybody's",
        "SessionTable.heartbeat",
        "or not self.is_authorized(session, connection)",
        "",
    ),
    Mutant(
        "heartbeats of a consumer that was authorized may be anybody's",
        "SessionTable.consumer_heartbeat",
        "or not self.is_authorized(session, connection)",
        "",
    ),
    Mutant(
        "a revoked ACL does not stop heartbeats",
        "SessionTable.revoke_authorizations",
        "self.authorizations += 1",
        "pass",
    ),
    # ---- changes of ACLs
    Mutant(
        "the same ACL is stored again",
        "AclHandlers._create",
        " if acl not in existing",
        "",
    ),
    Mutant(
        "an ACL is deleted twice",
        "AclHandlers._delete",
        " if acl in existing",
        "",
    ),
    Mutant(
        "a crash leaves a part of the ACLs of a request",
        "MetadataStore._append_encoded",
        "[values] if self._fits(values) else batches_of(values)",
        "batches_of(values)",
    ),
    Mutant(
        "there may be any number of ACLs",
        "AclHandlers._create",
        "room = max(self._acls_max - len(existing), 0)",
        "room = len(new)",
    ),
    Mutant(
        "any number of ACLs may be deleted at once",
        "AclHandlers.delete",
        "if len(deleted) > RECORDS_MAX:",
        "if False:",
    ),
    Mutant(
        "deleted ACLs stay in force",
        "make_authorizer",
        "authorizer.remove(acl)",
        "pass",
    ),
    Mutant(
        "ACLs are in force only after a restart",
        "make_authorizer",
        "metadata.add_acl_listener(changed)",
        "",
    ),
    # ---- reports
    Mutant(
        "each denial has a line of its own",
        "DenialLog.denied",
        "if last is not None:",
        "if False:",
    ),
    Mutant(
        "denials are reported without bound",
        "DenialLog._has_room",
        "len(self._last) < DENIALS_MAX",
        "True",
    ),
    Mutant(
        "suppressed denials are not told",
        "DenialLog._end_interval",
        "if last.count:",
        "if False:",
    ),
    # ---- regular expressions
    Mutant(
        "regular expressions match topics that the client may not describe",
        "resolution_steps",
        "if listing.visible is not None:",
        "if False:",
    ),
)
