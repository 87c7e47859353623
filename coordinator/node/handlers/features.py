"""UpdateFeatures (KIP-584, KIP-778)."""

from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.update_features import UpdatableFeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.metadata.features import UPGRADE, FeatureUpdate, InvalidFeatureUpdate, changed_levels, levels
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.runtime.slices import Steps

UPGRADE_TYPE_VERSION: Final = 1
"""Before it, a request may only raise levels: Kafka does not look at `allow_downgrade`, either."""
WITHOUT_RESULTS_VERSION: Final = 2


class FeatureHandlers:
    """Changes the levels of features in the metadata log."""

    def __init__(
        self,
        *,
        metadata: MetadataStore,
        node_id: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self._node_id = node_id
        self._now_ms = now_ms

    def add_to(self, table: DispatchTable) -> None:
        table.add("UpdateFeatures", self.update, _error)

    def update(self, request: UpdateFeaturesRequest, call: RequestContext) -> Steps[Any]:
        """All updates of a request are made, or none of them; none with `validate_only`."""
        response = yield from self._update(request, call.api_version)
        return (yield from answer_when_committed(self._metadata, response))

    def _update(self, request: UpdateFeaturesRequest, version: int) -> Steps[UpdateFeaturesResponse]:
        image = self._metadata.latest_image
        updates = (
            FeatureUpdate(
                feature_update.feature,
                feature_update.max_version_level,
                feature_update.upgrade_type if version >= UPGRADE_TYPE_VERSION else UPGRADE,
            )
            for feature_update in request.feature_updates
        )
        changed: dict[str, int] = {}
        try:
            for name, level in changed_levels(image, updates, self._node_id):
                changed[name] = level
                yield
        except InvalidFeatureUpdate as problem:
            return UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=str(problem))
        current = levels(image)
        changed = {name: level for name, level in changed.items() if level != current.get(name, 0)}
        if changed and not request.validate_only:
            self._metadata.change_features(changed, self._now_ms())
        response = UpdateFeaturesResponse(error_message=None)
        if version < WITHOUT_RESULTS_VERSION:
            response.results = [
                UpdatableFeatureResult(feature=feature_update.feature, error_message="NONE")
                for feature_update in request.feature_updates
            ]
        return response


def _error(request: UpdateFeaturesRequest, error: ErrorCode, api_version: int) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error, error_message=error.description)
