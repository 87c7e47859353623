"""The reports of the demo's processes: one JSON object per line on stdout, with its kind in `event`.

A process runs until its stdin closes. This stops it both on request and when its parent has died.
"""

import json
import sys
import threading
from typing import Any


def report(event: str, **fields: Any) -> None:
    """Write one report to stdout, which the parent process reads."""
    sys.stdout.write(json.dumps({"event": event, **fields}, default=str) + "\n")
    sys.stdout.flush()


def stop_when_stdin_closes() -> threading.Event:
    """Return an event that is set when stdin is closed."""
    stopping = threading.Event()

    def watch() -> None:
        for _ in sys.stdin:
            continue
        stopping.set()

    threading.Thread(target=watch, name="stdin", daemon=True).start()
    return stopping
