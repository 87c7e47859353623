"""The plugin for pytest: the fixtures `coordinator` and `coordinator_factory`, and the marker `coordinator`.

pytest imports this module at each start, also where no test uses it, so it imports nothing of the server by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from coordinator.testing.coordinator import Coordinator
    from coordinator.testing.isolated import IsolatedCoordinator

MARKER: Final = "coordinator"
SETTINGS: Final = "coordinator_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        SETTINGS, "Settings of the coordinator that tests share, one KEY=VALUE a line (Kafka's names).", type="linelist"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(all_faults_hit=True): the test fails if a fault that it injected was never hit"
        " (fixtures coordinator and coordinator_factory)",
    )


@pytest.fixture(scope="session")
def coordinator_server(pytestconfig: pytest.Config) -> Iterator[Coordinator]:
    """The one server of this process, shared by the tests that use `coordinator`. Each worker of xdist has its own.

    For fixtures of a class, a module or the session, which cannot use `coordinator`. Names have no prefix here, and the
    next test that uses `coordinator` removes all faults.
    """
    from coordinator.config.properties import parse_settings
    from coordinator.testing.coordinator import Coordinator

    with Coordinator(parse_settings(pytestconfig.getini(SETTINGS))) as server:
        yield server


@pytest.fixture
def coordinator(request: pytest.FixtureRequest, coordinator_server: Coordinator) -> Iterator[IsolatedCoordinator]:
    """The shared server, where this test has topics and groups of its own. Its faults end with the test."""
    from coordinator.testing.isolated import IsolatedCoordinator

    coordinator_server.faults.clear()
    yield IsolatedCoordinator(coordinator_server, request.node.nodeid)
    try:
        if _wants_all_faults_hit(request):
            coordinator_server.faults.assert_all_hit()
    finally:
        coordinator_server.faults.clear()


@pytest.fixture
def coordinator_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., Coordinator]]:
    """Starts servers for this test alone: `coordinator_factory({"group.max.size": 2})`. They stop with the test."""
    from contextlib import ExitStack

    from coordinator.testing.coordinator import Coordinator

    started: list[Coordinator] = []
    with ExitStack() as stack:

        def start(settings: dict[str, Any] | None = None) -> Coordinator:
            started.append(stack.enter_context(Coordinator(settings)))
            return started[-1]

        yield start
        if _wants_all_faults_hit(request):
            for coordinator in started:
                coordinator.faults.assert_all_hit()


def _wants_all_faults_hit(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker(MARKER)
    return marker is not None and bool(marker.kwargs.get("all_faults_hit"))
