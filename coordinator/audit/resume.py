"""Where the audit topic ends for each group, and whether that is where the group is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import xor
from typing import Final

import msgspec

from _wire.errors import MalformedMessage
from coordinator.audit.schema import SCHEMA_VERSION
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.states import EMPTY, STABLE, GroupState

REMEMBERED_STATES_AT_MOST: Final = 16
"""How far back a stored state is looked for; a crash undoes one batch, which holds few."""

STORED_KINDS: Final = frozenset(
    {"group.created", "generation.stable", "group.emptied", "group.loaded", "static_member.replaced"}
)
"""Events after which the group stands in `__consumer_offsets` as audited."""


class ToldMember(msgspec.Struct):
    member_id: str


class ToldSnapshot(msgspec.Struct):
    member: ToldMember


class Told(msgspec.Struct):
    """The part of an audit event that says where its group was."""

    kind: str
    seq: int
    created_seq: int
    generation_id: int
    state: str
    member: ToldMember | None = None
    old_member_id: str = ""
    members: int | list[ToldSnapshot] = 0
    """How many, where an event only counts them."""


_decode = msgspec.json.Decoder(Told).decode


def fingerprint(member_ids: Iterable[str]) -> int:
    """A number that tells sets of members apart, within this process; one member changes it by its own hash."""
    return reduce(xor, map(hash, member_ids), 0)


@dataclass(slots=True)
class AuditEnd:
    """The last that was told of a group, and at which `seq` it was last as `__consumer_offsets` may hold it."""

    seq: int = 0
    created_seq: int = 0
    generation_id: int = 0
    state: GroupState = EMPTY
    members: int = 0
    """Their fingerprint."""
    stored_at: dict[tuple[int, GroupState, int], int] = field(default_factory=dict)
    """Generation, state and members → `seq`, the latest last."""

    def take(self, told: Told) -> None:
        self.seq, self.created_seq = told.seq, told.created_seq
        self.generation_id, self.state = told.generation_id, GroupState(told.state)
        self._take_members(told)
        if told.kind in STORED_KINDS and self.state in (EMPTY, STABLE):
            where = (self.generation_id, self.state, self.members)
            self.stored_at.pop(where, None)
            self.stored_at[where] = told.seq
            if len(self.stored_at) > REMEMBERED_STATES_AT_MOST:
                del self.stored_at[next(iter(self.stored_at))]

    def _take_members(self, told: Told) -> None:
        if told.kind in ("member.joined", "member.removed") and told.member is not None:
            self.members ^= hash(told.member.member_id)
        elif told.kind == "static_member.replaced" and told.member is not None:
            self.members ^= hash(told.old_member_id) ^ hash(told.member.member_id)
        elif isinstance(told.members, list):
            self.members = fingerprint(each.member.member_id for each in told.members)
        elif told.kind in ("group.created", "group.removed"):
            self.members = 0

    def agrees_with(self, group: ClassicGroup) -> bool:
        return (self.generation_id, self.state, self.members) == _where(group)

    def void_from(self, group: ClassicGroup) -> int | None:
        """The first event after the group was last told to be as it is; None when it never was."""
        at = self.stored_at.get(_where(group))
        return None if at is None else at + 1


def _where(group: ClassicGroup) -> tuple[int, GroupState, int]:
    return group.generation_id, group.state, fingerprint(group.members)


class AuditEnds:
    """Group id → where its events end, from the records of the topic in order."""

    def __init__(self) -> None:
        self.ends: dict[str, AuditEnd] = {}

    def take(self, key: bytes, value: bytes) -> None:
        """Raises MalformedMessage for a record that this coordinator cannot have written."""
        try:
            group_id = key.decode()
            if group_id not in self.ends:
                self.ends[group_id] = AuditEnd()
            self.ends[group_id].take(_decode(value))
        except (msgspec.MsgspecError, ValueError) as problem:
            raise MalformedMessage("AuditEvent", SCHEMA_VERSION, "", 0, f"key {key!r}: {problem}") from None
