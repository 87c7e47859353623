from collections.abc import Iterator

import pytest

from tests.servers import RunningServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests that only need some server; groups and topics in it have names of their own."""
    with RunningServer(tmp_path_factory.mktemp("server")) as running:
        yield running
