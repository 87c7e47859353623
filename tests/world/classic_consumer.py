"""A consumer of the classic protocol: it joins, syncs, sends heartbeats, gives up what it must, and leaves."""

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.world.assignments import assign, metadata_of, partitions_of
from tests.world.clients import COOPERATIVE
from tests.world.history import GROUP_ID, ConsumerSetup
from tests.world.network import Request
from tests.world.process import Process
from tests.world.topics import Partition
from tests.world.truth import Ended, ProcessTruth, Subscribed, Way

if TYPE_CHECKING:
    from tests.world.world import World

RETRY_MS: Final = 100
REFUSED_MS: Final = 1_000
"""After an answer that may be another one later: no right, a full group, no assignor in common."""
METADATA_MS: Final = 3_000
"""How often a client asks for the metadata of topics."""
TRANSIENT: Final = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
PATIENT: Final = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
SAID: Final = {
    Way.CLOSED: "the consumer is being closed",
    Way.UNSUBSCRIBED: "the consumer unsubscribed from all topics",
    Way.POLL_TIMEOUT: "consumer poll timeout has expired.",
}
"""What Java's consumer says when it leaves (KIP-800)."""


class Phase(StrEnum):
    """The progress of a consumer in its group."""

    OUT = "out"
    """It does not want to be in it, or waits to try again."""
    JOINING = "joining"
    SYNCING = "syncing"
    WORKING = "working"


