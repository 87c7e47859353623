"""Each way in which a consumer group (KIP-848) changes, with confluent-kafka: the audit tells who and why."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest

from interop.builds import CONSUMER
from interop.driver import Driver, python_driver
from interop.scene import Scene
from tests.e2e.audit_cases_of_epochs import CASES, SERVER_SETTINGS
from tests.e2e.playing_cases import numbers
from tests.servers import RunningServer

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("cases"), SERVER_SETTINGS) as running:
        yield running


@pytest.mark.parametrize("name", CASES)
def test_the_audit_tells_what_happened(name, shared_server, tmp_path):
    case = CASES[name]
    with ExitStack() as stack:
        server = shared_server
        if case.own_server:
            server = stack.enter_context(RunningServer(tmp_path, {**SERVER_SETTINGS, **case.settings}))
        start = partial(Driver, python_driver("confluent-kafka"))
        case.play(Scene(server, start, f"case{next(numbers)}", stack, protocol=CONSUMER))
