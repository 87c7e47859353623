"""Members of a consumer group (KIP-848), which know what was acknowledged of epochs, partitions and offsets."""

from typing import Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.crash.group_offsets import CommittedOffset
from tests.crash.workers import RETRIABLE, Worker, create, described_group
from tests.simulation.consumer_members import ConsumerProtocolMember
from tests.simulation.history import ClientSetup
from tests.wire_client import WireClient

HEARTBEAT_VERSION, DESCRIBE_VERSION = 1, 1
TOPICS: Final = {"consumed-a": 3, "consumed-b": 2}
SUBSCRIPTIONS: Final = (("consumed-a",), ("consumed-a", "consumed-b"), ("consumed-b",))
REBALANCE_TIMEOUT_MS: Final = 300_000
"""No kill takes as long, so nobody is removed for it."""


class ConsumerGroupMember(Worker):
    """Its epoch never goes back, each partition has one owner, and its last committed offset is there.

    Several of them share a group; each commits the offset of a partition of its own.
    """

    def __init__(self, group_id: str, number: int, seed: int) -> None:
        super().__init__(f"{group_id}-{number}", seed)
        self._group_id = group_id
        self._offset = CommittedOffset(group_id, "consumed-a", number)
        self._topics: tuple[str, ...] = SUBSCRIPTIONS[0]
        setup = ClientSetup(group_id, rebalance_timeout_ms=REBALANCE_TIMEOUT_MS)
        self._member = ConsumerProtocolMember(self.name, 1, setup, lambda: (self._topics, ""))
        self._has_topics = False
        self._is_waiting = self._may_be_fenced = False
        """Whether a heartbeat was sent and not answered; and whether the next one may therefore be fenced."""

    def work(self, client: WireClient) -> None:
        if not self._has_topics:
            for name, partitions in TOPICS.items():
                create(client, name, partitions)
            self._has_topics = True
        if self.random.random() < 0.1:
            self._topics = self.random.choice(SUBSCRIPTIONS)
        if self._member.epoch and self.random.random() < 0.3:
            self._commit(client)
        else:
            self._beat(client)

    def _beat(self, client: WireClient) -> None:
        member = self._member
        if self._is_waiting:
            member.forget_said()
            self._may_be_fenced = True
        if member.has_to_revoke and self.random.random() < 0.5:
            member.revoke()
        message = member.next_message()
        self._is_waiting = True
        response = client.request(message, HEARTBEAT_VERSION)
        self._is_waiting = False
        error = ErrorCode(response.error_code)
        if error in RETRIABLE:
            member.forget_said()
            return
        assert error is NONE or (self._may_be_fenced and error is ErrorCode.FENCED_MEMBER_EPOCH), (
            f"ConsumerGroupHeartbeat: {error.name} at epoch {message.member_epoch}, {response.error_message}"
        )
        self._may_be_fenced = False
        member.read(message, response, error)
        self.acknowledged["consumer heartbeats"] += 1

    def _commit(self, client: WireClient) -> None:
        # After a lost answer it does not know its epoch.
        was_lost = self._is_waiting or self._may_be_fenced
        if self._offset.commit(client, self._member.member_id, self._member.epoch, may_be_stale=was_lost):
            self.acknowledged["commits by member epoch"] += 1

    def check(self, client: WireClient) -> None:
        if not self._member.epoch:
            return
        described = described_group(client, ConsumerGroupDescribeRequest(group_ids=[self._group_id]), DESCRIBE_VERSION)
        epochs = {member.member_id: member.member_epoch for member in described.members}
        known, found = self._member.epoch, epochs.get(self._member.member_id)
        assert found is not None, f"{self._member.member_id} is no member any more"
        assert found >= known, f"{self._member.member_id} has epoch {found}, and {known} was acknowledged"
        assert described.group_epoch >= found, f"group epoch {described.group_epoch}, member epoch {found}"
        owned = [
            (topic.topic_name, index)
            for member in described.members
            for topic in member.assignment.topic_partitions
            for index in topic.partitions
        ]
        assert len(owned) == len(set(owned)), f"a partition has two owners: {sorted(owned)}"
        self._offset.check(client)
