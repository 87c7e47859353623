from collections.abc import Iterator

import pytest

from coordinator.runtime import slices


@pytest.fixture(autouse=True, scope="module")
def no_slice_ends() -> Iterator[None]:
    """Work that needs not wait is done at once, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "seconds", lambda: 0.0)
        yield
