"""Runs of the load generator against nodes and brokers, with the CPU time of each process that takes part."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench.coordinator.servers import GROUPLOAD, build_go

TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
RUN_SECONDS_MAX: Final = 240


class LoadFailed(RuntimeError):
    """The load could not be run, or was answered errors; the message is one line."""


class Result(NamedTuple):
    """What the generators have measured, and the CPU seconds of the processes meanwhile."""

    outputs: list[dict[str, Any]]
    cpu: dict[str, float]

    @property
    def ops(self) -> int:
        return sum(int(output["ops"]) for output in self.outputs)

    @property
    def ops_per_second(self) -> float:
        return sum(float(output["ops_per_s"]) for output in self.outputs)

    def us(self, process: str, count: int) -> float:
        """µs of the CPU time of a process for each of so many operations."""
        return self.cpu[process] * 1e6 / count

    def latency_ms(self, name: str, quantile: str) -> float:
        """The largest of the generators' quantiles."""
        return max(float(output[name][quantile]) for output in self.outputs) / 1000


class Generator:
    """Built once."""

    def __init__(self, scratch: Path) -> None:
        """Raises CalledProcessError with what Go said."""
        self._binary = scratch / "groupload"
        build_go(GROUPLOAD, self._binary)

    def run(self, targets: Sequence[tuple[str, str]], load: str, pids: Mapping[str, int]) -> Result:
        """Run a load against (address, prefix of the groups) each, all at the same time. Raises LoadFailed."""
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        running = [
            subprocess.Popen(
                [str(self._binary), *load.split(), "--bootstrap", address, "--prefix", prefix],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for address, prefix in targets
        ]
        try:
            ended = [process.communicate(timeout=RUN_SECONDS_MAX) for process in running]
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"{load}: not done within {RUN_SECONDS_MAX} s") from None
        finally:
            for process in running:
                process.kill()
                process.wait()
        cpu = {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}
        for process, (_, errors) in zip(running, ended, strict=True):
            if process.returncode:
                raise LoadFailed(f"{load}: {(errors.strip().splitlines() or ['no output'])[-1]}")
        return Result([json.loads(output.splitlines()[-1]) for output, _ in ended], cpu)


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
