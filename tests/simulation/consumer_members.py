"""What a client of the consumer protocol (KIP-848) sends as a member, and what it makes of the answers."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.simulation.history import ClientSetup

API: Final = "ConsumerGroupHeartbeat"
LEAVES, LEAVES_FOR_A_MOMENT = -1, -2
OWN_MEMBER_ID_VERSION: Final = 1
OLD_CLIENT: Final = 4
"""A client whose JoinGroup had this version at most sends ConsumerGroupHeartbeat in version 0."""
Owned = frozenset[tuple[bytes, int]]
"""Topic id and index of each partition."""
NOTHING: Final[Owned] = frozenset()
Subscription = tuple[tuple[str, ...], str]
"""Names of topics, and a regular expression."""


class ConsumerProtocolMember:
    """One process of a client. It uses partitions until it gives them up, and gives up what is asked of it."""

    def __init__(self, name: str, process: int, setup: ClientSetup, subscription: Callable[[], Subscription]) -> None:
        self._setup = setup
        self._subscription = subscription
        self.version = 0 if setup.join_version <= OLD_CLIENT else OWN_MEMBER_ID_VERSION
        self.member_id = f"{name}-{process}" if self.version else ""
        self.epoch = 0
        self.owned = self._target = NOTHING
        self.dawdles_until_ms = 0
        """Until then it gives nothing up."""
        self.is_kept_out = False
        """Its last attempt to join was refused."""
        self._says_all = True
        self._said: Subscription | None = None
        self._reported: Owned | None = None

    @property
    def has_to_revoke(self) -> bool:
        return not self.owned <= self._target

    @property
    def has_said_all(self) -> bool:
        """Whether the coordinator is known to know its subscription."""
        return not self._says_all and self._said == self._subscription()

    def forget_said(self) -> None:
        """An answer may be lost: the next heartbeat says all."""
        self._says_all = True

    def revoke(self) -> None:
        """Give up what is asked for; then it uses what it got instead."""
        self.owned = self._target

    def next_message(self) -> ConsumerGroupHeartbeatRequest:
        message = self.steady_message()
        if not self.epoch:
            self.owned = self._target = NOTHING
        subscription = self._subscription()
        if self._says_all or not self.epoch:
            message.rebalance_timeout_ms = self._setup.rebalance_timeout_ms
            message.instance_id = self._setup.instance_id
        if self._says_all or not self.epoch or subscription != self._said:
            message.subscribed_topic_names = list(subscription[0])
            message.subscribed_topic_regex = subscription[1] if self.version else None
        if self._says_all or not self.epoch or self.owned != self._reported:
            message.topic_partitions = by_topic(self.owned)
        return message

    def steady_message(self) -> ConsumerGroupHeartbeatRequest:
        """One that says no more than that the member is alive."""
        return ConsumerGroupHeartbeatRequest(
            group_id=self._setup.group_id, member_id=self.member_id, member_epoch=self.epoch, rebalance_timeout_ms=-1
        )

    def leave_message(self, *, for_a_moment: bool) -> ConsumerGroupHeartbeatRequest:
        message = self.steady_message()
        message.instance_id = self._setup.instance_id
        is_static = self._setup.instance_id is not None
        message.member_epoch = LEAVES_FOR_A_MOMENT if for_a_moment and is_static else LEAVES
        return message

    def read(self, message: ConsumerGroupHeartbeatRequest, response: Any, error: ErrorCode) -> None:
        """Take in the answer to a heartbeat that did not leave."""
        match error:
            case ErrorCode.NONE:
                self._succeeded(message, response)
            case ErrorCode.FENCED_MEMBER_EPOCH | ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.UNRELEASED_INSTANCE_ID:
                self._rejoin(is_kept_out=error is ErrorCode.UNRELEASED_INSTANCE_ID)
            case ErrorCode.GROUP_ID_NOT_FOUND | ErrorCode.GROUP_MAX_SIZE_REACHED:
                self._rejoin(is_kept_out=not message.member_epoch)
            case _:
                self.forget_said()

    def lose(self) -> None:
        """Others may have its partitions by now."""
        self._rejoin(is_kept_out=False)

    def _rejoin(self, *, is_kept_out: bool) -> None:
        self.epoch, self.owned, self._target = 0, NOTHING, NOTHING
        self.is_kept_out = is_kept_out
        self.forget_said()

    def _succeeded(self, message: ConsumerGroupHeartbeatRequest, response: Any) -> None:
        assert response.member_epoch >= message.member_epoch, "an epoch goes back"
        assert self.member_id in ("", response.member_id), "a member id was changed"
        self.member_id, self.epoch = response.member_id, response.member_epoch
        self._says_all = self.is_kept_out = False
        if message.subscribed_topic_names is not None:
            self._said = tuple(message.subscribed_topic_names), message.subscribed_topic_regex or ""
        if message.topic_partitions is not None:
            self._reported = owned_of(message.topic_partitions)
        if response.assignment is not None:
            self._target = owned_of(response.assignment.topic_partitions)
            if not self.has_to_revoke:
                self.owned = self._target


def owned_of(topics: Iterable[TopicPartitions]) -> Owned:
    return frozenset((topic.topic_id, index) for topic in topics for index in topic.partitions)


def by_topic(owned: Owned) -> list[TopicPartitions]:
    found: dict[bytes, list[int]] = {}
    for topic_id, index in sorted(owned):
        found.setdefault(topic_id, []).append(index)
    return [TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in found.items()]
