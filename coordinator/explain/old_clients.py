"""Members whose client asks for versions that the server refuses: it is too old to read, or to commit."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import REJECTION_APART_MS, MemberRef, RequestRejected
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Names, plain

UNSUPPORTED: Final = "UNSUPPORTED_VERSION"
SLACK_MS: Final = 120_000
"""Beyond the time between two events while it goes on: they are gathered for a minute."""

LACKS: Final = {
    "Fetch": "to read: nobody reads the partitions that it owns",
    "ListOffsets": "to find where to begin to read",
    "OffsetFetch": "to fetch committed offsets",
    "OffsetCommit": "to commit offsets",
}
"""API → what its client cannot do."""


def is_too_old(event: RequestRejected) -> bool:
    """Whether a client was refused because of the version that it asked for."""
    return event.error == UNSUPPORTED and event.refused_version is not None


def refusal(event: RequestRejected, names: Names) -> str:
    """A clause about the event."""
    asked = f"{plain(event.api)} v{event.refused_version}, and the server has v{event.oldest_version} and later alone"
    return f"{names.full(event.member)} is too old {LACKS.get(event.api, 'for this server')} (it asked for {asked})"


def too_old_now(history: GroupHistory, now_ms: int) -> Iterator[tuple[MemberRef, list[RequestRejected]]]:
    """Members that are too old, each with what it was refused, oldest first, for as long as that goes on."""
    found: dict[tuple[str, str], list[RequestRejected]] = {}
    for event in history.rejected:
        if is_too_old(event) and not event.injected and event.member.member_id in history.members:
            found.setdefault((event.member.member_id, event.api), []).append(event)
    for (member_id, _), events in found.items():
        if now_ms - events[-1].time_ms <= REJECTION_APART_MS + SLACK_MS:
            yield history.members[member_id].member, events
