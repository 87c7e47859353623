"""Runs of the load generator: built once, pinned to its core, one JSON object each."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.coordinator.servers import GROUPLOAD, Target, build_go


class LoadFailed(RuntimeError):
    """groupload could not measure, or the server answered errors or nonsense; the message is one line."""


class LoadGenerator:
    def __init__(self, scratch: Path, core: int) -> None:
        """Build it. Raises CalledProcessError with what Go said."""
        self._binary = scratch / "groupload"
        self._core = core
        build_go(GROUPLOAD, self._binary)

    def run(self, target: Target, arguments: Sequence[str]) -> dict[str, Any]:
        """Raises LoadFailed."""
        command = [str(self._binary), *arguments, "--bootstrap", target.bootstrap, "--pid", str(target.pid)]
        command += ["--raw"] if target.raw else []
        command += ["--cap", target.caps] if target.caps else []
        command += target.options
        run = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=self._pin)
        if run.returncode:
            why = (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]
            raise LoadFailed(f"{target.name}, {arguments[0]}: {why}")
        result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
        return result

    def _pin(self) -> None:
        os.sched_setaffinity(0, {self._core})
