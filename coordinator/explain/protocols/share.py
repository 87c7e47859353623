"""The protocol of share groups (KIP-932): ShareGroupHeartbeat."""

from collections.abc import Iterator
from typing import Final

import msgspec

from coordinator.explain.claims.causes import Change
from coordinator.explain.claims.endings import InProgress, Superseded
from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.protocol import Protocol, Waits
from coordinator.explain.words import Names


def _superseded(claim: Superseded, took: str, names: Names) -> Iterator[str]:
    what = "all members had asked for it" if claim.had_target else "its target assignment was computed"
    yield f"It never became stable:{took} the group epoch rose again before {what}."


def _in_progress(claim: InProgress, names: Names) -> str:
    if claim.has_started:
        return "It is still in progress: some members have not sent a heartbeat since, so they have no new assignment."
    return (
        "It is still in progress: a heartbeat of a member computes its target assignment, once the assignment"
        " interval since the last one is over."
    )


def _cannot_share(offered: str) -> str:
    return f"the group is a share group (KIP-932), and a client that offers {offered} cannot be a member of it"


SHARE: Final[Protocol] = msgspec.structs.replace(
    CONSUMER,
    name="share",
    session_timeout="share.session.timeout.ms of the group",
    same_topics=Change.TOPICS,
    cannot_share=_cannot_share,
    waits=(Waits("assigned after", lambda part: part.sync_ms),),
    superseded=_superseded,
    in_progress=_in_progress,
)
