"""A pytest plugin that records which lines each test executes: `-p tests.mutations.recording`.

RECORDING_FOLDER says where to: a data file of coverage.py with a context per test, and how long each test took.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import coverage
import pytest

from tests.mutations.executed_lines import LINES, RUN

SOURCES: Final = ("coordinator", "_wire")

folder: Final = Path(os.environ["RECORDING_FOLDER"])
seconds: Final[dict[str, float]] = {}
recorder: Final = coverage.Coverage(data_file=folder / LINES, config_file=False, source=list(SOURCES))
recorder.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    began = time.monotonic()
    recorder.switch_context(item.nodeid)
    yield
    recorder.switch_context("")
    seconds[item.nodeid] = time.monotonic() - began


def pytest_sessionfinish() -> None:
    recorder.stop()
    recorder.save()
    (folder / RUN).write_text(json.dumps({"root": str(Path.cwd()), "seconds": seconds}), encoding="utf-8")
