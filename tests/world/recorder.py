"""Writes down what happens, where it happens: in the processes, on the wire, and in the state of the group itself."""

from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import assignment_of
from tests.world.assignments import partitions_of
from tests.world.network import Request
from tests.world.topics import Partition, Topics
from tests.world.truth import Answer, Holding, Plan, ProcessTruth, StateChange, Truth

if TYPE_CHECKING:
    from tests.world.server import WorldServer

LOADED_AGAIN_MS: Final = 12_000
"""A coordinator that could not write loads its groups again: it tries that at least every ten seconds."""


class Recorder:
    """Fills a truth."""

    def __init__(self, truth: Truth, topics: Topics, server: "WorldServer") -> None:
        self._truth, self._topics, self._server = truth, topics, server
        truth.replaced = set()
        self._connections: dict[int, tuple[object, ProcessTruth]] = {}
        self._state = ("", 0)
        self._starts = 0
        self._kind: type | None = None
        self._is_deleted = False
        """An administrator has deleted the group since it was looked at last."""

    def held(self, holding: Holding) -> None:
        self._truth.holdings.append(holding)
        self._truth.by_partition[holding.partition].append(holding)

    def answered(self, request: Request, response: Any, error: ErrorCode) -> None:
        """The coordinator answered a request."""
        process = None if request.process is None else request.process.truth
        now_ms = self._server.now_ms
        if request.api == "OffsetCommit":
            self._committed(request, response, error)
        if request.api == "DeleteGroups" and not isinstance(response, ErrorCode):
            self._is_deleted |= any(not result.error_code for result in response.results)
        if process is None:
            return
        member_id = getattr(response, "member_id", None) or request.member_id
        generation_id = getattr(response, "generation_id", getattr(response, "member_epoch", -1))
        process.answers.append(Answer(now_ms, request.api, member_id, generation_id, error.name))
        if error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED) and member_id:
            self._truth.by_member.setdefault(member_id, process)
        if error is ErrorCode.NONE and request.api == "JoinGroup":
            self._joined_epoch(member_id)
        elif error is ErrorCode.NONE and request.api == "SyncGroup":
            self._synced(request, response, member_id)
        elif error is ErrorCode.NONE and request.api == "ConsumerGroupHeartbeat" and response.assignment is not None:
            owned = self._named(response.assignment.topic_partitions)
            plan = Plan(now_ms, response.member_epoch, "", {member_id: owned}, is_whole=False)
            self._truth.plans.append(plan)

    def _joined_epoch(self, member_id: str) -> None:
        """A classic member of a consumer group is assigned its part when it joins, whether it asks for that or not."""
        group = None if self._server.group is None else self._server.group.membership
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None:
            return
        owned = self._named(assignment_of(member.current.assigned).topic_partitions)
        plan = Plan(self._server.now_ms, member.current.epoch, "", {member_id: owned}, is_whole=False)
        self._truth.plans.append(plan)

    def _synced(self, request: Request, response: Any, member_id: str) -> None:
        message = request.message
        parts = {assignment.member_id: assignment.assignment for assignment in message.assignments}
        # What the leader of a group computes that has changed its type meanwhile counts no more.
        is_whole = bool(parts) and self._kind is not ConsumerGroup and parts.get(member_id) == response.assignment
        if not is_whole:
            parts = {member_id: response.assignment}
        assigned = {each: partitions_of(part, self._topics) for each, part in parts.items()}
        self._truth.plans.append(
            Plan(self._server.now_ms, message.generation_id, response.protocol_name or "", assigned, is_whole=is_whole)
        )

    def _named(self, topics: Any) -> frozenset[Partition]:
        found: set[Partition] = set()
        for topic in topics:
            name = self._topics.topic_name(topic.topic_id)
            if name is not None:
                found.update((name, topic.topic_id, index) for index in topic.partitions)
        return frozenset(found)

    def _committed(self, request: Request, response: Any, error: ErrorCode) -> None:
        now_ms = self._server.now_ms
        topics = [] if isinstance(response, ErrorCode) else response.topics
        refused = {
            (topic.name, each.partition_index) for topic in topics for each in topic.partitions if each.error_code
        }
        if error is not ErrorCode.NONE or refused:
            self._truth.refused_commits.append(now_ms)
        if error is not ErrorCode.NONE:
            return
        for topic in request.message.topics:
            for each in topic.partitions:
                if (topic.name, each.partition_index) in refused:
                    continue
                partition = self._topics.partition(topic.name, each.partition_index)
                self._truth.commits.append((now_ms, request.number, partition, each.committed_offset))

    # ---- the group itself

    def connected(self, connection: object, process: ProcessTruth) -> None:
        self._connections[id(connection)] = connection, process

    def watch(self) -> None:
        """Note who is a member now, and which state the group has."""
        if not self._server.is_up or not self._server.coordinator.shards[0].is_active:
            return
        group, now_ms, present = self._server.group, self._server.now_ms, self._truth.present
        members = {} if group is None else group.membership.members
        if members.keys() != present.keys():
            gone = [each for each in present if each not in members]
            for member_id in gone:
                self._truth.removed(member_id, now_ms)
            for member_id, member in members.items():
                if member_id not in present:
                    process = self._process_of(member_id, member.client_connection)
                    present[member_id] = process, now_ms
                    self._note_replacement(gone, member_id)
        state = ("", 0) if group is None else (str(group.membership.state), group.membership.generation_id)
        kind = None if group is None else type(group.membership)
        if state != self._state or kind is not self._kind or self._is_deleted:
            # Removed and created again in one iteration. A start or a load may take a generation back, too.
            is_another = self._server.starts == self._starts and kind is self._kind and state[1] < self._state[1]
            is_another &= not self._truth.disk_failed_within(now_ms - LOADED_AGAIN_MS, now_ms + 1)
            if is_another or (self._is_deleted and group is not None):
                self._truth.states.append(StateChange(now_ms, "", 0, 0, "", is_consumer_group=False))
            if group is not None and self._kind is not None and kind is not self._kind:
                had = {member_id: self._owned(group.membership, member_id) for member_id in members}
                self._truth.conversions.append((now_ms, had))
            self._state, self._starts, self._kind, self._is_deleted = state, self._server.starts, kind, False
            protocol = "" if group is None else group.membership.protocol_name or ""
            self._truth.states.append(
                StateChange(now_ms, state[0], state[1], len(members), protocol, is_consumer_group=kind is ConsumerGroup)
            )

    def _owned(self, membership: Any, member_id: str) -> frozenset[Partition]:
        """What the group has as the partitions of a member."""
        member = membership.members[member_id]
        if isinstance(membership, ConsumerGroup):
            return self._named(assignment_of(member.current.assigned).topic_partitions)
        return partitions_of(member.assignment, self._topics)

    def _note_replacement(self, gone: list[str], member_id: str) -> None:
        """Who is there as the same static member when the one before goes has its place."""
        truth = self._truth
        assert truth.replaced is not None
        now_ms = self._server.now_ms
        # What waited in a pause may have been its removal, and then the JoinGroup of a new process.
        since_ms = min((each.from_ms for each in truth.away if each.until_ms == now_ms), default=now_ms)
        removed = {
            who for act in truth.acts if act.what == "remove" and act.at_ms >= since_ms for who in act.member_ids
        }
        for each in gone:
            if truth.identity(each) == truth.identity(member_id) and truth.identity(each) not in removed:
                truth.replaced.add((each, member_id))

    def _process_of(self, member_id: str, connection: object) -> ProcessTruth | None:
        known = self._connections.get(id(connection))
        if known is not None and known[0] is connection:
            self._truth.by_member.setdefault(member_id, known[1])
        return self._truth.by_member.get(member_id)
