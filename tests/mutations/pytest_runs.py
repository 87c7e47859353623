"""Runs tests in a copy of the tree, each run in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

TEST_SECONDS: Final = 60
"""For one test: a mutant that never ends is noticed too."""
RECORDED_TEST_SECONDS: Final = 600
"""For one test without a mutant, while it is recorded what it executes, which takes several times as long."""
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
TROUBLE_CHARACTERS: Final = 500


class RunError(Exception):
    """pytest did not run the tests: one of them is not there."""


def first_failure(copy: Path, tests: Sequence[str], seconds: float, recording: Path | None = None) -> str | None:
    """Run tests until one fails: its name, or what went wrong if it has none. None if all pass.

    What they execute is recorded in the folder `recording` if there is one.

    Raises:
        RunError: pytest does not know one of the tests.
    """
    seconds_each = TEST_SECONDS if recording is None else RECORDED_TEST_SECONDS
    options: tuple[str, ...] = ("-x", "-q", "-p", "no:cacheprovider", f"--timeout={seconds_each}")
    # Byte code is looked up by the time and size of its source, which two mutants may share.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    if recording is not None:
        options = ("-p", "tests.mutations.recording", *options)
        environment["RECORDING_FOLDER"] = str(recording)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end of {' '.join(tests[:3])}"
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        raise RunError(done.stderr.strip()[-TROUBLE_CHARACTERS:])
    if done.returncode == 0:
        return None
    failed = FAILED.search(done.stdout)
    return failed[1] if failed else done.stdout[-TROUBLE_CHARACTERS:] + done.stderr[-TROUBLE_CHARACTERS:]
