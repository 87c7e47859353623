"""One job per folder, on file systems without locks: a file that its owner rewrites every few seconds.

Clocks of different machines are not compared: who finds the file waits whether it changes. Two owners at once are
possible where a machine stood still for longer than TAKEN_OVER_SECONDS; the one that lost the file stops before its
next batch. Until then both write the same rows under the same batch numbers, of which Delta takes one, and Spark stops
a query whose checkpoint another one writes. So the lock is there to say early and clearly what is wrong, not to keep
the tables right.
"""

import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from time import monotonic
from typing import Final

from coordinator.pipeline.hadoop import HadoopError, HadoopFiles
from coordinator.pipeline.jvm import Interrupted
from coordinator.pipeline.preflight import LOCK_FILE, NotReady

RENEWED_SECONDS: Final = 2.0
STALE_LOCK_SECONDS: Final = 12.0
"""Without a change for so long, the owner counts as dead."""

_POLL_SECONDS: Final = 0.5


class LockLost(RuntimeError):
    """Another job has taken over the folder. The message is one line."""


class HadoopLock:
    """Held from its creation until `release`."""

    def __init__(self, files: HadoopFiles, stop: threading.Event | None = None) -> None:
        """Take the lock, if necessary that of a job that was killed.

        Raises:
            NotReady: a living job holds it, or the folder cannot be written.
            Interrupted: `stop` was set while it waited.
        """
        self._files = files
        self._owner = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        self._renewals = 0
        self._released = threading.Event()
        try:
            while not files.create(LOCK_FILE, self._content()):
                self._wait_until_dead(stop or threading.Event())
                files.delete(LOCK_FILE)
        except HadoopError as problem:
            raise NotReady(f"cannot write to {problem}") from problem
        self._thread = threading.Thread(target=self._renew, name="lock", daemon=True)
        self._thread.start()

    def require(self) -> None:
        """Raises LockLost if another job has taken the lock."""
        if self._owner_now() != self._owner:
            raise LockLost(f"another job has taken over {self._files}")

    def release(self) -> None:
        self._released.set()
        self._thread.join()
        if self._owner_now() == self._owner:
            self._files.delete(LOCK_FILE)

    def _content(self) -> bytes:
        return f"{self._owner}\n{self._renewals}\n".encode()

    def _owner_now(self) -> str | None:
        content = self._read()
        return None if content is None else content.decode(errors="replace").partition("\n")[0]

    def _read(self) -> bytes | None:
        try:
            return self._files.read(LOCK_FILE)
        except FileNotFoundError:
            return None

    def _wait_until_dead(self, stop: threading.Event) -> None:
        found, deadline = self._read(), monotonic() + STALE_LOCK_SECONDS
        while found is not None and monotonic() < deadline:
            if stop.wait(_POLL_SECONDS):
                raise Interrupted
            now = self._read()
            if now is not None and now != found:
                raise NotReady(f"another job writes to {self._files} ({_host_and_pid(now)})")
            found = now

    def _renew(self) -> None:
        while not self._released.wait(RENEWED_SECONDS):
            # What fails here fails again, and is reported, in the next batch.
            with contextlib.suppress(OSError):
                if self._owner_now() != self._owner:
                    return
                self._renewals += 1
                self._files.write(LOCK_FILE, self._content())


def _host_and_pid(content: bytes) -> str:
    host, pid, *_ = [*content.decode(errors="replace").split(), "?", "?"]
    return f"process {pid} on {host}" if pid.isdecimal() and host.isprintable() else "an unknown owner"


@contextlib.contextmanager
def sole_hadoop_job(files: HadoopFiles, stop: threading.Event | None = None) -> Iterator[HadoopLock]:
    """Hold the lock of a folder. Raises as HadoopLock."""
    lock = HadoopLock(files, stop)
    try:
        yield lock
    finally:
        with contextlib.suppress(OSError):  # the next job waits for TAKEN_OVER_SECONDS then
            lock.release()
