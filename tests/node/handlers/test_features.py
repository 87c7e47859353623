"""UpdateFeatures and the features in ApiVersions, as a client sees them; the answers are those of Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.servers import RunningServer
from tests.wire_client import WireClient

NAME: Final = "transaction.version"
GROUPS: Final = "group.version"
SHARES: Final = "share.version"
STREAMS: Final = "streams.version"
SAFE_DOWNGRADE: Final = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("features")) as running:
        yield running


def finalized(server: RunningServer) -> tuple[int, dict[str, int]]:
    with WireClient(server.bootstrap) as client:
        answer = client.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)
    return answer.finalized_features_epoch, {
        finalized_feature.name: finalized_feature.max_version_level for finalized_feature in answer.finalized_features
    }


def update(server: RunningServer, level: int, version: int = 2, name: str = NAME, **fields: Any) -> Any:
    validate_only = fields.pop("validate_only", False)
    key = FeatureUpdateKey(feature=name, max_version_level=level, **fields)
    with WireClient(server.bootstrap) as client:
        return client.request(UpdateFeaturesRequest(feature_updates=[key], validate_only=validate_only), version)


@pytest.mark.parametrize(
    "version, supported", [(3, []), (4, [(GROUPS, 0, 1), (SHARES, 0, 1), (STREAMS, 0, 1), (NAME, 0, 2)])]
)
def test_lowest_level_0_is_offered_from_version_4_on(server, version, supported):
    """The `ApiVersionsResponse` of Java clients 3.3 to 3.7 rejects a supported feature whose lowest level is 0."""
    with WireClient(server.bootstrap) as client:
        answer = client.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), version)
    assert [
        (supported_feature.name, supported_feature.min_version, supported_feature.max_version)
        for supported_feature in answer.supported_features
    ] == supported
    assert [finalized_feature.name for finalized_feature in answer.finalized_features] == [
        GROUPS,
        SHARES,
        STREAMS,
        NAME,
    ]


def test_a_change_is_told_and_survives_a_restart(server):
    epoch, before = finalized(server)
    assert before == {GROUPS: 1, SHARES: 1, STREAMS: 1, NAME: 2}
    response = update(server, 1, 1, upgrade_type=SAFE_DOWNGRADE)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    assert [(result.feature, result.error_code, result.error_message) for result in response.results] == [
        (NAME, 0, "NONE")
    ]
    assert finalized(server) == (epoch + 1, {GROUPS: 1, SHARES: 1, STREAMS: 1, NAME: 1})
    server.kill()
    server.start()
    assert finalized(server) == (epoch + 1, {GROUPS: 1, SHARES: 1, STREAMS: 1, NAME: 1})
    assert update(server, 2).error_code == ErrorCode.NONE
    assert finalized(server) == (epoch + 2, {GROUPS: 1, SHARES: 1, STREAMS: 1, NAME: 2})


def test_what_changes_nothing_raises_no_epoch(server):
    before = finalized(server)
    assert update(server, 0, upgrade_type=SAFE_DOWNGRADE, validate_only=True).error_code == ErrorCode.NONE
    assert update(server, 2).error_code == ErrorCode.NONE
    with WireClient(server.bootstrap) as client:
        assert client.request(UpdateFeaturesRequest(), 2).error_code == ErrorCode.NONE
    assert finalized(server) == before


def test_version_0_only_raises(server):
    before = finalized(server)
    response = update(server, 1, 0, allow_downgrade=True)
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert finalized(server) == before


def test_an_update_that_fails_says_why(server):
    response = update(server, 1, name="kraft.version")
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "feature kraft.version. Local controller" in response.error_message


def test_one_bad_update_stops_all(server):
    before = finalized(server)
    keys = [
        FeatureUpdateKey(feature=NAME, max_version_level=0, upgrade_type=SAFE_DOWNGRADE),
        FeatureUpdateKey(feature="unknown", max_version_level=1),
    ]
    with WireClient(server.bootstrap) as client:
        response = client.request(UpdateFeaturesRequest(feature_updates=keys), 1)
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert finalized(server) == before
