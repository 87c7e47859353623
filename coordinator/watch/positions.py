"""How far a watcher has come in a partition, as the record that is in one batch with the events up to there.

A batch is in the topic as a whole or not at all. So who reads the last position goes on where the events end: nothing
is told twice, and nothing is left out.
"""

import base64
import time
import zlib
from typing import Any, Final

import msgspec

from coordinator.audit.schema import Record
from coordinator.audit.schema.observed import WATCH_BEGUN, WATCHED
from coordinator.observe.kept_group import KeptGroup, decode_group
from coordinator.observe.logs.followed import LogPosition
from coordinator.watch.presence import NodePresence

VERSION: Final = 1
COMPRESSION_LEVEL: Final = 1


class PositionError(Exception):
    """A position that this version cannot read. The message is one line."""


class Position(msgspec.Struct, array_like=True):
    """`groups` are those of which something was told since the position before, packed."""

    records: int
    """The offset in `__consumer_offsets` from which it goes on; -1: nothing was read."""
    logs: dict[str, LogPosition] = {}
    groups: list[bytes] = []
    forgotten: list[str] = []
    """Groups that are gone for long."""
    seq: int = 0
    """The largest of their events."""
    rules: list[tuple[str, bool]] | None = None
    """By which it was read: records of other groups were passed over. None: those of all groups were read."""
    nodes: dict[int, NodePresence] = {}


class _Value(msgspec.Struct):
    kind: str
    version: int
    time_ms: int
    partition: int
    checkpoint_offset: int | None
    """Where to read from to know all groups; None: this record begins it."""
    state: bytes


_HEADERS: Final = (("ce_specversion", b"1.0"), ("ce_type", WATCHED.encode()), ("content-type", b"application/json"))
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Value).decode
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(Position).decode


def position_record(partition: int, position: Position, checkpoint_offset: int | None, now_ms: int) -> Record:
    """`checkpoint_offset`: where the records begin that have all groups of the partition."""
    state = base64.b64encode(zlib.compress(_pack(position), COMPRESSION_LEVEL))
    value: dict[str, Any] = {
        "kind": WATCHED,
        "version": VERSION,
        "time_ms": now_ms,
        "partition": partition,
        "checkpoint_offset": checkpoint_offset,
        "state": state.decode(),
    }
    return None, _encode(value), _HEADERS


def begun_record(now_ms: int) -> Record:
    """Says that a watcher begins to write. What another one writes after it is refused."""
    return None, _encode({"kind": WATCH_BEGUN, "version": VERSION, "time_ms": now_ms}), _HEADERS


def read_position(value: bytes) -> tuple[Position, int | None]:
    """A position, and where the records begin that have all groups.

    Raises:
        PositionError: it is of a later version, or broken.
    """
    try:
        found = _decode(value)
        if found.version > VERSION:
            raise PositionError(f"a watcher of a later version wrote here (format {found.version}): use that one")
        return _unpack(zlib.decompress(found.state)), found.checkpoint_offset
    except (msgspec.MsgspecError, zlib.error, ValueError) as problem:
        raise PositionError(f"the position of a watcher cannot be read: {problem}") from None


class Restored:
    """What the records of a partition say of where to go on. Put them in, in order, from the checkpoint on."""

    def __init__(self) -> None:
        self.position: Position | None = None
        self.groups: dict[str, KeptGroup] = {}
        self.others: dict[str, int] = {}
        """Group → the largest number of the events that a coordinator has written of it, since the checkpoint."""
        self.seq_from = 0
        """The numbers of groups of which nothing is kept begin above this: others may have told of them before."""

    def put(self, value: bytes) -> None:
        """Raises PositionError."""
        position, _ = read_position(value)
        try:
            found = [decode_group(group) for group in position.groups]
        except (msgspec.MsgspecError, KeyError, ValueError) as problem:
            raise PositionError(f"what a watcher kept of a group cannot be read: {problem}") from None
        self.groups.update((kept_group.group_id, kept_group) for kept_group in found)
        for group_id in position.forgotten:
            self.groups.pop(group_id, None)
        self.position = position


def now_ms() -> int:
    return time.time_ns() // 1_000_000
