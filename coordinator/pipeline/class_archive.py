"""An archive of the classes of Spark, from which the JVM maps them instead of loading and verifying each one.

It is the dynamic archive of the JVM (JEP 350): a run that was asked for it writes it when its JVM exits, and later runs
use it. The JVM itself checks that the archive is of the same Java and the same jars; any other is passed over.
"""

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final

WRITE_SECONDS: Final = 300
"""How long a JVM may take to exit while it writes the archive; 20 s of CPU where it was measured."""

_FOLDER: Final = "kafka-group-coordinator"


class ClassArchive:
    """The archive of one Java and one list of jars, in the user's folder for caches (XDG_CACHE_HOME, or ~/.cache)."""

    def __init__(self, java: Path, jars: Iterable[Path], *, is_written: bool) -> None:
        """`is_written`: this run of the JVM is to write it, whether or not there is one."""
        whose = "\n".join(map(str, (java.resolve(), *jars)))
        name = f"spark-classes-{blake2b(whose.encode(), digest_size=8).hexdigest()}.jsa"
        self.path: Final = cache_folder() / name
        self.is_written: Final = is_written
        self._new: Final = self.path.with_suffix(f".{os.getpid()}.new")

    def options(self) -> list[str]:
        """The options of the JVM."""
        if self.is_written:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return [f"-XX:ArchiveClassesAtExit={self._new}"]
        return [f"-XX:SharedArchiveFile={self.path}"] if self.path.exists() else []

    def keep(self, exit_code: int) -> None:
        """The JVM has ended: keep what it wrote, if it was not killed in the middle."""
        if self.is_written and self._new.exists():
            if exit_code == 0:
                self._new.replace(self.path)
            else:
                self._new.unlink()


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _FOLDER
