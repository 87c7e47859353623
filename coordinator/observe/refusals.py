"""Clients that were refused, as lines tell: the first time, then now and then with how often, as a coordinator does."""

from typing import Final, NamedTuple

import msgspec

from coordinator.audit.schema import REJECTION_APART_MS
from coordinator.observe.group_so_far import MemberSoFar
from coordinator.observe.logs.client_statements import ClientStatement, Fenced, HeartbeatFailed, JoinFailed

REFUSED: Final = frozenset(
    {
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNRELEASED_INSTANCE_ID",
        "UNSUPPORTED_ASSIGNOR",
    }
)
"""Errors that a client cannot put right by asking again at once. The others are part of a rebalance, or of a move."""
KEPT_MAX: Final = 100


class Refusal(NamedTuple):
    """A request that was refused. `error` is Kafka's name of it.

    The fields from `software` on are empty where they are not seen: what the library of the client calls itself, the
    generation that the request named, and what a JoinGroup offered.
    """

    api: str
    error: str
    member: MemberSoFar
    software: str = ""
    generation_id: int | None = None
    protocol_type: str = ""
    protocols: tuple[str, ...] = ()

    @property
    def is_about_instance(self) -> bool:
        """Whether another member has the static instance id of the client."""
        return self.error in ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID")


class Refusals(msgspec.Struct, array_like=True):
    """How often each client of a group was refused, and when that was told last."""

    counts: dict[str, tuple[int, int]] = {}

    def count(self, refusal: Refusal, at_ms: int) -> int | None:
        """How often it happened by now, if that is to be told: for the 1st, 10th, 100th, … time, and now and then."""
        member = refusal.member
        who = member.client_id or member.member_id
        key = f"{refusal.api} {refusal.error} {who} {member.group_instance_id or ''}"
        times, reported_ms = self.counts.get(key, (0, 0))
        times += 1
        is_reported = _is_power_of_ten(times) or at_ms - reported_ms >= REJECTION_APART_MS
        others = {reason: value for reason, value in self.counts.items() if reason != key}
        self.counts = dict(list(others.items())[1 - KEPT_MAX :]) | {key: (times, at_ms if is_reported else reported_ms)}
        return times if is_reported else None


def _is_power_of_ten(number: int) -> bool:
    return str(number).strip("0") == "1"


def refusal_of(statement: ClientStatement) -> Refusal | None:
    """What the line of a client says that it was refused; None: nothing."""
    if statement.is_doubtful or not isinstance(statement, (JoinFailed, HeartbeatFailed, Fenced)):
        return None
    if statement.error not in REFUSED:
        return None
    member = MemberSoFar(statement.member_id or "", statement.client_id or "", "", statement.group_instance_id)
    api = "JoinGroup" if isinstance(statement, JoinFailed) else "Heartbeat"
    return Refusal(api, statement.error, member)