class ClassicConsumer(Process):
    """One process with one consumer."""

    def __init__(self, world: "World", truth: ProcessTruth, setup: ConsumerSetup) -> None:
        super().__init__(world, truth, setup)
        self.member_id = ""
        self.generation_id = -1
        self.phase = Phase.OUT
        self.is_leader = False
        self._reason = ""
        """Of its next JoinGroup."""
        self._counts: dict[str, int] = {}
        """Topic → partitions, when the leader last assigned."""
        self._beat: Request | None = None
        self._last_assigned: frozenset[Partition] = frozenset()
        self._attempt = 0

    @property
    def is_cooperative(self) -> bool:
        """Java's consumer uses the protocol that all of its assignors have."""
        return all(assignor in COOPERATIVE for assignor in self.setup.assignors)

    def credentials(self) -> tuple[str, int]:
        return self.member_id, self.generation_id

    def begin(self) -> None:
        self.join("")
        self.after(self.setup.heartbeat_ms, self._heartbeat, in_poll=not self.kind.beats_alone)
        self.after(METADATA_MS, self._look_at_topics)
        self.commit_later()

    # ---- joining

    def join(self, reason: str) -> None:
        """In its next poll()."""
        self._attempt += 1
        attempt = self._attempt
        self.run(lambda: self._join(attempt, reason), in_poll=True)

    def _join_later(self, ms: int, reason: str) -> None:
        self._attempt += 1
        attempt = self._attempt
        self.after(ms, lambda: self._join(attempt, reason), in_poll=True)

    def _join(self, attempt: int, reason: str) -> None:
        if attempt != self._attempt or not self.topics:
            return
        if self.held and not self.is_cooperative:
            self.commit()
            self.give_up(self.held)
        self.phase, self._reason = Phase.JOINING, reason
        self.truth.out.end(self.world.now_ms)
        protocols = [
            JoinGroupRequestProtocol(name=name, metadata=self._metadata(name)) for name in self.setup.assignors
        ]
        says = reason if self.kind.says_why else ""
        self.truth.subscriptions.append(Subscribed(self.world.now_ms, self.topics, self.setup.assignors, says))
        message = JoinGroupRequest(
            group_id=GROUP_ID,
            session_timeout_ms=self.setup.session_timeout_ms,
            rebalance_timeout_ms=self.setup.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=self.setup.instance_id,
            protocol_type="consumer",
            protocols=protocols,
            reason=says or None,
        )
        self.send("JoinGroup", message, self.kind.join_version, partial(self._joined, attempt))

    def _metadata(self, assignor: str) -> bytes:
        """The eager sticky assignor remembers what its member had, though it has given that up."""
        owned = self.held if assignor in COOPERATIVE else self._last_assigned
        return metadata_of(assignor, self.member_id, self.topics, owned, self.generation_id)

    def _joined(self, attempt: int, response: Any, error: ErrorCode) -> None:
        if self.phase is not Phase.JOINING or attempt != self._attempt:
            return  # it has asked again since
        match error:
            case ErrorCode.NONE:
                if response.member_id != self.member_id and self.held:
                    self.renamed(response.member_id)
                self.member_id, self.generation_id = response.member_id, response.generation_id
                self.phase = Phase.SYNCING
                self.is_leader = response.leader == self.member_id
                self.run(lambda: self._sync(response), in_poll=True)
            case ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = response.member_id
                self.join("need to re-join with the given member-id: " + self.member_id)
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                self._forget()
                self._join_later(RETRY_MS, "")
            case ErrorCode.FENCED_INSTANCE_ID:
                self.end(Ended.FAILED)
            case _:
                self._join_later(REFUSED_MS if error in PATIENT else RETRY_MS, self._reason)

    def _sync(self, response: Any) -> None:
        if self.phase is not Phase.SYNCING or response.generation_id != self.generation_id:
            return
        plan: dict[str, bytes] = {}
        if self.is_leader:
            wanted = {topic for each in [self.topics] for topic in each}
            if not response.skip_assignment:
                members = [(member.member_id, member.group_instance_id, member.metadata) for member in response.members]
                plan = assign(response.protocol_name, members, self.world.topics)
            self._counts = {topic: self.world.topics.partition_count(topic) for topic in wanted}
        message = SyncGroupRequest(
            group_id=GROUP_ID,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.setup.instance_id,
            protocol_type="consumer",
            protocol_name=response.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=part) for member_id, part in plan.items()
            ],
        )
        self.send("SyncGroup", message, 5, self._synced)

    def _synced(self, response: Any, error: ErrorCode) -> None:
        if self.phase is not Phase.SYNCING:
            return
        match error:
            case ErrorCode.NONE:
                generation_id = self.generation_id
                self.phase = Phase.WORKING
                assigned = partitions_of(response.assignment, self.world.topics)
                self.run(lambda: self._assigned(assigned, generation_id), in_poll=True)
            case ErrorCode.REBALANCE_IN_PROGRESS:
                self.join("rebalance failed due to RebalanceInProgressException")
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                self._forget()
                self._join_later(RETRY_MS, "")
            case ErrorCode.FENCED_INSTANCE_ID:
                self.end(Ended.FAILED)
            case _:
                self._join_later(REFUSED_MS if error in PATIENT else RETRY_MS, self._reason)

    def _assigned(self, assigned: frozenset[Partition], generation_id: int) -> None:
        if self.phase is not Phase.WORKING or generation_id != self.generation_id:
            return
        revoked = [each for each in self.held if each not in assigned]
        if revoked:
            self.commit()
            self.give_up(revoked)
        self.take(assigned, self.member_id)
        self._last_assigned = assigned
        if revoked and self.is_cooperative:
            self.join("need to revoke partitions and re-join")

    # ---- being a member

    def _heartbeat(self) -> None:
        self.after(self.setup.heartbeat_ms, self._heartbeat, in_poll=not self.kind.beats_alone)
        waits = self._beat is not None and not self._beat.is_over
        if self.phase is not Phase.WORKING:
            return
        if waits:
            assert self._beat is not None
            if self.world.now_ms - self._beat.sent_ms >= self.setup.session_timeout_ms:
                self.disconnect()  # nobody answered for the whole session: it looks for its coordinator again
            return
        message = HeartbeatRequest(
            group_id=GROUP_ID,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.setup.instance_id,
        )
        self._beat = self.send("Heartbeat", message, 4, self._beaten)

    def _beaten(self, response: Any, error: ErrorCode) -> None:
        if self.phase is Phase.WORKING:
            self._heed(error, "group is already rebalancing")

    def commit_answered(self, response: Any, error: ErrorCode) -> None:
        if self.phase is Phase.WORKING:
            self._heed(error, "group is already rebalancing")

    def _heed(self, error: ErrorCode, reason: str) -> None:
        """What an answer says of its place in the group."""
        match error:
            case ErrorCode.REBALANCE_IN_PROGRESS:
                self.join(reason)
            case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                self._forget()
                self.join("")
            case ErrorCode.FENCED_INSTANCE_ID:
                self.end(Ended.FAILED)

    def _forget(self) -> None:
        """It is no member any more: others may have its partitions by now."""
        self.give_up(self.held)
        self.member_id, self.generation_id, self.is_leader = "", -1, False
        self._last_assigned = frozenset()
        self.phase = Phase.OUT

    def _look_at_topics(self) -> None:
        self.after(METADATA_MS, self._look_at_topics)
        if self.truth.cut.is_on or self.is_reconnecting or not self.world.server.listens:
            return
        topics = self.world.topics
        gone = [each for each in self.held if topics.topic_id(each[0]) != each[1]]
        if gone:
            self.give_up(gone)
        if self.is_leader and self.phase is Phase.WORKING:
            now = {topic: topics.partition_count(topic) for topic in self.topics}
            if now != self._counts or gone:
                self._counts = now
                self.join("cached metadata has changed from what it was at the beginning of the rebalance")

    def subscribe(self, topics: tuple[str, ...]) -> None:
        self.topics = topics
        self.join("subscription has changed")

    # ---- going

    def leave(self, way: Way) -> None:
        """A static member does not leave, whatever happens to it: its heartbeats end."""
        is_silent = self.setup.instance_id is not None and not self.kind.leaves_static
        if self.member_id and self.phase is not Phase.OUT and not is_silent and not self.is_stopped:
            said = SAID[way] if self.kind.says_why else ""
            member = MemberIdentity(
                member_id=self.member_id, group_instance_id=self.setup.instance_id, reason=said or None
            )
            message = LeaveGroupRequest(group_id=GROUP_ID, member_id=self.member_id, members=[member])
            self.departs(self.member_id, way, said)
            self.send("LeaveGroup", message, 5 if self.kind.says_why else 3, lambda response, error: None)
        self._attempt += 1
        self._forget()
        self.truth.out.begin(self.world.now_ms)
        if way is Way.UNSUBSCRIBED:
            self.topics = ()

    def unblocked_late(self) -> None:
        if self.phase is Phase.OUT and self.topics:
            self.join("")

    def go_on(self) -> None:
        self._beat = None
        if self.phase in (Phase.JOINING, Phase.SYNCING):
            self.join(self._reason)
