from collections.abc import Iterator

import pytest

from tests.dashboard.pages import CHROMIUM_OF_MODULE


@pytest.fixture(autouse=True, scope="module")
def chromium_ends_with_its_module() -> Iterator[None]:
    yield
    CHROMIUM_OF_MODULE.close()
