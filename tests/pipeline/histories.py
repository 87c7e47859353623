"""Histories like those of real groups, with the structs of the audit: many groups, several members.

Groups start, grow, lose members by leaving and by silence, are rebalanced by a rejoining leader, commit offsets, and
are deleted. The events of the groups are interleaved as in a partition of the audit topic.
"""

import random
from typing import Any, Final

from coordinator.audit.schema import MemberJoined, MemberRef, MemberRemoved, OffsetsCommitted, encode_event
from coordinator.core.causes import Cause
from tests.pipeline.history import History

PARTITIONS: Final = 12
GROUPS_AT_ONCE: Final = 20


def realistic(events: int, seed: int = 0, prefix: str = "group-") -> list[bytes]:
    """As many encoded events."""
    chance = random.Random(seed)
    histories = [_Group(History(f"{prefix}{number}"), chance) for number in range(GROUPS_AT_ONCE)]
    found: list[bytes] = []
    while len(found) < events:
        found += chance.choice(histories).next_values()
    return found[:events]


class _Group:
    def __init__(self, history: History, chance: random.Random) -> None:
        self.history = history.created()
        self._chance = chance
        self._members: list[MemberRef] = []
        self._joined = 0
        self._told = 0

    def next_values(self) -> list[bytes]:
        if len(self._members) < 2 or (len(self._members) < 6 and self._chance.random() < 0.4):
            cause, who = Cause.NEW_MEMBER, self._join()
        else:
            cause = self._chance.choice([Cause.SESSION_EXPIRED, Cause.MEMBER_LEFT, Cause.LEADER_REJOINED])
            who = self._members[0] if cause is Cause.LEADER_REJOINED else self._remove(cause)
        history = self.history.rebalance(cause, who, reason="rebalance", members=len(self._members))
        history.started(members=len(self._members), leader=self._members[0].member_id)
        if self._chance.random() < 0.05:
            history.superseded()
        else:
            for place, one in enumerate(self._members):
                history.assigned(one, list(range(place, PARTITIONS, len(self._members))))
            history.stable(members=len(self._members), moved=self._chance.randrange(PARTITIONS))
        for _ in range(self._chance.randrange(3)):
            self._commit()
        values = [encode_event(event) for event in history.events[self._told :]]
        self._told += len(values)
        return values

    def _join(self) -> MemberRef:
        self._joined += 1
        name = f"consumer-{self._joined}"
        who = MemberRef(f"{name}-5f1c0c4e-77b1-4a4b-8f3c-{self._joined:012}", name, "/10.0.4.7")
        self._members.append(who)
        own: dict[str, Any] = {"protocols": ["range", "cooperative-sticky"], "subscribed_topics": ["orders"]}
        timeouts: dict[str, Any] = {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000}
        self.history.add(MemberJoined, "Stable", member=who, **own, **timeouts)
        return who

    def _remove(self, cause: Cause) -> MemberRef:
        who = self._members.pop(self._chance.randrange(len(self._members)))
        self.history.add(MemberRemoved, "Stable", member=who, cause=cause, reason="")
        return who

    def _commit(self) -> None:
        numbers: dict[str, Any] = {"interval_ms": 60_000, "commits": 12, "partitions": 12}
        offsets: dict[str, Any] = {"first_log_offset": 100, "last_log_offset": 111}
        self.history.add(OffsetsCommitted, "Stable", **numbers, **offsets)
