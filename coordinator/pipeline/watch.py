"""The findings of groups (`coordinator/explain/findings.py`) as rows, by what is remembered of each group.

A group is looked at after each batch that told of it. A row says that a finding began, changed, or is over; readers
take the latest. What is asked of all events would cost as much as all other tables together, so of a group that had
more than `GENERATIONS_REMEMBERED` generations in a batch, the last ones are looked at. The table of rates, and so the
storms, leave out nothing.
"""

import zlib
from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from coordinator.audit.schema import decode_event
from coordinator.explain.findings import Finding, findings
from coordinator.explain.generation import Changes
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import GENERATIONS_REMEMBERED, Memory, recall, remember
from coordinator.pipeline.generations import Event, Row

PACK_LEVEL: Final = 1
BEGINNING: Final = "rebalance.started"
ASSIGNED: Final = "member.assigned"
COMMITTED: Final = "offsets.committed"
OF_MEMBERS: Final = frozenset(
    {"member.joined", "member.removed", "static_member.replaced", "group.loaded", "group.snapshot", "group.removed"}
)
"""Kinds that say who is in the group. They are applied even of generations that are not looked at."""

Waiting = tuple[str, int, int, bytes]
"""An event that is not yet applied: kind, seq, time_ms and the whole as JSON."""

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Memory).decode
_to_json: Final = msgspec.json.Encoder().encode


class Watched(msgspec.Struct):
    """What is kept of a group between batches. `told` is kind and client → a digest of what was told last."""

    memory: bytes = b""
    told: dict[str, bytes] = {}


@dataclass(slots=True)
class _Open:
    """A group that the batch tells of. `waiting` are its events, in lists that begin with a rebalance each."""

    watched: Watched
    waiting: deque[list[Waiting]]
    passed_over: list[Waiting] = field(default_factory=list)
    """Those of generations that are not looked at, as far as they say who is in the group."""
    is_due: bool = False


class Watch:
    """Takes the events of a batch; groups that it did not tell of cost nothing."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._open: dict[str, _Open] = {}

    def note(self, event: Event, value: bytes, watched: Watched) -> None:
        """Take in the next event of a group; `value` is its JSON, `watched` what is kept of the group."""
        group_id, kind = event["group_id"], event["kind"]
        group = self._open.get(group_id)
        if group is None:
            group = self._open[group_id] = _Open(watched, deque([[]]))
        if kind == BEGINNING:
            if len(group.waiting) > GENERATIONS_REMEMBERED:
                group.passed_over += (each for each in group.waiting.popleft() if each[0] in OF_MEMBERS)
            group.waiting.append([])
        group.waiting[-1].append((kind, event["seq"], event["time_ms"], value))
        group.is_due = group.is_due or kind != COMMITTED or bool(watched.told)

    def finish(self) -> list[Row]:
        """Look at each group that the batch told of; return all rows."""
        for group_id, group in self._open.items():
            memory = group.watched.memory
            history = _unpacked(memory) if memory else GroupHistory(group_id, GENERATIONS_REMEMBERED)
            _apply(history, group.passed_over)
            if group.passed_over:
                history.pending_changes = Changes()  # they belong to rebalances that are not looked at
            for place, waiting in enumerate(group.waiting, 1):
                # What was assigned is asked of the newest generation only, and half of all events tell that.
                _apply(history, waiting, is_newest=place == len(group.waiting))
            if group.is_due:
                self._look(history, group.watched)
            group.watched.memory = zlib.compress(_encode(remember(history)), PACK_LEVEL)
        self._open.clear()
        return self.rows

    def _look(self, history: GroupHistory, watched: Watched) -> None:
        now: dict[str, bytes] = {}
        for finding in findings(history, history.last_ms or 0):
            key = f"{finding.kind.value} {finding.about}"
            now[key] = _digest(finding)
            if watched.told.get(key) != now[key]:
                self.rows.append(_row(history, finding))
        for key in watched.told.keys() - now.keys():
            kind, _, about = key.partition(" ")
            self.rows.append({**_head(history), "kind": kind, "about": about, "is_over": True})
        watched.told = now


def _apply(history: GroupHistory, waiting: list[Waiting], *, is_newest: bool = True) -> None:
    """Apply events; one of a kind or form that is not known tells nothing."""
    for kind, seq, time_ms, value in waiting:
        if kind == ASSIGNED and not is_newest:
            history.pass_over(seq, time_ms)
            continue
        try:
            history.apply(decode_event(value))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            history.pass_over(seq, time_ms)


def _unpacked(memory: bytes) -> GroupHistory:
    return recall(_decode(zlib.decompress(memory)))


def _digest(finding: Finding) -> bytes:
    text = _to_json([finding.headline, finding.evidence, finding.advice, finding.from_ms])
    return blake2b(text, digest_size=8).digest()


def _head(history: GroupHistory) -> Row:
    return {
        "group_id": history.group_id,
        "created_seq": history.created_seq,
        "seq": history.last_seq,
        "time_ms": history.last_ms,
        "generation_id": history.generation_id,
    }


def _row(history: GroupHistory, finding: Finding) -> Row:
    rests_on = [each.generation_id for each in finding.generations(history)]
    return {
        **_head(history),
        "kind": finding.kind.value,
        "about": finding.about,
        "is_over": False,
        "headline": finding.headline,
        "evidence": _to_json(finding.evidence).decode(),
        "advice": finding.advice,
        "from_ms": finding.from_ms,
        "until_ms": finding.until_ms,
        "first_generation_id": rests_on[0] if rests_on else None,
        "last_generation_id": rests_on[-1] if rests_on else None,
    }
