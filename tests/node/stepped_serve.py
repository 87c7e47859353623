"""`coordinator` with a wall clock that a test sets: the file that WALL_CLOCK names has by how many ms it is ahead."""

import os
import time
from pathlib import Path
from typing import Final

from coordinator.node import disk_host

CONTROL: Final = "WALL_CLOCK"


def wall_clock_ms() -> int:
    control = Path(os.environ[CONTROL])
    return time.time_ns() // 1_000_000 + (int(control.read_text()) if control.exists() else 0)


if __name__ == "__main__":
    from coordinator.cli import main

    vars(disk_host)["wall_clock_ms"] = wall_clock_ms
    main()
