"""A consumer of the protocol of KIP-848: one heartbeat for everything, and an application that gives partitions up."""

from typing import TYPE_CHECKING, Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.simulation.consumer_members import ConsumerProtocolMember
from tests.simulation.history import ClientSetup
from tests.world.history import GROUP_ID, ConsumerSetup
from tests.world.network import Request
from tests.world.process import Process
from tests.world.topics import Partition
from tests.world.truth import Ended, ProcessTruth, Subscribed, Way

if TYPE_CHECKING:
    from tests.world.world import World

API: Final = "ConsumerGroupHeartbeat"
RETRY_MS: Final = 1_000
UNANSWERED_MS: Final = 10_000
"""After so long without an answer it connects again."""


class ModernConsumer(Process):
    """One process with one consumer."""

    def __init__(self, world: "World", truth: ProcessTruth, setup: ConsumerSetup) -> None:
        super().__init__(world, truth, setup)
        client = ClientSetup(
            GROUP_ID,
            setup.instance_id,
            rebalance_timeout_ms=setup.max_poll_interval_ms,
            session_timeout_ms=setup.session_timeout_ms,
            protocol="consumer",
        )
        self.member = ConsumerProtocolMember(
            f"m{truth.consumer}", truth.number, client, lambda: (self.topics, self.pattern)
        )
        self.pattern = setup.pattern
        self.is_out = False
        """It has left, and is not to join."""
        self._beat: Request | None = None
        self._interval_ms = RETRY_MS
        self._round = 0

    @property
    def member_id(self) -> str:
        return self.member.member_id

    def credentials(self) -> tuple[str, int]:
        return self.member.member_id, self.member.epoch or -1

    def begin(self) -> None:
        self._heartbeat(self._round)
        self.commit_later()

    def _heartbeat_after(self, ms: int) -> None:
        self._round += 1
        number = self._round
        self.after(ms, lambda: self._heartbeat(number))

    def _heartbeat(self, number: int) -> None:
        if number != self._round or self.is_out:
            return
        if self._beat is not None and not self._beat.is_over:
            if self.world.now_ms - self._beat.sent_ms >= UNANSWERED_MS:
                self.disconnect()
            self._heartbeat_after(self._interval_ms)
            return
        self.truth.out.end(self.world.now_ms)
        message = self.member.next_message()
        if message.subscribed_topic_names is not None:
            self.truth.subscriptions.append(Subscribed(self.world.now_ms, self.topics, (), "", self.pattern))
        self._beat = self.send(API, message, 1, lambda response, error: self._beaten(message, response, error))
        self._heartbeat_after(self._interval_ms)

    def _beaten(self, message: ConsumerGroupHeartbeatRequest, response: Any, error: ErrorCode) -> None:
        if self.is_out:
            return
        if error is ErrorCode.FENCED_INSTANCE_ID:
            self.end(Ended.FAILED)
            return
        if error is ErrorCode.NONE:
            self._interval_ms = response.heartbeat_interval_ms
        was_in = self.member.epoch > 0
        self.member.read(message, response, error)
        self._follow()
        if self.member.has_to_revoke:
            self.run(self._revoke, in_poll=True)
        elif error is ErrorCode.NONE and self.member.owned != self.member._reported:
            self._heartbeat_after(0)
        elif was_in and not self.member.epoch:
            self._heartbeat_after(RETRY_MS if self.member.is_kept_out else 0)

    def _revoke(self) -> None:
        if self.member.has_to_revoke and not self.is_out:
            self.commit()
            self.member.revoke()
            self._follow()
            self._heartbeat_after(0)

    def _follow(self) -> None:
        """It holds what its member owns."""
        topics = self.world.topics
        owned: set[Partition] = set()
        for topic_id, index in self.member.owned:
            name = topics.topic_name(topic_id)
            if name is not None:
                owned.add((name, topic_id, index))
        self.give_up([each for each in self.held if each not in owned])
        self.take(sorted(owned), self.member.member_id)

    def commit_answered(self, response: Any, error: ErrorCode) -> None:
        if error is ErrorCode.UNKNOWN_MEMBER_ID and self.member.epoch:
            self.member.lose()
            self._follow()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        self.topics = topics
        self.is_out = False
        self._heartbeat_after(0)

    def subscribe_to_pattern(self, pattern: str) -> None:
        self.pattern = pattern
        self.is_out = False
        self._heartbeat_after(0)

    def leave(self, way: Way) -> None:
        if self.member.epoch and not self.is_out and not self.is_stopped:
            is_static = self.setup.instance_id is not None
            if way is Way.CLOSED and is_static:
                way = Way.FOR_A_MOMENT
            message = self.member.leave_message(for_a_moment=way is Way.FOR_A_MOMENT)
            self.departs(self.member.member_id, way, "")
            self.send(API, message, 1, lambda response, error: None)
        self.is_out = True
        self.truth.out.begin(self.world.now_ms)
        self._round += 1
        self.member.lose()
        self._follow()
        if way is Way.UNSUBSCRIBED:
            self.topics, self.pattern = (), ""

    def unblocked_late(self) -> None:
        if self.is_out and (self.topics or self.pattern):
            self.is_out = False
            self._heartbeat_after(0)

    def go_on(self) -> None:
        self._beat = None
        self.member.forget_said()
        if not self.is_out:
            self._heartbeat_after(0)
