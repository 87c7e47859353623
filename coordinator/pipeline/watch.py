"""The findings of groups (`coordinator/explain/findings.py`) as rows, by what is remembered of each group.

A group is looked at after each batch that told of it, and in between after `LOOK_EVERY_GENERATIONS`, so that no storm
is missed in a long batch. A row says that a finding began, changed, or is over; readers take the latest.
"""

import zlib
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from coordinator.audit.schema import decode_event
from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import GENERATIONS_REMEMBERED, Memory, recall, remember
from coordinator.pipeline.generations import Event, Row

LOOK_EVERY_GENERATIONS: Final = GENERATIONS_REMEMBERED // 2
PACK_LEVEL: Final = 1
BEGINNING: Final = "rebalance.started"
ASSIGNED: Final = "member.assigned"
WAITING_MAX: Final = 1_000
"""Events of one generation that wait; beyond that all are applied."""

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Memory).decode
_to_json: Final = msgspec.json.Encoder().encode


class Watched(msgspec.Struct):
    """What is kept of a group between batches. `told` is kind and client → a digest of what was told last."""

    memory: bytes = b""
    told: dict[str, bytes] = {}


@dataclass(slots=True)
class _Open:
    """A group that the batch tells of.

    `waiting` are events of the newest generation, not yet applied: what was assigned in a generation is asked only as
    long as it is the newest, and half of all events tell that.
    """

    history: GroupHistory
    watched: Watched
    waiting: list[tuple[Event, bytes]] = field(default_factory=list)
    is_due: bool = False
    begun: int = 0
    """Generations since the group was looked at."""


class Watch:
    """Takes the events of a batch; groups that it did not tell of cost nothing."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._open: dict[str, _Open] = {}

    def note(self, event: Event, value: bytes, watched: Watched) -> None:
        """Take in the next event of a group; `value` is its JSON, `watched` what is kept of the group."""
        group_id = event["group_id"]
        group = self._open.get(group_id)
        if group is None:
            history = _unpacked(watched.memory) if watched.memory else GroupHistory(group_id, GENERATIONS_REMEMBERED)
            group = self._open[group_id] = _Open(history, watched)
        kind = event["kind"]
        if kind == BEGINNING or len(group.waiting) >= WAITING_MAX:
            _apply(group, with_assignments=kind != BEGINNING)
            group.begun += kind == BEGINNING
            if group.begun >= LOOK_EVERY_GENERATIONS:
                self._look(group)
        group.waiting.append((event, value))
        group.is_due = group.is_due or kind != "offsets.committed" or bool(watched.told)

    def finish(self) -> list[Row]:
        """Look at each group that the batch told of; return all rows."""
        for group in self._open.values():
            _apply(group, with_assignments=True)
            if group.is_due:
                self._look(group)
            group.watched.memory = zlib.compress(_encode(remember(group.history)), PACK_LEVEL)
        self._open.clear()
        return self.rows

    def _look(self, group: _Open) -> None:
        history, told = group.history, group.watched.told
        group.begun = 0
        now: dict[str, bytes] = {}
        for finding in findings(history, history.last_ms or 0):
            key = f"{finding.kind.value} {finding.about}"
            now[key] = _digest(finding)
            if told.get(key) != now[key]:
                self.rows.append(_row(history, finding))
        for key in told.keys() - now.keys():
            kind, _, about = key.partition(" ")
            self.rows.append({**_head(history), "kind": kind, "about": about, "is_over": True})
        group.watched.told = now


def _apply(group: _Open, *, with_assignments: bool) -> None:
    """Apply the events that wait; one of a kind or form that is not known tells nothing."""
    history = group.history
    for event, value in group.waiting:
        if event["kind"] == ASSIGNED and not with_assignments:
            history.pass_over(event["seq"], event["time_ms"])
            continue
        try:
            history.apply(decode_event(value))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            history.pass_over(event["seq"], event["time_ms"])
    group.waiting.clear()


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
