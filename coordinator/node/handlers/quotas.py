"""DescribeClientQuotas and AlterClientQuotas (KIP-546)."""

from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.alter_client_quotas import (
    AlterClientQuotasEntityResult,
    AlterClientQuotasEntryResult,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from _wire.messages.describe_client_quotas import (
    DescribeClientQuotasEntity,
    DescribeClientQuotasEntry,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeClientQuotasValue,
)
from coordinator.config.quota_keys import CLIENT_QUOTAS_MAX
from coordinator.config.settings import Config
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.front.throttling import Throttling
from coordinator.metadata.image import QuotaEntity
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.quotas.alteration import Alteration, Changes, InvalidQuota, Operation
from coordinator.quotas.matching import Component, InvalidFilter, matcher
from coordinator.runtime.slices import Steps


class QuotaHandlers:
    """Tells the quotas of the metadata log, and changes them."""

    def __init__(
        self,
        *,
        config: Config,
        metadata: MetadataStore,
        throttling: Throttling,
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._throttling = throttling
        self._now_ms = now_ms

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeClientQuotas", self.describe, _describe_error)
        table.add("AlterClientQuotas", self.alter, _alter_error)

    def describe(
        self, request: DescribeClientQuotasRequest, call: RequestContext
    ) -> Steps[DescribeClientQuotasResponse]:
        quotas = self._metadata.image.quotas
        components = [
            Component(component.entity_type, component.match_type, component.match) for component in request.components
        ]
        try:
            matches = matcher(components, request.strict)
        except InvalidFilter as problem:
            return DescribeClientQuotasResponse(error_code=problem.error, error_message=str(problem), entries=None)
        entries = []
        for entity, values_by_key in list(quotas.items()):
            yield
            if not matches(entity):
                continue
            names = [DescribeClientQuotasEntity(entity_type=kind, entity_name=name) for kind, name in entity]
            values = [DescribeClientQuotasValue(key=key, value=value) for key, value in values_by_key.items()]
            entries.append(DescribeClientQuotasEntry(entity=names, values=values))
        # Kafka's message of success is empty, not null.
        return DescribeClientQuotasResponse(error_message="", entries=entries)

    def alter(self, request: AlterClientQuotasRequest, call: RequestContext) -> Steps[Any]:
        changes = Changes(self._metadata.latest_image.quotas, self._config[CLIENT_QUOTAS_MAX])
        for entry in request.entries:
            names = {
                alter_client_quotas_entity.entity_type: alter_client_quotas_entity.entity_name
                for alter_client_quotas_entity in entry.entity
            }
            operations = [
                Operation(
                    alter_client_quotas_op.key, None if alter_client_quotas_op.remove else alter_client_quotas_op.value
                )
                for alter_client_quotas_op in entry.ops
            ]
            changes.add(Alteration(names, operations))
            yield
        if changes.records and not request.validate_only:
            self._metadata.change_quotas(changes.records, self._now_ms(), self._throttling.load)
        response = AlterClientQuotasResponse(
            entries=[_result(*entity_problem) for entity_problem in changes.problems.items()]
        )
        return (yield from answer_when_committed(self._metadata, response))


def _result(entity: QuotaEntity, problem: InvalidQuota | None) -> AlterClientQuotasEntryResult:
    return AlterClientQuotasEntryResult(
        error_code=ErrorCode.NONE if problem is None else problem.error,
        error_message=None if problem is None else str(problem),
        entity=[AlterClientQuotasEntityResult(entity_type=kind, entity_name=name) for kind, name in entity],
    )


def _describe_error(
    request: DescribeClientQuotasRequest, error: ErrorCode, api_version: int
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error, error_message=error.description, entries=None)


def _alter_error(request: AlterClientQuotasRequest, error: ErrorCode, api_version: int) -> AlterClientQuotasResponse:
    results = []
    for entry in request.entries:
        entity = [
            AlterClientQuotasEntityResult(
                entity_type=alter_client_quotas_entity.entity_type, entity_name=alter_client_quotas_entity.entity_name
            )
            for alter_client_quotas_entity in entry.entity
        ]
        results.append(AlterClientQuotasEntryResult(error_code=error, error_message=error.description, entity=entity))
    return AlterClientQuotasResponse(entries=results)
