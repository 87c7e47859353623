"""The protocol of streams groups (KIP-1071): StreamsGroupHeartbeat."""

from typing import Final

import msgspec

from coordinator.explain.claims.causes import Change
from coordinator.explain.claims.endings import InProgress
from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.sentences.topologies import topology_problem
from coordinator.explain.words import Names


def _cannot_share(offered: str) -> str:
    return f"the group is a streams group (KIP-1071), and a client that offers {offered} cannot be a member of it"


def _in_progress(claim: InProgress, names: Names) -> str:
    if not claim.is_ready:
        problem = topology_problem(claim.topology_status, claim.topics, claim.unnamed_topics)
        return f"Members get no tasks: the topology cannot run, because {problem}."
    return CONSUMER.in_progress(claim, names)


STREAMS: Final[Protocol] = msgspec.structs.replace(
    CONSUMER,
    name="streams",
    session_timeout="streams.session.timeout.ms of the group",
    same_topics=Change.PROCESS,
    changed_subscriptions=None,
    cannot_share=_cannot_share,
    in_progress=_in_progress,
)
