"""What the batches have to know of those before, kept as files: each batch adds the groups that it touched.

So the cost of a batch does not depend on the number of groups. A batch that runs again after a crash starts from the
state of the batch before it, whether or not its own was written.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from coordinator.pipeline.fold import GroupState

WHOLE_EVERY_BATCHES: Final = 50
"""A whole state is written after as many batches; what is older than the one before it is deleted."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, GroupState]).decode


class StateMissing(RuntimeError):
    """The folder has no state for this batch. The message is one line."""


class StateFolder:
    """Files `N.whole` and `N.part`: the state after batch N, or of the groups that it touched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def before(self, batch_id: int) -> dict[str, GroupState]:
        """Return the state of all groups before this batch.

        Raises:
            StateMissing: a file is missing, because the folder was changed by hand.
        """
        wholes = [number for number in self._numbers("whole") if number < batch_id]
        last = max(wholes, default=-1)
        groups = self._read(f"{last}.whole") if wholes else {}
        for number in range(last + 1, batch_id):
            groups |= self._read(f"{number}.part")
        return groups

    def after(self, batch_id: int, groups: dict[str, GroupState], touched: set[str]) -> None:
        """Write the state after this batch."""
        self._write(f"{batch_id}.part", {name: groups[name] for name in touched})
        if batch_id % WHOLE_EVERY_BATCHES == 0:
            self._write(f"{batch_id}.whole", groups)
            for kind in ("whole", "part"):
                for number in self._numbers(kind):
                    if number < batch_id - WHOLE_EVERY_BATCHES:
                        Path(self._folder, f"{number}.{kind}").unlink()

    def _numbers(self, kind: str) -> list[int]:
        return [int(path.stem) for path in self._folder.glob(f"*.{kind}")]

    def _read(self, name: str) -> dict[str, GroupState]:
        try:
            return _decode(Path(self._folder, name).read_bytes())
        except FileNotFoundError as problem:
            raise StateMissing(f"{self._folder} has no {name}; delete the tables and run again") from problem

    def _write(self, name: str, groups: dict[str, GroupState]) -> None:
        new = Path(self._folder, f"{name}.new")
        with new.open("wb") as file:
            file.write(_encode(groups))
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._folder / name)
