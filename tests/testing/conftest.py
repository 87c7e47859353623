from collections.abc import Iterator

import pytest

from coordinator.testing import Coordinator


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator() as running:
        yield running
