"""Servers for the audit cases. The files of the cases are one per client, so that workers can share them."""

from collections.abc import Iterator

import pytest

from tests.e2e.audit_cases import CASES, SERVER_SETTINGS
from tests.servers import RunningServer


@pytest.fixture(scope="module")
def shared_server_of_cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("cases"), SERVER_SETTINGS) as running:
        yield running


@pytest.fixture
def server_of_case(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    """The server for `case`: one that it shares, or its own one with its settings."""
    case = CASES[request.getfixturevalue("case")]
    if not case.own_server:
        yield request.getfixturevalue("shared_server_of_cases")
        return
    with RunningServer(request.getfixturevalue("tmp_path"), {**SERVER_SETTINGS, **case.settings}) as running:
        yield running
