"""Which of the ways to read a message is right: decided by the ids that are known.

A group is known if the caller names it, or if a line that can be read in one way only names it. A member id is
plausible if it is known, or has the form that brokers and clients give it.
"""

import re
from collections.abc import Iterable
from typing import Final

from coordinator.observe.logs.messages import Reading
from coordinator.observe.logs.statements import Reason

UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
MADE_ID: Final = re.compile(rf"(?s:(?:.*-)?{UUID})|[A-Za-z0-9_+/-]{{22}}")
"""`CLIENTID-UUID` of the broker, or 22 characters of base64 (KIP-848)."""
SUFFIX_CHARS: Final = 37
"""What the broker adds to a client's or an instance id."""

TEMPORARILY: Final = -2
"""Rank of a reading whose instance id ends with a word of another message."""
SEEN_MAX: Final = 200_000


class SeenIds:
    """Ids that were seen where nothing else could be meant."""

    def __init__(self, groups: Iterable[str] = ()) -> None:
        self._groups = set(groups)
        self._members: set[str] = set()

    def learn(self, reading: Reading) -> None:
        if len(self._groups) < SEEN_MAX:
            self._groups.update(reading.groups)
        if len(self._members) < SEEN_MAX:
            self._members.update(reading.members)

    def is_group(self, group_id: str) -> bool:
        return group_id in self._groups

    def is_plausible(self, member_id: str) -> bool:
        return member_id in self._members or MADE_ID.fullmatch(member_id) is not None

    def has_members(self, member_ids: list[str]) -> bool:
        return self._members.issuperset(member_ids)

    def split(self, text: str) -> tuple[tuple[str, ...], bool]:
        """The member ids of a list, and whether all are plausible. Ids may have commas in them."""
        found: list[str] = []
        pending: str | None = None
        for part in text.split(", "):
            pending = part if pending is None else f"{pending}, {part}"
            if pending == "" or self.is_plausible(pending):  # of a static member that was removed by its instance id
                found.append(pending)
                pending = None
        if pending is None:
            return tuple(found), True
        return tuple(text.split(", ")), ", " not in text


def choose(found: list[Reading], seen_ids: SeenIds) -> tuple[Reading, bool]:
    """The likeliest reading, and whether it is sure. `found` is not empty."""
    if len(found) == 1:
        return found[0], True
    ranked = sorted(found, key=lambda reading: _rank(reading, seen_ids), reverse=True)
    best = ranked[0]
    if not _is_plausible(best, seen_ids) or _rank(best, seen_ids) <= _rank(ranked[1], seen_ids):
        return best, False
    of_same_group = [
        reading for reading in ranked[1:] if reading.groups == best.groups and _fits(reading) != TEMPORARILY
    ]
    return best, not of_same_group or seen_ids.has_members(best.members) or _fits(best) == 1


def _rank(reading: Reading, seen_ids: SeenIds) -> tuple[int, ...]:
    groups = sum(map(seen_ids.is_group, reading.groups))
    members = sum(
        1 if member in _nobody(reading) or seen_ids.is_plausible(member) else -1 for member in reading.members
    )
    if reading.list_text is not None:
        members += 1 if seen_ids.split(reading.list_text)[1] else -1
    is_reason_of_kafka = reading.reason is None or reading.reason.reason is not Reason.OTHER
    return 2 * groups + members + 2 * is_reason_of_kafka, _fits(reading)


def _nobody(reading: Reading) -> tuple[str, ...]:
    """An administrator who removes a static member by its instance id gives no member id."""
    return ("",) if reading.reason is not None and reading.reason.reason is Reason.LEFT else ()


def _fits(reading: Reading) -> int:
    """A static member's id begins with its instance id. `temporarily left` is not an instance id's end."""
    if reading.instance_of is None:
        return 0
    instance, member_id = reading.instance_of
    if instance.endswith(" temporarily"):
        return TEMPORARILY
    return 1 if member_id[:-SUFFIX_CHARS] == instance else -1


def _is_plausible(reading: Reading, seen_ids: SeenIds) -> bool:
    return (
        all(map(seen_ids.is_group, reading.groups))
        and all(member in _nobody(reading) or seen_ids.is_plausible(member) for member in reading.members)
        and (reading.list_text is None or seen_ids.split(reading.list_text)[1])
    )
