"""The audit events of a batch, folded into the rows that the batch adds to the tables. No Spark, no files.

The events of a group are in one partition of the topic, in order, so the rows follow from one pass with a small state
per group. Tables are only appended to: a row is final once it is written.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Final

import msgspec

from coordinator.pipeline import generations
from coordinator.pipeline.generations import CUT_SHORT, IN_PROGRESS, Event, Row
from coordinator.pipeline.inferred import KnownGroup
from coordinator.pipeline.names import (
    COMMITS,
    FINDINGS,
    GAPS,
    GENERATIONS,
    MEMBERSHIPS,
    OWNERSHIP,
    RATE_WINDOW_MS,
    REBALANCE_RATES,
    REJECTS,
    SILVER,
    VOIDS,
)
from coordinator.pipeline.watch import Watch, Watched

MISSING_MAX: Final = 1_000
"""How many missing events of a group are remembered. A missing event that comes later is accepted; others are not."""

UNKNOWN_CAUSE: Final = "unknown"

_NEEDED: Final = {
    "group_id": str,
    "seq": int,
    "created_seq": int,
    "time_ms": int,
    "generation_id": int,
    "coordinator_epoch": int,
    "state": str,
}

_decode = msgspec.json.Decoder().decode


class Position(msgspec.Struct, frozen=True, array_like=True):
    """Where a record is in the topic, and when it was appended (ms since the epoch)."""

    partition: int
    offset: int
    timestamp_ms: int


class Membership(msgspec.Struct):
    """A member since it joined, with the partitions that it owns."""

    row: Row
    owned: set[tuple[str, int]] = msgspec.field(default_factory=set)


class GroupState(msgspec.Struct):
    """What a batch has to know of the batches before."""

    seq: int = 0
    offset: int = -1
    """Of its last event in the topic."""
    missing: list[int] = []
    open: Row | None = None
    members: dict[str, Membership] = {}
    stored: KnownGroup | None = None
    """The group as its records in `__consumer_offsets` describe it, if those are what is read."""
    watched: Watched = msgspec.field(default_factory=Watched)


class ReadRange(msgspec.Struct):
    """The last run of offsets of a partition that was read without a hole."""

    first_offset: int = 0
    next_offset: int = 0

    def note(self, offset: int) -> None:
        """A record was read. What lies between it and the one before was deleted from the topic, by its retention."""
        if offset > self.next_offset:
            self.first_offset = offset
        self.next_offset = max(self.next_offset, offset + 1)


class FoldState(msgspec.Struct, array_like=True):
    """What a batch has to know of all batches before."""

    groups: dict[str, GroupState] = {}
    read: dict[int, ReadRange] = {}
    """Partition → what of it was read."""


Rows = dict[str, list[Row]]
"""Table → the rows to append."""


class Fold:
    """Takes records in, in the order of each partition; collects the rows of each table and the groups touched."""

    def __init__(self, state: FoldState) -> None:
        """`state` is that before; it is changed."""
        self.groups = state.groups
        self.read = state.read
        self.rows: Rows = defaultdict(list)
        self.touched: set[str] = set()
        self._rates: Counter[tuple[str, int, str]] = Counter()
        self._watch = Watch()

    def take_in(self, values: Iterable[bytes], positions: Iterable[Position]) -> None:
        for value, position in zip(values, positions, strict=True):
            self._range_of(position).note(position.offset)
            event, why = _read(value)
            if event is None:
                self.reject(why, value, position)
            elif "group_id" not in event:
                if position.partition == 0:  # the others repeat it for readers of one group
                    self._keep(event, value, position)
            else:
                self.take_event(event, value, position)

    def take_event(self, event: Event, value: bytes, position: Position) -> None:
        """Take in a valid event of a group; `value` is its JSON."""
        if self._is_new(event, position):
            self._keep(event, value, position)
            group = self.groups[event["group_id"]]
            if event["seq"] == group.seq:
                self._apply(event)
                if not event.get("is_inferred"):
                    self._watch.note(event, value, group.watched)

    def _range_of(self, position: Position) -> ReadRange:
        found = self.read.get(position.partition)
        if found is None:
            found = self.read[position.partition] = ReadRange()
        return found

    def reject(self, why: str, value: bytes | None, position: Position) -> None:
        self.rows[REJECTS].append({**where(position), "why": why, "value": value})

    def finish(self) -> Rows:
        """Return the rows, also those that are sums over the batch."""
        for (group_id, window_ms, cause), count in self._rates.items():
            row = {"group_id": group_id, "window_start_ms": window_ms, "cause": cause, "rebalances": count}
            self.rows[REBALANCE_RATES].append(row)
        if found := self._watch.finish():
            self.rows[FINDINGS] = found
        return self.rows

    def _keep(self, event: Event, value: bytes, position: Position) -> None:
        found, member = event.get, event.get("member")
        who: Row = member if isinstance(member, dict) else {}
        # Written out, because every event passes here: a comprehension takes three times as long.
        self.rows[SILVER].append(
            {
                "partition": position.partition,
                "offset": position.offset,
                "timestamp_ms": position.timestamp_ms,
                "kind": event["kind"],
                "group_id": found("group_id"),
                "seq": found("seq"),
                "created_seq": found("created_seq"),
                "time_ms": found("time_ms"),
                "generation_id": found("generation_id"),
                "state": found("state"),
                "coordinator_epoch": found("coordinator_epoch"),
                "cause": found("cause"),
                "member_id": who.get("member_id"),
                "client_id": who.get("client_id"),
                "value": value,
            }
        )

    def _is_new(self, event: Event, position: Position) -> bool:
        """Note the event as the last of its group, and what is missing before it; false if it was there before."""
        group_id, seq = event["group_id"], event["seq"]
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = GroupState()
        if seq <= group.seq:
            if seq not in group.missing:
                return False
            group.missing = [each for each in group.missing if each != seq]
            self.touched.add(group_id)
            self._add_gap(event, seq, seq, position, is_filled=True)
            return True
        created_seq = event["created_seq"]
        first = group.seq + 1 if group.seq >= created_seq else created_seq
        if first < seq:
            # Each event has an offset of its own, so those that are missing lay after the group's last one.
            is_unknown = group.seq > 0 and group.offset < 0  # its state is of an earlier version
            is_deleted = None if is_unknown else group.offset + 1 < self._range_of(position).first_offset
            self._add_gap(event, first, seq - 1, position, is_deleted=is_deleted)
            group.missing = [*group.missing, *range(first, min(seq, first + MISSING_MAX))][-MISSING_MAX:]
        group.seq, group.offset = seq, position.offset
        self.touched.add(group_id)
        return True

    def _add_gap(
        self,
        event: Event,
        first_seq: int,
        last_seq: int,
        position: Position,
        *,
        is_filled: bool = False,
        is_deleted: bool | None = False,
    ) -> None:
        """Add missing events of a group.

        `is_deleted`: they lay at offsets that the topic no longer had. None: that is unknown.
        """
        row = {name: event[name] for name in ("group_id", "created_seq", "time_ms")}
        row |= {"first_seq": first_seq, "last_seq": last_seq, "is_filled": is_filled, "is_deleted": is_deleted}
        self.rows[GAPS].append({**row, **where(position)})

    def _apply(self, event: Event) -> None:
        group, kind = self.groups[event["group_id"]], event["kind"]
        if kind in generations.KINDS:
            self._add_to_generation(group, event)
        match kind:
            case "rebalance.started":
                window_ms = event["time_ms"] // RATE_WINDOW_MS * RATE_WINDOW_MS
                self._rates[event["group_id"], window_ms, str(event.get("cause") or UNKNOWN_CAUSE)] += 1
            case "member.joined":
                self._join(group, event, event["member"])
            case "static_member.replaced":
                self._replace(group, event)
            case "member.removed":
                self._leave(group, event, event["member"]["member_id"], event.get("cause"), event.get("reason"))
            case "member.assigned":
                self._assign(group, event)
            case "group.removed":
                for member_id in list(group.members):
                    self._leave(group, event, member_id, "group_removed", None)
                self._end_open(group)
            case "group.loaded" | "group.snapshot":
                self._load(group, event)
            case "offsets.committed":
                self.rows[COMMITS].append({**_head(event), **{name: event.get(name) for name in COMMIT_FIELDS}})

    def _add_to_generation(self, group: GroupState, event: Event) -> None:
        row = group.open
        generation_id = generations.generation_of(event)
        if row is not None and (row["created_seq"], row["generation_id"]) != (event["created_seq"], generation_id):
            self._end_open(group)
            row = None
        if row is None:
            if event["kind"] == "member.assigned" and event.get("is_inferred"):
                return  # what a member holds may also change while the generation is stable
            row = group.open = generations.new_row(event)
        generations.add_event(row, event)
        if row["outcome"] != IN_PROGRESS:
            self._end_open(group)

    def _end_open(self, group: GroupState, outcome: str | None = None) -> None:
        if group.open is not None:
            if outcome is not None:
                group.open["outcome"] = outcome
            self.rows[GENERATIONS].append(group.open)
            group.open = None

    def _join(self, group: GroupState, event: Event, member: Row) -> None:
        row = {**_head(event), **{name: member.get(name) for name in MEMBER_FIELDS}}
        row["joined_seq"], row["joined_ms"] = event["seq"], event["time_ms"]
        group.members[member["member_id"]] = Membership(row)
        self.rows[MEMBERSHIPS].append(dict(row))

    def _leave(self, group: GroupState, event: Event, member_id: str, cause: str | None, reason: str | None) -> None:
        left = group.members.pop(member_id, None)
        if left is None:
            return
        row = {**left.row, "seq": event["seq"], "left_ms": event["time_ms"], "left_cause": cause, "left_reason": reason}
        self.rows[MEMBERSHIPS].append(row)
        self._own(event, None, sorted(left.owned))

    def _replace(self, group: GroupState, event: Event) -> None:
        """A static member came back under a new id: it owns what it owned."""
        old = group.members.pop(event["old_member_id"], None)
        self._join(group, event, event["member"])
        if old is not None:
            ending = {"seq": event["seq"], "left_ms": event["time_ms"], "left_cause": "static_member_replaced"}
            self.rows[MEMBERSHIPS].append({**old.row, **ending})
            group.members[event["member"]["member_id"]].owned = old.owned
            self._own(event, event["member"], sorted(old.owned))

    def _assign(self, group: GroupState, event: Event) -> None:
        member = event["member"]
        membership = group.members.get(member["member_id"])
        if membership is None:  # its joining is missing
            membership = group.members[member["member_id"]] = Membership({**_head(event), **member})
        lost = _pairs(event.get("lost")) & membership.owned
        gained = _pairs(event.get("gained"))
        for other in group.members.values():
            other.owned -= gained
        membership.owned = (membership.owned - lost) | gained
        taken = {pair for other in group.members.values() for pair in other.owned} if lost else set()
        self._own(event, None, sorted(lost - taken))
        self._own(event, member, sorted(gained))

    def _own(self, event: Event, member: Row | None, partitions: Iterable[tuple[str, int]]) -> None:
        member_id, client_id = (None, None) if member is None else (member["member_id"], member.get("client_id"))
        group_id, created_seq, seq, time_ms, generation_id = _HEAD(event)
        self.rows[OWNERSHIP] += [
            {
                "group_id": group_id,
                "created_seq": created_seq,
                "seq": seq,
                "time_ms": time_ms,
                "generation_id": generation_id,
                "topic": topic,
                "topic_partition": partition,
                "since_ms": time_ms,
                "member_id": member_id,
                "client_id": client_id,
            }
            for topic, partition in partitions
        ]

    def _load(self, group: GroupState, event: Event) -> None:
        """The group as it was stored: what the events since then said did not take effect."""
        void_from_seq = event.get("void_from_seq")
        if event["kind"] == "group.loaded" and void_from_seq is not None:
            self.rows[VOIDS].append({**_head(event), "first_seq": void_from_seq, "last_seq": event["seq"] - 1})
            if group.open is not None and group.open["last_seq"] >= void_from_seq:
                self._end_open(group, CUT_SHORT)
        present = {each["member"]["member_id"]: each for each in event.get("members") or ()}
        for member_id in [each for each in group.members if each not in present]:
            self._leave(group, event, member_id, "group_loaded", None)
        for member_id, each in present.items():
            if member_id not in group.members:
                self._join(group, event, each["member"])
            known, owned = group.members[member_id], _pairs(each.get("partitions"))
            if known.owned != owned and (event["kind"] == "group.loaded" or not known.owned):
                self._own(event, None, sorted(known.owned - owned))
                self._own(event, each["member"], sorted(owned - known.owned))
                known.owned = owned


_HEAD_FIELDS: Final = ("group_id", "created_seq", "seq", "time_ms", "generation_id")
_HEAD: Final = itemgetter(*_HEAD_FIELDS)

MEMBER_FIELDS: Final = (
    "member_id",
    "client_id",
    "client_host",
    "group_instance_id",
    "client_software_name",
    "client_software_version",
)
COMMIT_FIELDS: Final = ("interval_ms", "commits", "partitions", "first_log_offset", "last_log_offset")


def _read(value: bytes | None) -> tuple[Event | None, str]:
    """The event, or None and why the record is none. Fields and kinds of other names than ours are kept."""
    if value is None:
        return None, "no value"
    try:
        event = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return None, f"no JSON: {problem}"
    if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
        return None, "no JSON object with a kind"
    if event["kind"].startswith("coordinator."):  # of the server, not of a group
        return (event, "") if "group_id" not in event else (None, "an event of the server with a group_id")
    for name, kind in _NEEDED.items():
        if type(event.get(name)) is not kind:
            return None, f"no valid {name}"
    try:
        _check(event)
    except (msgspec.ValidationError, KeyError) as problem:
        return None, f"no valid {event['kind']}: {problem}"
    return event, ""


class _Member(msgspec.Struct):
    member_id: str


class _Loaded(msgspec.Struct):
    member: _Member
    partitions: dict[str, list[int]] = {}


class _Shape(msgspec.Struct):
    """What the fold relies on in the fields of the kinds that it applies."""

    member: _Member | None = None
    members: int | list[_Loaded] = 0
    gained: dict[str, list[int]] = {}
    old_member_id: str = ""
    void_from_seq: int | None = None


_WITH_MEMBER: Final = frozenset({"member.joined", "member.removed", "member.assigned", "static_member.replaced"})


def _check(event: Event) -> None:
    """Raise ValidationError or KeyError if the fold could not apply the event."""
    kind = event["kind"]
    if kind in _WITH_MEMBER:
        shape = msgspec.convert(event, _Shape)
        if shape.member is None:
            raise KeyError("member")
        if kind == "member.assigned":
            msgspec.convert(event.get("lost"), dict[str, list[int]])
        if kind == "static_member.replaced" and not shape.old_member_id:
            raise KeyError("old_member_id")
    elif kind in ("group.loaded", "group.snapshot", "rebalance.started"):
        msgspec.convert(event, _Shape)


def where(position: Position) -> Row:
    return {"partition": position.partition, "offset": position.offset, "timestamp_ms": position.timestamp_ms}


def _head(event: Event) -> Row:
    return dict(zip(_HEAD_FIELDS, _HEAD(event), strict=True))


def _pairs(by_topic: Any) -> set[tuple[str, int]]:
    return {(topic, index) for topic, indexes in (by_topic or {}).items() for index in indexes}
