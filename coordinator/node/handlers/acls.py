"""DescribeAcls, CreateAcls and DeleteAcls (KIP-140, KIP-290)."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from _wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from _wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from coordinator.config.authorizer_keys import ACLS_MAX, AUTHORIZER_CLASS_NAME
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.front.dispatch import NO_RESPONSE, DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.metadata.store import AclChange, ChangeTooLarge, MetadataStore
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.runtime.slices import Steps
from coordinator.security.acls.filters import (
    AclFilter,
    AclTooLong,
    InvalidAcl,
    check_filter,
    check_new,
    has_unknown,
    is_for_filters_only,
)
from coordinator.security.acls.model import Acl

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_AUTHORIZER_TO_ASK: Final = "No Authorizer is configured on the broker"
RECORDS_MAX: Final = 10_000
"""ACLs that one request creates or deletes (`MAX_RECORDS_PER_USER_OP`)."""
TOO_MANY_NEW: Final = "Unable to perform excessively large batch operation."
TOO_LARGE_DELETED: Final = (
    "Cannot remove acls that are larger than a batch of the metadata log in a single delete operation."
)
TOO_MANY_DELETED: Final = f"Cannot remove more than {RECORDS_MAX} acls in a single delete operation."
ACLS_AT_ONCE: Final = 200
"""ACLs that are compared before other requests have their turn."""
ELEMENT_BYTES: Final = 32
"""What an ACL takes of a response beside its texts, at most."""


class AclHandlers:
    """Answers as a broker whose controller has the ACLs. A request is answered when its changes are durable."""

    def __init__(self, *, config: Config, metadata: MetadataStore, now_ms: Callable[[], int]) -> None:
        self._has_authorizer = bool(config[AUTHORIZER_CLASS_NAME])
        self._acls_max = config[ACLS_MAX]
        self._response_bytes_max = config[SOCKET_REQUEST_MAX_BYTES]
        self._metadata = metadata
        self._now_ms = now_ms

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeAcls", self.describe, _describe_error)
        table.add("CreateAcls", self.create, _create_error)
        table.add("DeleteAcls", self.delete, _delete_error)

    # -------------------------------------------------------------------------------------------------------- describe

    def describe(self, request: DescribeAclsRequest, call: RequestContext) -> Steps[Any]:
        requested = _filter_of(request)
        if has_unknown(requested):
            return _closed(call)
        if not self._has_authorizer:
            return _describe_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER_TO_ASK)
        found: dict[tuple[int, str, int], DescribeAclsResource] = {}
        bytes_left = self._response_bytes_max
        for acl in (yield from self._matching(requested, self._metadata.image.acls)):
            resource = found.get(acl[:3])
            if resource is None:
                resource = found[acl[:3]] = DescribeAclsResource(
                    resource_type=acl.resource_type, resource_name=acl.resource_name, pattern_type=acl.pattern_type
                )
                bytes_left -= len(acl.resource_name) + ELEMENT_BYTES
            resource.acls.append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
            )
            bytes_left -= len(acl.principal) + len(acl.host) + ELEMENT_BYTES
            if bytes_left < 0:
                return _too_large(call)
            yield
        return DescribeAclsResponse(error_message="", resources=list(found.values()))

    @staticmethod
    def _matching(requested: AclFilter, acls: Any) -> Steps[list[Acl]]:
        """The ACLs that match; those that are created meanwhile may be missing."""
        matching = []
        for position, acl in enumerate(map(Acl._make, list(acls))):
            if requested.matches(acl):
                matching.append(acl)
            if position % ACLS_AT_ONCE == 0:
                yield
        return matching

    # ---------------------------------------------------------------------------------------------------------- create

    def create(self, request: CreateAclsRequest, call: RequestContext) -> Steps[Any]:
        acls: list[Acl] = []
        has_for_filters = False
        for creation in request.creations:
            acl = _acl_of(creation)
            if has_unknown(acl):
                return _closed(call)
            has_for_filters = has_for_filters or is_for_filters_only(acl)
            acls.append(acl)
            yield
        if not self._has_authorizer:
            return _create_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)
        if has_for_filters:
            # No well-behaved client sends this. Kafka cannot make an AclBinding of it.
            return CreateAclsResponse(results=[_not_created(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * len(acls))
        results, new = yield from self._check(acls)
        try:
            if len(new) > RECORDS_MAX:
                raise ChangeTooLarge(TOO_MANY_NEW)
            refused = self._create(new)
        except ChangeTooLarge:
            return _create_error(request, ErrorCode.POLICY_VIOLATION, call.api_version, TOO_MANY_NEW)
        if refused:
            yield from self._refuse(acls, results, refused)
        response = CreateAclsResponse(results=[result or AclCreationResult(error_message="") for result in results])
        return (yield from answer_when_committed(self._metadata, response))

    def _check(self, acls: list[Acl]) -> Steps[tuple[list[AclCreationResult | None], dict[Acl, AclChange]]]:
        """The results of ACLs that cannot be created, None for the others; and those of them that do not exist yet.

        Of these there may be one more than RECORDS_MAX: then nothing is created, and the others are not looked at.
        """
        results: list[AclCreationResult | None] = []
        new: dict[Acl, AclChange] = {}
        for acl in acls:
            try:
                check_new(acl)
            except InvalidAcl as problem:
                error = ErrorCode.POLICY_VIOLATION if isinstance(problem, AclTooLong) else ErrorCode.INVALID_REQUEST
                results.append(_not_created(error, str(problem)))
            else:
                results.append(None)
                if acl not in new and acl not in self._metadata.latest_image.acls:
                    new[acl] = self._metadata.created_acl(acl)
                    if len(new) > RECORDS_MAX:
                        break
            yield
        return results, new

    def _create(self, new: Mapping[Acl, AclChange]) -> AbstractSet[Acl]:
        """Create those that another request has not created meanwhile, all at once; return those there is no room for.

        Raises:
            ChangeTooLarge: they are too large together.
        """
        existing = self._metadata.latest_image.acls
        added = {acl: change for acl, change in new.items() if acl not in existing}
        room = max(self._acls_max - len(existing), 0)
        self._metadata.change_acls(list(added.values())[:room], self._now_ms())
        return set(list(added)[room:])

    def _refuse(
        self, acls: list[Acl], results: list[AclCreationResult | None], refused: AbstractSet[Acl]
    ) -> Steps[None]:
        message = f"There are {self._acls_max} ACLs already (acls.max)."
        for position, acl in enumerate(acls):
            if results[position] is None and acl in refused:
                results[position] = _not_created(ErrorCode.POLICY_VIOLATION, message)
            yield

    # ---------------------------------------------------------------------------------------------------------- delete

    def delete(self, request: DeleteAclsRequest, call: RequestContext) -> Steps[Any]:
        filters = []
        for filter_ in request.filters:
            filters.append(_filter_of(filter_))
            if has_unknown(filters[-1]):
                return _closed(call)
            yield
        if not self._has_authorizer:
            return _delete_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)
        results: list[DeleteAclsFilterResult] = []
        deleted: dict[Acl, None] = {}
        bytes_left = self._response_bytes_max
        for requested in filters:
            try:
                check_filter(requested)
            except InvalidAcl as problem:
                results.append(DeleteAclsFilterResult(error_code=ErrorCode.INVALID_REQUEST, error_message=str(problem)))
                continue
            matching = yield from self._matching(requested, self._metadata.latest_image.acls)
            deleted.update(dict.fromkeys(matching))
            if len(deleted) > RECORDS_MAX:
                return _delete_error(request, ErrorCode.INVALID_REQUEST, call.api_version, TOO_MANY_DELETED)
            bytes_left -= sum(map(_text_bytes, matching)) + ELEMENT_BYTES
            if bytes_left < 0:
                return _too_large(call)
            results.append(DeleteAclsFilterResult(error_message=None, matching_acls=list(map(_matching_acl, matching))))
        changes: list[AclChange] = []
        for acl in deleted:
            changes.append(self._metadata.deleted_acl(acl))
            yield
        try:
            self._delete(deleted, changes)
        except ChangeTooLarge:
            return _delete_error(request, ErrorCode.INVALID_REQUEST, call.api_version, TOO_LARGE_DELETED)
        return (yield from answer_when_committed(self._metadata, DeleteAclsResponse(filter_results=results)))

    def _delete(self, acls: Iterable[Acl], changes: list[AclChange]) -> None:
        """Delete those that another request has not deleted meanwhile, all at once.

        Raises:
            ChangeTooLarge: they are too large together.
        """
        existing = self._metadata.latest_image.acls
        present = [change for acl, change in zip(acls, changes, strict=True) if acl in existing]
        self._metadata.change_acls(present, self._now_ms())


def _acl_of(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _filter_of(request: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )


def _matching_acl(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _text_bytes(acl: Acl) -> int:
    return len(acl.resource_name) + len(acl.principal) + len(acl.host) + ELEMENT_BYTES


def _closed(call: RequestContext) -> Any:
    call.connection.reject(f"{call.route.api.name} has a type or an operation 0, which no client may send")
    return NO_RESPONSE


def _too_large(call: RequestContext) -> Any:
    call.connection.reject(f"the response to {call.route.api.name} is larger than socket.request.max.bytes")
    return NO_RESPONSE


def _not_created(error: ErrorCode, message: str | None) -> AclCreationResult:
    return AclCreationResult(error_code=error, error_message=message)


def _describe_error(
    request: DescribeAclsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error, error_message=message or error.description)


def _create_error(
    request: CreateAclsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_not_created(error, message or error.description)] * len(request.creations))


def _delete_error(
    request: DeleteAclsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> DeleteAclsResponse:
    result = DeleteAclsFilterResult(error_code=error, error_message=message or error.description)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
