"""One server with traffic for all tests that only read its metrics."""

import pytest

from tests.metrics.traffic import server_with_traffic


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    with server_with_traffic(tmp_path_factory.mktemp("metrics")) as running:
        yield running
