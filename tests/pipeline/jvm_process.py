"""A JVM of a test: one class, a log, and an end with everything that it started."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from coordinator.pipeline.java import require_java
from coordinator.pipeline.jvm import OPENED_PACKAGES, spark_home
from tests.waiting import wait_for

QUICK_TO_START: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""It lives for seconds: what its second compiler and the threads of another collector would do never pays."""


class JvmProcess:
    """A process group of its own, so that the executors that a worker starts end with it."""

    def __init__(self, folder: Path, classpath: Sequence[str], heap: str, *arguments: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.log = folder / "log"
        options = [f"-Xmx{heap}", *QUICK_TO_START, "-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}"]
        options += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES]
        command = [str(require_java()), *options, "-cp", os.pathsep.join(classpath), *arguments]
        environment = {**os.environ, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_DIRS": str(folder)}
        environment |= {"SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}  # as Spark's scripts set them
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for_text(self, path: Path, ending: str, seconds: float) -> str:
        """The text of a file, as soon as `ending` is in it."""

        def text() -> str:
            assert self._process.poll() is None, self.log.read_text()
            found = path.read_text() if path.exists() else ""
            return found if ending in found else ""

        return wait_for(text, seconds, f"{ending!r} in {path}", every_ms=100)
