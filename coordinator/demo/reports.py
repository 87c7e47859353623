"""How the processes of the demo talk: a report is one JSON object on a line of stdout, `event` tells which one.

A process goes on until its stdin closes. That is how it is asked to stop, and how it notices that its parent died.
"""

import json
import sys
import threading
from typing import Any


def report(event: str, **fields: Any) -> None:
    """Say one thing to whoever started this process."""
    sys.stdout.write(json.dumps({"event": event, **fields}, default=str) + "\n")
    sys.stdout.flush()


def stop_when_stdin_closes() -> threading.Event:
    """An event that is set once nobody holds the other end of stdin any more."""
    stopping = threading.Event()

    def watch() -> None:
        for _ in sys.stdin:
            continue
        stopping.set()

    threading.Thread(target=watch, name="stdin", daemon=True).start()
    return stopping
