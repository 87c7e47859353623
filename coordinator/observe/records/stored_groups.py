"""What the records of `__consumer_offsets` tell of many groups at once: of each what it is now, in little memory.

Share and streams groups too: epochs, members and member epochs lie where those of consumer groups lie.
"""

from typing import Final

import msgspec

from _wire.batch_reader import Record
from _wire.embedded import decode_versioned
from _wire.group_table import GroupTable
from _wire.messages.group_metadata_record import GroupMetadataValue
from coordinator.observe.records.stored import MALFORMED

CLASSIC_TYPE: Final = 2
EPOCHS: Final = {3: "consumer", 11: "share", 17: "streams"}
MEMBERS: Final = {5: "consumer", 10: "share", 19: "streams"}
TARGETS: Final = {6: "consumer", 12: "share", 20: "streams"}
CURRENT: Final = {8: "consumer", 14: "share", 22: "streams"}
"""Record type → type of the group, for its epoch, its members, the epoch of its target, and what each member holds."""

GROUP_ID: Final = 4
"""Where the group's id begins in a key."""
MEMBERS_MAX: Final = 500_000
"""Of all groups together: some 200 bytes each."""
STABLE: Final = 0
"""State of a member that holds what it shall."""


class ListedByRecords(msgspec.Struct):
    """A group as its records tell it. A group that has only committed offsets is classic, Empty, without a generation.

    `generation` is the epoch of groups of other types than classic. Times are in ms since the epoch, -1: none.
    `members` is None if they were too many to be told apart. `commits` are those that compaction has left; those of
    transactions that were aborted are among them.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    generation: int | None
    members: int | None
    last_ms: int
    """The last record of the group itself."""
    commits: int = 0
    last_commit_ms: int = -1


class _Group(msgspec.Struct):
    type: str = ""
    """Empty: the group was deleted."""
    protocol_type: str = ""
    generation: int = 0
    target: int = 0
    last_ms: int = -1
    member_count: int = 0
    """Of a classic group."""
    members: dict[bytes, tuple[int, int]] | None = None
    """Of another one: member id → epoch and state."""
    has_too_many: bool = False


class StoredGroups:
    """Takes the records of groups, in order per group."""

    def __init__(self, groups_max: int, members_max: int = MEMBERS_MAX) -> None:
        self._groups: dict[bytes, _Group] = {}
        self._groups_max = groups_max
        self._members_left = members_max
        self.damaged = 0
        """Records that cannot be read."""
        self.left_out = 0
        """Records of groups that found no place."""

    def apply(self, record: Record) -> None:
        key, value = record.key or b"", record.value
        record_type, size = int.from_bytes(key[:2], "big"), int.from_bytes(key[2:GROUP_ID], "big")
        group_id, rest = key[GROUP_ID : GROUP_ID + size], key[GROUP_ID + size :]
        group = self._groups.get(group_id)
        if group is None:
            if value is None:
                return
            if len(self._groups) >= self._groups_max:
                self.left_out += 1
                return
            group = self._groups[group_id] = _Group()
        group.last_ms = max(group.last_ms, record.timestamp_ms)
        try:
            self._apply(group, record_type, rest, value)
        except MALFORMED:
            self.damaged += 1

    def _apply(self, group: _Group, record_type: int, rest: bytes, value: bytes | None) -> None:
        if record_type == CLASSIC_TYPE:
            self._classic(group, value)
        elif record_type in EPOCHS:
            self._epoch(group, EPOCHS[record_type], value)
        elif record_type in MEMBERS:
            self._member(group, rest, value)
        elif record_type in TARGETS:
            group.target = 0 if value is None else _int32(value, 2)
        elif record_type in CURRENT and value is not None and rest in (group.members or ()):
            _int32(value, 7)  # epoch, previous epoch and state are there
            (group.members or {})[rest] = _int32(value, 2), value[10]

    def _classic(self, group: _Group, value: bytes | None) -> None:
        if value is None:
            if group.type == "classic":
                group.type = ""
            return
        stored = decode_versioned(GroupMetadataValue, value)
        self._forget_members(group)
        group.type, group.protocol_type = "classic", stored.protocol_type
        group.generation, group.member_count = stored.generation, len(stored.members)

    def _epoch(self, group: _Group, group_type: str, value: bytes | None) -> None:
        if value is None:
            if group.type == group_type:
                group.type = ""
                self._forget_members(group)
            return
        group.type = group.protocol_type = group_type
        group.generation = _int32(value, 2)

    def _member(self, group: _Group, member: bytes, value: bytes | None) -> None:
        if group.members is None:
            group.members = {}
        if value is None:
            if group.members.pop(member, None) is not None:
                self._members_left += 1
        elif member not in group.members:
            if self._members_left <= 0:
                group.has_too_many = True
                return
            self._members_left -= 1
            group.members[member] = -1, STABLE

    def _forget_members(self, group: _Group) -> None:
        self._members_left += len(group.members or ())
        group.members, group.has_too_many, group.target = None, False, 0

    def listed(self, table: GroupTable) -> list[ListedByRecords]:
        """The groups by name, with what they committed. Deleted ones are left out, unless they committed since."""
        found = []
        for group_id, commits, last_commit_ms in table:
            group = self._groups.get(group_id)
            if group is None or (not group.type and last_commit_ms > group.last_ms):
                group = _Group("classic", generation=-1, last_ms=-1 if group is None else group.last_ms)
            if group.type and (commits or group.generation >= 0):
                found.append(_listed(group_id, group, commits, last_commit_ms))
        listed_ids = {group_id for group_id, *_ in table}
        others = ((group_id, other) for group_id, other in self._groups.items() if group_id not in listed_ids)
        found += [_listed(group_id, other, 0, -1) for group_id, other in others if other.type]
        return sorted(found, key=lambda listed_by_records: listed_by_records.group_id)


def _listed(group_id: bytes, group: _Group, commits: int, last_commit_ms: int) -> ListedByRecords:
    members: int | None = group.member_count if group.type == "classic" else len(group.members or ())
    return ListedByRecords(
        group_id.decode(errors="replace"),
        group.type,
        _state(group),
        group.protocol_type,
        None if group.generation < 0 else group.generation,
        None if group.has_too_many else members,
        group.last_ms,
        commits,
        last_commit_ms,
    )


def _state(group: _Group) -> str:
    """As Kafka names it. What has no record, such as PreparingRebalance, is not seen."""
    if group.type == "classic":
        return "Stable" if group.member_count else "Empty"
    if not group.members:
        return "Empty"
    if group.type == "share":
        return "Stable"
    if group.target < group.generation:
        return "Assigning"
    is_stable = all(member == (group.generation, STABLE) for member in group.members.values())
    return "Stable" if is_stable else "Reconciling"


def _int32(value: bytes, at: int) -> int:
    """Raises ValueError."""
    if len(value) < at + 4:
        raise ValueError("a value is cut short")
    return int.from_bytes(value[at : at + 4], "big", signed=True)
