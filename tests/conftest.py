from collections.abc import Iterator

import pytest
from hypothesis import settings

from coordinator.logger import logger
from tests.captured_logs import Discarded
from tests.examples import examples
from tests.servers import RunningServer
from tests.slowest_first import slowest_first

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None, max_examples=examples(100))
settings.load_profile("untimed")

pytest_plugins = ("coordinator.testing.plugin", "pytester")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        items[:] = slowest_first(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("spark"):
        from tests.spark_classes import ensure_class_archive

        ensure_class_archive()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests that only need some server; groups and topics in it have names of their own."""
    with RunningServer(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(autouse=True, scope="session")
def quiet_log() -> Iterator[None]:
    """What the code under test logs is for operators; a test that is about it captures it itself."""
    with logger.lines_to(Discarded()):
        yield
