"""The findings of groups (`coordinator/explain/findings.py`) as rows.

A group is looked at after each batch that told of it. A row says that a finding began, changed, or is over; readers
take the latest.
"""

from hashlib import blake2b
from typing import Final

import msgspec

from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from coordinator.pipeline.generations import Row

LastRows = dict[str, bytes]
"""Kind and client of each finding of a group → a digest of what was told last."""

_to_json: Final = msgspec.json.Encoder().encode


def look(history: GroupHistory, last_rows: LastRows) -> list[Row]:
    """The rows of what a group's findings are now and were not before; `last_rows` becomes what they are now."""
    rows: list[Row] = []
    now: LastRows = {}
    for finding in findings(history, history.last_ms or 0):
        key = f"{finding.kind.value} {finding.about}"
        now[key] = _digest(finding)
        if last_rows.get(key) != now[key]:
            rows.append(_row(history, finding))
    for key in last_rows.keys() - now.keys():
        kind, _, about = key.partition(" ")
        rows.append({**_head(history), "kind": kind, "about": about, "is_over": True})
    last_rows.clear()
    last_rows.update(now)
    return rows


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
    rests_on = [generation.generation_id for generation in finding.generations(history)]
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
