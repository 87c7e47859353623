"""The state of an observer of a group as bytes, so that another process goes on where one was killed."""

from typing import Final

import msgspec

from coordinator.audit.schema.observed import cause_of
from coordinator.core.causes import Cause, Requester
from coordinator.observe.classic_lines import Gathered
from coordinator.observe.clients_said import ClientsSaid
from coordinator.observe.group import ObserverState
from coordinator.observe.group_so_far import GroupSoFar, MemberSoFar, Removed
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup
from coordinator.observe.places import Place
from coordinator.observe.refusals import Refusals
from coordinator.observe.seen import SeenGroup

LineMark = tuple[int, int]
"""Which file of a log, counted since the watcher first saw it, and which line of it."""


class _Line(msgspec.Struct, array_like=True):
    """A statement by the name of its class."""

    kind: str
    fields: msgspec.Raw


class _Rebalance(msgspec.Struct, array_like=True):
    generation_before: int
    prepared: _Line | None
    changes: list[_Line]
    stabilized: _Line | None
    assigned: _Line | None
    emptied: _Line | None


class KeptGroup(msgspec.Struct, array_like=True):
    """What is kept of a group. `read_to` is the offset of its last record that was taken, -1 if there is none."""

    group_id: str
    so_far: GroupSoFar
    current: _Rebalance | None
    waiting: list[_Line]
    explained: dict[str, tuple[str, str | None, Requester | None]]
    line_places: list[tuple[str, str | int | None, Place]]
    members: dict[str, MemberSoFar]
    read_to: int = -1
    lines_to: dict[str, LineMark] = {}
    """Log → the last of its lines that was taken."""
    recent: list[tuple[str, int, int]] = []
    """What the last records stand for, and when they were written (ms): lines are confirmed by it."""
    is_whole: bool = True
    reasons_are_seen: bool = False
    gone: tuple[Place, Cause] | None = None
    clients: ClientsSaid = msgspec.field(default_factory=ClientsSaid)
    refusals: Refusals = msgspec.field(default_factory=Refusals)
    seen: SeenGroup = msgspec.field(default_factory=SeenGroup)


_STATEMENTS: Final[dict[str, type[OfGroup]]] = {
    name: var for name, var in vars(said).items() if isinstance(var, type) and issubclass(var, OfGroup)
}
_encode: Final = msgspec.msgpack.Encoder().encode
_DECODERS: Final = {name: msgspec.msgpack.Decoder(statement).decode for name, statement in _STATEMENTS.items()}
_decode_group: Final = msgspec.msgpack.Decoder(KeptGroup).decode


def encode_group(kept: KeptGroup) -> bytes:
    return _encode(kept)


def decode_group(data: bytes) -> KeptGroup:
    """Raises msgspec.MsgspecError, KeyError: it is none of this version."""
    return _decode_group(data)


def kept_group(group_id: str, state: ObserverState) -> KeptGroup:
    return KeptGroup(
        group_id,
        state.so_far,
        None if state.current is None else _rebalance(state.current),
        [_line(statement) for statement in state.waiting],
        {who: (str(how.cause), how.reason, how.requested_by) for who, how in state.explained.items()},
        [(kind, key, place) for (kind, key), place in state.line_places.items()],  # type: ignore[misc]
        state.members,
        gone=state.gone,
        refusals=state.refusals,
        seen=state.seen,
    )


def observer_state(kept: KeptGroup) -> ObserverState:
    explained = {who: Removed(cause_of(cause), reason, by) for who, (cause, reason, by) in kept.explained.items()}
    return ObserverState(
        kept.so_far,
        None if kept.current is None else _gathered(kept.current),
        [_statement(line) for line in kept.waiting],
        explained,
        {(kind, key): place for kind, key, place in kept.line_places},
        kept.members,
        kept.gone,
        kept.refusals,
        kept.seen,
    )


def _line(statement: OfGroup) -> _Line:
    return _Line(type(statement).__name__, msgspec.Raw(_encode(statement)))


def _maybe_line(statement: OfGroup | None) -> _Line | None:
    return None if statement is None else _line(statement)


def _statement(line: _Line) -> OfGroup:
    return _DECODERS[line.kind](line.fields)


def _rebalance(gathered: Gathered) -> _Rebalance:
    steps = (gathered.stabilized, gathered.assigned, gathered.emptied)
    changes = [_line(change) for change in gathered.changes]
    return _Rebalance(gathered.generation_before, _maybe_line(gathered.prepared), changes, *map(_maybe_line, steps))


def _gathered(kept: _Rebalance) -> Gathered:
    prepared, stabilized, assigned, emptied = (
        None if line is None else _statement(line)
        for line in (kept.prepared, kept.stabilized, kept.assigned, kept.emptied)
    )
    changes = [_statement(change) for change in kept.changes]
    return Gathered(kept.generation_before, prepared, changes, stabilized, assigned, emptied)  # type: ignore[arg-type]
