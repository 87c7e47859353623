"""A shard with share groups on a virtual clock, its topics, a share coordinator in memory, and what clients send."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from coordinator.core.decision import Environment
from coordinator.core.kinds import operations
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.state_topics import StateTopics
from coordinator.core.share_states import InitialState
from tests.core.consumer.world import World
from tests.simulation.calls import CLIENT_HOST
from tests.simulation.simulation import GROUP_ID, Sent

API_KEY: Final = ShareGroupHeartbeatRequest.API_KEY
QUICK: Final = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.session.timeout.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
}


class MemoryShareStates:
    """A share coordinator that answers at once, unless a test has it fail."""

    def __init__(self) -> None:
        self.initialized: list[tuple[str, InitialState]] = []
        self.errors: list[ErrorCode] = []
        """Those of the next calls, one for each: of the first partition."""
        self.raises: Exception | None = None

    def initialize(self, group_id: str, partitions: Sequence[InitialState]) -> Generator[Any, Any, Sequence[ErrorCode]]:
        yield
        if self.raises is not None:
            problem, self.raises = self.raises, None
            raise problem
        first = self.errors.pop(0) if self.errors else NONE
        if first is NONE:
            self.initialized += [(group_id, partition) for partition in partitions]
        return [first, *[NONE] * (len(partitions) - 1)]


class ShareWorld(World):
    """One shard with the topics `t` (3 partitions) and `u` (2) unless said otherwise."""

    def __init__(self, settings: Mapping[str, str] | None = None, topics: Mapping[str, int] | None = None) -> None:
        self.share_states = MemoryShareStates()
        super().__init__(QUICK | dict(settings or {}), topics)

    @property
    def environment(self) -> Environment:
        return msgspec.structs.replace(super().environment, share_states=self.share_states)

    @property
    def share(self) -> ShareGroup:
        membership = self.whole_group.membership
        assert isinstance(membership, ShareGroup)
        return membership

    # ---- requests

    def share_beat(
        self,
        member_id: str,
        epoch: int,
        *names: str,
        subscribed: Iterable[str] | None = None,
        rack_id: str | None = None,
        group_id: str = GROUP_ID,
    ) -> ShareGroupHeartbeatResponse:
        """A heartbeat; without `names` or `subscribed` the subscription stays."""
        request = ShareGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            rack_id=rack_id,
            subscribed_topic_names=list(names) if names else subscribed,
        )
        sent, name = Sent(), f"client-{member_id}"
        connection = self._open_connection(name)
        self.submit(operations.SHARE_GROUP_HEARTBEAT, group_id, request, sent, name, 1, connection)
        response = sent.response
        assert isinstance(response, ShareGroupHeartbeatResponse), response
        return response

    def share_fast(
        self, member_id: str, epoch: int, client_id: str = "", host: str = CLIENT_HOST, api_key: int = API_KEY
    ) -> int:
        """A heartbeat that asks for nothing, as a connection sees it: the interval to answer; -1: the core answers."""
        return self.sessions.answer_consumer_heartbeat(
            GROUP_ID, member_id, None, epoch, client_id or f"client-{member_id}", host, self.now_ms, api_key=api_key
        )

    def topics_changed(self) -> None:
        """As the metadata store says it."""
        self.sessions.close_all_heartbeats()

    def share_enter(self, member_id: str, *names: str) -> ShareGroupHeartbeatResponse:
        """The first heartbeat of a member, and the next one if it has nothing: it subscribes to `t` by default."""
        joined = self.share_beat(member_id, 0, *(names or ("t",)))
        return joined if self.read_by(joined) else self.share_beat(member_id, 0, *(names or ("t",)))

    def share_described(self, group_id: str = GROUP_ID) -> DescribedGroup:
        sent = Sent()
        request = ShareGroupDescribeRequest(group_ids=[group_id])
        self.submit(operations.SHARE_GROUP_DESCRIBE, group_id or GROUP_ID, request, sent, "admin", 1)
        (described,) = sent.response.groups
        return described  # type: ignore[no-any-return]

    # ---- answers and state

    def read_by(self, response: ShareGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """The assignment of an answer, by name of topic; None: unchanged."""
        if response.assignment is None:
            return None
        return {
            self.fixed.topic_name(part.topic_id) or "?": list(part.partitions)
            for part in response.assignment.topic_partitions
        }

    def assigned_to(self, member_id: str) -> dict[str, list[int]]:
        return self.share.assigned_partitions(member_id, self.fixed.topic_name)

    @staticmethod
    def named(topics: StateTopics) -> dict[str, list[int]]:
        return {topic.name: list(topic.partitions) for topic in topics.values()}
