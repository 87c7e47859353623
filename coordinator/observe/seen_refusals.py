"""Requests that were refused, as nodes saw them answered: those of which the coordinator of the nodes tells, too."""

from typing import Final

from _wire.errors import ErrorCode
from coordinator.audit.schema.sighted import AnySighting, Beat, ClientSighted, Joined, Synced
from coordinator.observe.group_so_far import MemberSoFar
from coordinator.observe.refusals import Refusal
from coordinator.observe.seen import SeenGroup

COMMITS: Final = frozenset({"OffsetCommit", "TxnOffsetCommit"})
OF_A_MOVE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""The cluster is at work, and the client asks again."""
OF_A_REBALANCE: Final = frozenset({ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})
LOST_ITS_PLACE: Final = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""Errors of a commit whose client has lost its place: as another error may mean, the client shall not send it again."""


def refused(sighting: AnySighting, seen: SeenGroup) -> Refusal | None:
    """The refusal that was seen; None: what was seen is none. Call it before `seen` has applied it."""
    match sighting:
        case Joined(error=error) if error and error not in OF_A_REBALANCE | OF_A_MOVE:
            member_id, api, generation_id = sighting.asked_member_id, "JoinGroup", None
        case Synced(error=error) if error and error not in OF_A_REBALANCE | OF_A_MOVE:
            member_id, api, generation_id = sighting.member_id, "SyncGroup", sighting.generation_id
        case Beat(error=error) if error and _is_reported(sighting, seen):
            member_id, api, generation_id = sighting.member_id, sighting.api, sighting.epoch
        case _:
            return None
    member = seen.members.get(member_id)
    client = member.client if isinstance(sighting, Synced) and member is not None else ClientSighted()
    instance_id = None if member is None else member.group_instance_id
    if not isinstance(sighting, Synced):
        client, instance_id = sighting.client, sighting.group_instance_id or instance_id
    if error == ErrorCode.UNKNOWN_MEMBER_ID and seen.holder_of(instance_id) not in ("", member_id):
        instance_id = None  # a request that names an instance which another one has is fenced
    offered = (sighting.protocol_type, sighting.protocols) if isinstance(sighting, Joined) else ("", ())
    return Refusal(
        api,
        ErrorCode(error).name,
        MemberSoFar(member_id, client.client_id, client.host, instance_id),
        client.software,
        generation_id,
        *offered,
    )


def _is_reported(beat: Beat, seen: SeenGroup) -> bool:
    error = ErrorCode(beat.error)
    if beat.api in COMMITS:
        return error in LOST_ITS_PLACE
    if beat.api != "Heartbeat":
        return error not in OF_A_MOVE
    if error is ErrorCode.UNKNOWN_MEMBER_ID:  # the process of a member that was silent lives
        member = seen.members.get(beat.member_id)
        return member is not None and member.is_gone and member.left_ms is None and not member.rejected
    return error is ErrorCode.FENCED_INSTANCE_ID
