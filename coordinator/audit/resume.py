"""Where the audit topic ends for each group, and whether that is where the group is."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from _wire.errors import MalformedMessage
from coordinator.audit.schema import SCHEMA_VERSION
from coordinator.core.group import Group
from coordinator.core.states import EMPTY, STABLE, GroupState

REMEMBERED_STATES_AT_MOST: Final = 16
"""How far back a stored state is looked for; a crash undoes one batch, which holds few."""

STORED_KINDS: Final = frozenset({"group.created", "generation.stable", "group.emptied", "group.loaded"})
"""Events after which the group stands in `__consumer_offsets` as audited."""

REPLACEMENT: Final = "static_member.replaced"
"""Stored too, but generation and state do not tell whether it was: the member's new id does."""


class ToldMember(msgspec.Struct):
    member_id: str


class Told(msgspec.Struct):
    """The part of an audit event that says where its group was."""

    kind: str
    seq: int
    created_seq: int
    generation_id: int
    state: str
    member: ToldMember | None = None


class Replacement(NamedTuple):
    """A static member came back as `member_id`."""

    seq: int
    member_id: str


_decode = msgspec.json.Decoder(Told).decode


@dataclass(slots=True)
class AuditEnd:
    """The last that was told of a group, and at which `seq` it was last in each of its stored states."""

    seq: int = 0
    created_seq: int = 0
    generation_id: int = 0
    state: GroupState = EMPTY
    stored_at: dict[tuple[int, GroupState], int] = field(default_factory=dict)
    replacements: list[Replacement] = field(default_factory=list)
    """In order; those since the oldest state in `stored_at`."""

    def take(self, told: Told) -> None:
        self.seq, self.created_seq = told.seq, told.created_seq
        self.generation_id, self.state = told.generation_id, GroupState(told.state)
        if told.kind in STORED_KINDS and self.state in (EMPTY, STABLE):
            self.stored_at[told.generation_id, self.state] = told.seq
            if len(self.stored_at) > REMEMBERED_STATES_AT_MOST:
                del self.stored_at[next(iter(self.stored_at))]
                oldest = min(self.stored_at.values())
                self.replacements = [each for each in self.replacements if each.seq > oldest]
        elif told.kind == REPLACEMENT and told.member is not None:
            self.replacements.append(Replacement(told.seq, told.member.member_id))

    def agrees_with(self, group: Group) -> bool:
        if (self.generation_id, self.state) != (group.generation_id, group.state):
            return False
        at = self.stored_at.get((self.generation_id, self.state), 0)
        last = self.replacements[-1] if self.replacements else None
        return last is None or last.seq < at or last.member_id in group.members

    def void_from(self, group: Group) -> int | None:
        """The first event after the group was last told to be as it is; None when it never was."""
        at = self.stored_at.get((group.generation_id, group.state))
        if at is None:
            return None
        replaced = (each.seq for each in self.replacements if each.seq > at and each.member_id in group.members)
        return max(replaced, default=at) + 1


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
