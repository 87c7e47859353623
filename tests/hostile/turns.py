"""The turns of a server's event loop, in processor time, which other processes on the machine hardly change."""

import mmap
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("turns.c")
RESULTS: Final = struct.Struct("=QQ")
NS_PER_MS: Final = 1_000_000


class Turns:
    """Compiles `turns.c` into a folder; a server that is started with `environment` is measured."""

    def __init__(self, folder: Path) -> None:
        library, results = folder / "turns.so", folder / "turns"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
        results.write_bytes(bytes(RESULTS.size))
        with results.open("r+b") as file:
            self._results = mmap.mmap(file.fileno(), RESULTS.size)
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "TURNS_FILE": str(results)}

    @property
    def longest_ms(self) -> float:
        """The longest turn since the last `reset`, which may have begun before it."""
        count, longest_ns = RESULTS.unpack(self._results[:])
        assert count, "the event loop waits for events by another function than epoll_wait or epoll_pwait"
        return float(longest_ns / NS_PER_MS)

    def reset(self) -> None:
        self._results[:] = bytes(RESULTS.size)

    def close(self) -> None:
        self._results.close()
