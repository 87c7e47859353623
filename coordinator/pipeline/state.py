"""What the batches have to know of those before, kept as files: each batch adds the groups that it touched.

So the cost of a batch does not depend on the number of groups. A batch that runs again after a crash starts from the
state of the batch before it, whether or not its own was written.
"""

from typing import Any, Final

import msgspec

from coordinator.pipeline.folder import Files
from coordinator.pipeline.partition_folds import Changes
from coordinator.pipeline.partition_state import STATE_VERSION, PartitionState

States = dict[int, PartitionState]
"""Partition → its state."""

WHOLE_EVERY_BATCHES: Final = 50
"""A whole state is written after as many batches; what is older than the one before it is deleted."""

_KINDS: Final = ("whole", "part")


class _File(msgspec.Struct, array_like=True):
    partitions: States
    version: int = STATE_VERSION


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_File).decode
_decode_any: Final = msgspec.msgpack.Decoder(list[Any]).decode


class StateMissing(RuntimeError):
    """The folder has no state for this batch that can be used. The message is one line."""


class StateFolder:
    """Files `N.whole` and `N.part`: the state after batch N, or of the groups that it touched."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def require_version(self) -> None:
        """Look at the newest file, if there is one.

        Raises:
            StateMissing: another version of this program wrote it.
        """
        newest = max(((number, kind) for kind, number in self._numbers()), default=None)
        if newest is not None:
            self._read(f"{newest[0]}.{newest[1]}")

    def before(self, batch_id: int) -> States:
        """Return the state before this batch.

        Raises:
            StateMissing: a file is missing, because the folder was changed by hand, or another version wrote it.
        """
        wholes = [number for kind, number in self._numbers() if kind == "whole" and number < batch_id]
        last = max(wholes, default=-1)
        states = self._read(f"{last}.whole") if wholes else {}
        for number in range(last + 1, batch_id):
            update_states(states, self._read(f"{number}.part"))
        return states

    def after(self, batch_id: int, states: States, changes: Changes) -> None:
        """Write what this batch has changed; `states`, those before it, become those after it."""
        self._files.write(f"{batch_id}.part", _encode(_File(changes)))
        update_states(states, changes)
        if batch_id % WHOLE_EVERY_BATCHES == 0:
            self._files.write(f"{batch_id}.whole", _encode(_File(states)))
            for kind, number in self._numbers():
                if number < batch_id - WHOLE_EVERY_BATCHES:
                    self._files.delete(f"{number}.{kind}")

    def _numbers(self) -> list[tuple[str, int]]:
        """Kind and batch number of each file; a half-written one has another ending."""
        split = (name.split(".") for name in self._files.names())
        return [(parts[1], int(parts[0])) for parts in split if len(parts) == 2 and parts[1] in _KINDS]

    def _read(self, name: str) -> States:
        try:
            data = self._files.read(name)
        except FileNotFoundError as problem:
            raise StateMissing(f"{self._files} has no {name}; delete the tables and run again") from problem
        if _version_of(data) != STATE_VERSION:
            raise StateMissing(
                f"the tables of {self._files} were made by another version of this program, whose columns mean"
                " something else; delete the tables and run again"
            )
        return _decode(data).partitions


def update_states(states: States, changes: Changes) -> None:
    """Make states before a batch those after it."""
    for partition, changed in changes.items():
        states.setdefault(partition, PartitionState()).update(changed)


def _version_of(data: bytes) -> int | None:
    """The version of a state; None of those before versions were written."""
    try:
        parts = _decode_any(data)
    except msgspec.MsgspecError:
        return None
    return parts[-1] if len(parts) == len(_File.__struct_fields__) else None
