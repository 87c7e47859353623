"""The file that says that a server is ready, and how to reach it. It exists only while that is true."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class ReadyFile:
    """Removes the file of an earlier run when it is made, and its own when its context is left. Path None: no file."""

    def __init__(self, path: Path | None) -> None:
        """Raises OSError: a stale file cannot be removed."""
        self._path = path
        if path is not None:
            path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def write(self, content: Mapping[str, Any]) -> bool:
        """Write the file atomically, so that a reader never sees a part of it; return False if there is no path.

        The id of the process is added as `pid`.
        """
        if self._path is None:
            return False
        part = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        part.write_text(json.dumps({**content, "pid": os.getpid()}) + "\n", encoding="utf-8")
        part.replace(self._path)
        return True

    def remove(self) -> None:
        """Remove the file, unless another process has written its own there. May be called again."""
        with suppress(OSError, ValueError):
            if self._path is not None and json.loads(self._path.read_text(encoding="utf-8"))["pid"] == os.getpid():
                self._path.unlink()
