"""The garbage collector does not run while a server is imported, and runs afterwards as before."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from coordinator.garbage import no_collections

IMPORT = """
import gc
collections = []
gc.callbacks.append(lambda phase, info: collections.append(info) if phase == "start" else None)
from coordinator.testing import Coordinator
print(len(collections), gc.isenabled())
"""


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_as_before_also_after_an_error(is_enabled: bool) -> None:
    (gc.enable if is_enabled else gc.disable)()
    with pytest.raises(ZeroDivisionError), no_collections():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled() is is_enabled


def test_what_is_frozen_stays_frozen() -> None:
    script = "import gc; gc.freeze(); from coordinator.testing import Coordinator; print(gc.get_freeze_count())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


def test_little_is_collected_while_the_test_kit_is_imported() -> None:
    """Only before its first module; it was 100 times."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    collections, is_enabled = done.stdout.split()
    assert int(collections) < 10 and is_enabled == "True"
