"""What nodes saw pass of one group, and what it adds to its events: why a member is gone, who was slow, who it is.

Records decide what happened. What passed tells why: a member whose requests come by way of the nodes and that was not
heard for its session timeout has expired, one that sent LeaveGroup has left. For a group of the classic protocol it
also tells when a rebalance began and when all had joined, as the lines of its coordinator do; so it becomes such
statements.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.audit.schema.sighted import (
    Asked,
    Beat,
    Closed,
    Heard,
    Joined,
    Left,
    Silent,
    Synced,
    Unseen,
)
from coordinator.core.causes import Cause, InferredCause, Requester
from coordinator.observe.group_so_far import MAY_BE_LATE
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, Reason
from coordinator.observe.places import Place
from coordinator.observe.seen_member import ALWAYS_THERE, JoinSeen, NodesThere, SeenMember

GONE_KEPT: Final = 200
"""Members that are gone or silent: a removal is told some time after."""
MEMBERS_MAX: Final = 20_000
"""Members of one group: any client may name any member."""
SLACK_MS: Final = 1_000
"""A member is removed so much before its session ends by the times of a node, at most: clocks differ a little."""
NOT_PROVIDED: Final = "not provided"
"""What a broker logs where a client gives no reason."""
NONE: Final = 0

Event = dict[str, Any]


class SeenGroup(msgspec.Struct):
    """Apply what was seen in order of time, and the records between."""

    members: dict[str, SeenMember] = {}
    coming: dict[str, SeenMember] = {}
    """Static instance id → who asked to join with it last, and has no member id yet: the record that tells of a
    replacement may be there before the answer."""
    unwatched_ms: int | None = None
    """Since when no rule watches the group; None: one does."""
    generation_id: int = -1
    """The last one that members have joined."""
    leader: str = ""
    began: tuple[str, tuple[str, ...], str, Place] | None = None
    """Why, by whom, with which reason, and where it was seen first that a rebalance is under way."""
    forgets_at: int = 2 * GONE_KEPT
    """With so many members it is looked whom to forget."""

    # ---- what passes

    def apply(self, statement: said.Sighted, generation_id: int) -> Iterator[OfGroup]:
        """Return what it means for a group of the classic protocol. `generation_id` is that of the last record."""
        sighting, place = statement.sighting, statement.place
        self.generation_id = max(self.generation_id, generation_id)
        match sighting:
            case Asked():
                yield from self._asked(sighting, place)
            case Joined():
                yield from self._joined(sighting, place)
            case Synced(error=0):
                self._member(sighting.member_id, sighting.node_id, sighting.at_ms, place)
            case Left():
                self._left(sighting, place)
            case Beat():
                self._beat(sighting, place)
            case Heard():
                member = self._member(sighting.member_id, sighting.node_id, sighting.at_ms, place)
                member.client = sighting.client
            case Silent():
                member = self.members.setdefault(sighting.member_id, SeenMember(node_id=sighting.node_id))
                if member.node_id == sighting.node_id:
                    member.heard_ms, member.silent, member.place = sighting.last_heard_ms, True, place
            case Closed():
                self._closed(sighting, place)
            case Unseen():
                for member in self.members.values():
                    if member.node_id == sighting.node_id and member.unseen_ms is None:
                        member.unseen_ms = sighting.from_ms
        if len(self.members) >= self.forgets_at:
            self._forget()

    def _member(self, member_id: str, node_id: int, at_ms: int, place: Place) -> SeenMember:
        """A member that is heard; what it was heard to say later counts more."""
        member = self.members.setdefault(member_id, SeenMember())
        if member.heard_ms is not None and at_ms < member.heard_ms:
            return member
        member.node_id, member.heard_ms, member.silent, member.place = node_id, at_ms, False, place
        member.unseen_ms = None
        if member.connection_open is None:
            member.connection_open = True
        return member

    def _asked(self, asked: Asked, place: Place) -> Iterator[OfGroup]:
        if not asked.member_id:
            self._comes(asked, place)
            return
        member = self._member(asked.member_id, asked.node_id, asked.at_ms, place)
        member.client = asked.client
        if asked.api == "JoinGroup":
            member.joined_ms = asked.at_ms
            if self.began is None:
                is_new = member.joined_generation < 0
                reason = Reason.NEW_MEMBER if is_new else Reason.UPDATED
                if not is_new and asked.member_id == self.leader:
                    reason = Reason.LEADER_REJOINED
                self.began = reason, (asked.member_id,), asked.reason, place
            return
        member.synced_generation, member.synced_ms = asked.generation_id, asked.at_ms
        if asked.has_assignments:
            yield said.AssignmentReceived(
                place=place, group_id=asked.group_id, generation_id=asked.generation_id, leader=asked.member_id
            )

    def _comes(self, asked: Asked, place: Place) -> None:
        if asked.group_instance_id is None:
            return
        self.coming.pop(asked.group_instance_id, None)
        if len(self.coming) >= GONE_KEPT:
            del self.coming[next(iter(self.coming))]
        self.coming[asked.group_instance_id] = SeenMember(
            client=asked.client, node_id=asked.node_id, heard_ms=asked.at_ms, place=place
        )

    def _joined(self, joined: Joined, place: Place) -> Iterator[OfGroup]:
        if joined.error != NONE:
            if joined.error == ErrorCode.MEMBER_ID_REQUIRED:
                yield said.MemberIdHandedOut(
                    place=place, group_id=joined.group_id, member_id=joined.member_id, state=""
                )
            return
        if joined.group_instance_id is not None:
            self.coming.pop(joined.group_instance_id, None)
        before = self.generation_id
        member = self._member(joined.member_id, joined.node_id, joined.at_ms, place)
        is_new = member.joined_generation < 0
        member.client, member.joined_ms = joined.client, joined.asked_ms
        member.group_instance_id = joined.group_instance_id
        member.joined_generation, member.protocols = joined.generation_id, joined.protocols
        member.session_timeout_ms = joined.session_timeout_ms
        member.rebalance_timeout_ms = joined.rebalance_timeout_ms
        self.leader = joined.leader
        if joined.generation_id > before:
            if self.began is None and not joined.asked_member_id:
                reason = Reason.NEW_MEMBER if is_new else Reason.UPDATED
                at = msgspec.structs.replace(place, time_ms=joined.asked_ms)
                self.began = reason, (joined.member_id,), joined.reason, at
            yield from self._begun(joined.group_id, joined.generation_id - 1)
            self.generation_id = joined.generation_id
            yield said.GroupStabilized(
                place=place,
                group_id=joined.group_id,
                generation_id=joined.generation_id,
                members=len(joined.members) or None,
            )
        else:
            self.began = None  # it was told what it knew: no rebalance

    def _begun(self, group_id: str, generation_before: int) -> Iterator[OfGroup]:
        began, self.began = self.began, None
        if began is None:
            return
        reason, member_ids, client_reason, place = began
        yield said.RebalancePrepared(
            place=place,
            group_id=group_id,
            generation_before=generation_before,
            reason=Reason(reason),
            text="",
            member_ids=member_ids,
            client_reason=client_reason or NOT_PROVIDED,
        )

    def _left(self, left: Left, place: Place) -> None:
        for departure in left.members if left.error == NONE else ():
            member_id = departure.member_id or self.holder_of(departure.group_instance_id)
            if departure.error != NONE or not member_id:
                continue
            member = self.members.setdefault(member_id, SeenMember())
            member.left_ms, member.left_reason, member.place = left.at_ms, departure.reason, place
            member.committed_ms = departure.committed_ms
            if not left.is_own and member.client.client_id and member.client.client_id != left.client.client_id:
                member.removed_by = left.client
            if self.began is None:
                self.began = Reason.LEFT, (member_id,), departure.reason, place

    def holder_of(self, group_instance_id: str | None) -> str:
        """The member that joined last with an instance id, which LeaveGroup may name alone; empty: it was not seen."""
        if group_instance_id is None:
            return ""
        holders = [
            (member.joined_ms or 0, member_id)
            for member_id, member in self.members.items()
            if member.group_instance_id == group_instance_id
        ]
        return max(holders)[1] if holders else ""

    def _beat(self, beat: Beat, place: Place) -> None:
        member = self._member(beat.member_id, beat.node_id, beat.asked_ms, place)
        member.client = beat.client
        member.group_instance_id = beat.group_instance_id or member.group_instance_id
        if beat.error != NONE:
            if beat.error == ErrorCode.REBALANCE_IN_PROGRESS:
                self._rebalances(beat.at_ms, place)
            else:
                member.rejected, member.rejected_ms = ErrorCode(beat.error).name, beat.at_ms
        elif beat.epoch < 0:
            member.left_ms = beat.at_ms

    def _rebalances(self, at_ms: int, place: Place) -> None:
        """A member is told that the group rebalances, and nothing was seen to begin it: who is silent has expired."""
        if self.began is not None:
            return
        expired = [
            member_id
            for member_id, member in self.members.items()
            if not member.is_gone and member.unseen_ms is None and _is_expired(member, at_ms)
        ]
        if expired:
            self.began = Reason.SESSION_EXPIRED, tuple(expired), "", place

    def _closed(self, closed: Closed, place: Place) -> None:
        member = self.members.setdefault(closed.member_id, SeenMember(node_id=closed.node_id))
        if member.node_id == closed.node_id:
            member.heard_ms = max(closed.last_heard_ms, member.heard_ms or 0)
            is_its_end = closed.by_client and not closed.is_unanswered
            member.connection_open = False if is_its_end else None
            member.connection_closed_ms = closed.at_ms if is_its_end else None
            if not is_its_end and member.unseen_ms is None:
                member.unseen_ms = closed.at_ms
            member.place = place

    def _forget(self) -> None:
        gone = [
            member_id
            for member_id, member in self.members.items()
            if member.is_gone or member.silent or member.left_ms is not None
        ]
        for member_id in islice(gone, max(0, len(gone) - GONE_KEPT)):
            del self.members[member_id]
        for member_id in list(islice(self.members, max(0, len(self.members) - MEMBERS_MAX))):
            del self.members[member_id]
        self.forgets_at = len(self.members) + GONE_KEPT

    def shared_protocols(self, member_ids: Iterable[str]) -> list[str]:
        """The assignors that all members have; none if what one of them offered was not seen."""
        offered = [self.members[member_id].protocols if member_id in self.members else () for member_id in member_ids]
        return [name for name in (offered[0] if offered else ()) if all(name in others for others in offered)]

    def departed(self, member_ids: Iterable[str]) -> list[str]:
        """Those of these members that have left."""
        seen = ((member_id, self.members.get(member_id)) for member_id in member_ids)
        return [member_id for member_id, member in seen if member is not None and member.left_ms is not None]

    # ---- what is not seen

    def be_unseen(self, from_ms: int) -> None:
        """Nothing of the group was seen since then, whose members may have sent anything."""
        for member in self.members.values():
            if member.unseen_ms is None:
                member.unseen_ms = from_ms

    def came_by(self, node_id: int) -> bool:
        """Whether a member came by way of this node last."""
        return any(member.node_id == node_id and not member.is_gone for member in self.members.values())

    def bypassed(self, event: Event, presence: NodesThere) -> bool:
        """Whether the member of an event that records tell of came to the brokers directly."""
        return self._seen(event["member"]) is None and presence.sees(event["time_ms"])

    def _seen(self, member: Event) -> SeenMember | None:
        """A member of an event, also one that was not told its id yet."""
        found = self.members.get(member["member_id"])
        return found if found is not None else self.coming.get(member["group_instance_id"] or "")

    # ---- what it adds to events

    def joins_of(self, generation_id: int) -> dict[str, JoinSeen]:
        """When the members of a generation sent JoinGroup and SyncGroup, of those whom nodes have seen do so."""
        return {
            member_id: JoinSeen(
                member.joined_ms, member.synced_ms if member.synced_generation == generation_id else None
            )
            for member_id, member in self.members.items()
            if member.joined_generation == generation_id and member.joined_ms is not None
        }

    def add_to(self, event: Event, presence: NodesThere = ALWAYS_THERE) -> tuple[Place, ...]:
        """Add to an event what was seen of its members; return where that was.

        Nothing is concluded from what was not seen of a member whose node may have been away.
        """
        places = []
        for trigger in event.get("triggers") or ():
            place = self._add_cause(trigger, trigger["at_ms"], presence)
            places += [place] if place is not None else []
        if event["kind"] == "rebalance.started" and event.get("triggers"):
            first = event["triggers"][0]
            event["cause"], event["reason"] = first["cause"], first.get("reason")
        elif event["kind"] == "member.removed":
            place = self._add_cause(event, event["time_ms"], presence)
            places += [place] if place is not None else []
            self._add_silence(event, presence)
        elif event["kind"] == "static_member.replaced":
            self._add_clients(event)
        elif event["kind"] == "member.joined":
            seen = self.members.get(event["member"]["member_id"])
            event["protocols"] = [] if seen is None else list(seen.protocols)
        self._add_software(event.get("member"))
        return tuple(dict.fromkeys(places))

    def _add_cause(self, found: Event, at_ms: int, presence: NodesThere) -> Place | None:
        """The cause of a removal that records leave open; return where it was seen."""
        if found.get("cause") not in (InferredCause.MEMBER_LEFT_OR_EXPIRED, Cause.SESSION_EXPIRED, Cause.MEMBER_LEFT):
            return None
        member = self.members.get((found.get("member") or {}).get("member_id", ""))
        if member is None:
            return None
        if found["cause"] != InferredCause.MEMBER_LEFT_OR_EXPIRED:
            return member.place
        if member.left_ms is not None:
            found["cause"] = str(Cause.MEMBER_LEFT)
            found["reason"] = member.left_reason
        elif not _is_watched(member, at_ms, presence):
            return None
        elif _is_expired(member, at_ms) and not (found.get(MAY_BE_LATE) and member.session_timeout_ms is None):
            found["cause"] = str(Cause.SESSION_EXPIRED)
        elif member.joined_generation >= 0 and member.joined_generation < self.generation_id:
            found["cause"] = str(Cause.REBALANCE_TIMEOUT)
        elif 0 <= member.synced_generation < member.joined_generation:
            found["cause"] = str(Cause.SYNC_TIMEOUT)
        else:
            return None
        return member.place

    def _add_silence(self, event: Event, presence: NodesThere) -> None:
        member = self.members.get(event["member"]["member_id"])
        if member is None:
            return
        member.is_gone = True
        event["last_joined_ms"], event["last_committed_ms"] = member.joined_ms, member.committed_ms
        if event.get("session_timeout_ms") is None:
            event["session_timeout_ms"] = member.session_timeout_ms
        if member.removed_by is not None:
            event["requested_by"] = Requester(member.removed_by.client_id, member.removed_by.host)
        if member.left_ms is None and _is_watched(member, event["time_ms"], presence):
            event["last_heard_ms"] = member.heard_ms
            event["connection_open"] = member.connection_open
            event["connection_closed_ms"] = member.connection_closed_ms
            if member.rejected:
                event["rejected"], event["rejected_ms"] = member.rejected, member.rejected_ms

    def _add_clients(self, event: Event) -> None:
        """Who took the place of whom: records go on to name the client that had it first, as DescribeGroups does."""
        member, old = event["member"], self.members.get(event["old_member_id"])
        event["described_client_id"], event["described_client_host"] = member["client_id"], member["client_host"]
        if old is not None and old.client.client_id:
            event["old_client_id"], event["old_client_host"] = old.client.client_id, old.client.host
            event["old_last_heard_ms"] = old.heard_ms
        seen = self._seen(member)
        if seen is not None and seen.client.client_id:
            member["client_id"], member["client_host"] = seen.client.client_id, seen.client.host

    def _add_software(self, member: Event | None) -> None:
        seen = self._seen(member) if member else None
        if member is None or seen is None or not seen.client.software:
            return
        name, _, version = seen.client.software.rpartition(" ")
        member["client_software_name"], member["client_software_version"] = name, version
        if seen.client.host:
            member["client_host"] = seen.client.host


def _is_watched(member: SeenMember, at_ms: int, presence: NodesThere) -> bool:
    """Whether its node would have seen what it sent since it was heard last."""
    return member.unseen_ms is None and presence.vouches(member.node_id, at_ms)


def _is_expired(member: SeenMember, at_ms: int) -> bool:
    """Whether the session of a member is over by what was heard of it."""
    if not member.silent or member.heard_ms is None or member.left_ms is not None:
        return False
    timeout_ms = member.session_timeout_ms
    return timeout_ms is None or at_ms - member.heard_ms >= timeout_ms - SLACK_MS
