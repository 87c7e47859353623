"""A broker's log that is written to another file and rotated there, again and again in the middle of a line."""

import random
import threading
from pathlib import Path
from typing import Final

STEP_SECONDS: Final = 0.05
KEPT: Final = 30


class RotatedLog:
    """What is written to `source` is in `path`, or what that was renamed to, as one byte after the other."""

    def __init__(self, source: Path, path: Path, seed: int, every_seconds: float) -> None:
        self.path = path
        self._source, self._choice, self._every = source, random.Random(seed), every_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.rotations = 0
        self.within_lines = 0

    def __enter__(self) -> "RotatedLog":
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        target = self.path.open("ab", buffering=0)
        waited = 0.0
        with self._source.open("rb") as source:
            while not self._stopped.wait(STEP_SECONDS):
                data = source.read()
                waited += STEP_SECONDS
                if waited >= self._every and len(data) > 2 and target.tell() > 4_000:
                    cut = self._choice.randrange(1, len(data))
                    target.write(data[:cut])
                    self.within_lines += data[cut - 1 : cut] != b"\n"
                    target.close()
                    self._rotate()
                    target, data, waited = self.path.open("ab", buffering=0), data[cut:], 0.0
                target.write(data)
        target.close()

    def _rotate(self) -> None:
        self.rotations += 1
        old = sorted(
            (each for each in self.path.parent.glob(f"{self.path.name}.*")),
            key=lambda each: int(each.suffix[1:]),
            reverse=True,
        )
        for each in old:
            number = int(each.suffix[1:]) + 1
            if number > KEPT:
                each.unlink()
            else:
                each.rename(each.with_name(f"{self.path.name}.{number}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
