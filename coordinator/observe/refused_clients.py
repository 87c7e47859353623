"""Clients of one group that were refused, by whichever source says it: lines of brokers, of clients, or nodes."""

from typing import Final

from coordinator.observe.classic_lines import Members
from coordinator.observe.group_events import GroupEvents
from coordinator.observe.group_so_far import MemberSoFar
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.places import Place
from coordinator.observe.refusals import Refusal, Refusals, refusal_of
from coordinator.observe.seen_refusals import refused


class RefusedClients:
    def __init__(self, events: GroupEvents, members: Members) -> None:
        self._events, self._members = events, members
        self.refusals = Refusals()

    def apply_line(self, statement: said.JoinRefused | said.InstanceFenced) -> None:
        """A client that was refused, as another one has its static instance id."""
        is_fenced = isinstance(statement, said.InstanceFenced) or statement.is_fenced
        api = (
            _REFUSING.get(getattr(statement, "operation", None) or "", "JoinGroup")
            if isinstance(statement, said.InstanceFenced)
            else "ConsumerGroupHeartbeat"
        )
        instance_id = statement.group_instance_id
        error = "FENCED_INSTANCE_ID" if is_fenced else "UNRELEASED_INSTANCE_ID"
        refusal = Refusal(api, error, self._members.of(statement.member_id, instance_id))
        self._emit(refusal, statement.place, self._members.of(statement.holder, instance_id))

    def apply_client(self, statement: ClientStatement) -> None:
        """What a client's own log says of a request that was refused: brokers log next to none of these."""
        refusal = refusal_of(statement)
        if refusal is not None:
            self._emit(refusal, statement.place, None)

    def apply_sighting(self, statement: said.Sighted) -> None:
        """Call it before what nodes have seen of the group has applied it."""
        refusal = refused(statement.sighting, self._events.seen)
        if refusal is not None:
            self._emit(refusal, statement.place, self._holder(refusal))

    def _holder(self, refusal: Refusal) -> MemberSoFar | None:
        """The member that has the instance id of a refused client: by the records, or as nodes have seen it."""
        instance_id = refusal.member.group_instance_id
        if not refusal.is_about_instance or instance_id is None:
            return None
        members, seen_group = self._events.so_far.members, self._events.seen
        recorded = next((member for member in members.values() if member.group_instance_id == instance_id), None)
        holder_id = seen_group.holder_of(instance_id) if recorded is None else recorded.member_id
        seen = seen_group.members.get(holder_id)
        if seen is None or not seen.client.client_id:
            return recorded
        return MemberSoFar(holder_id, seen.client.client_id, seen.client.host, instance_id)

    def _emit(self, refusal: Refusal, place: Place, holder: MemberSoFar | None) -> None:
        times = self.refusals.count(refusal, place.time_ms)
        if times is None:
            return
        events = self._events
        emitter = events.emitter(place)
        software, _, version = refusal.software.rpartition(" ")
        member = {**refusal.member.reference(), "client_software_name": software, "client_software_version": version}
        emitter.emit(
            "request.rejected",
            api=refusal.api,
            error=refusal.error,
            member=member,
            holder=None if holder is None else holder.reference(),
            count=times,
            request_generation_id=refusal.generation_id,
            protocol_type=refusal.protocol_type,
            protocols=list(refusal.protocols),
            group_protocol_type=events.so_far.protocol_type if refusal.protocols else "",
            group_protocols=events.seen.shared_protocols(events.so_far.members) if refusal.protocols else [],
        )
        events.keep(emitter, is_inferred=False)


_REFUSING: Final = {"heartbeat": "Heartbeat", "offset-commit": "OffsetCommit", "sync-group": "SyncGroup"}
"""Operation in a line of a fenced member → the API; another one is JoinGroup's."""
