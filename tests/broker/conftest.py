from collections.abc import Iterator
from itertools import count

import pytest

from tests.servers import RunningServer
from tests.wire_client import WireClient

_NUMBERS = count(1)


@pytest.fixture
def client(server: RunningServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap) as connected:
        yield connected


@pytest.fixture
def topic() -> str:
    """The name of a topic that no other test uses; it is not made yet."""
    return f"topic-{next(_NUMBERS)}"
