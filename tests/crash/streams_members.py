"""Members of a streams group (KIP-1071), which know what was acknowledged of epochs, tasks, topics and offsets."""

from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tests.crash.group_offsets import CommittedOffset
from tests.crash.workers import METADATA_VERSION, RETRIABLE, Worker, create, described_group
from tests.streams_members import VERSION, StreamsTasks, tasks_of
from tests.wire_client import WireClient

SOURCE: Final = "words"
TASKS: Final = 5
REBALANCE_TIMEOUT_MS: Final = 300_000
"""No kill takes as long, so nobody is removed for it."""


class StreamsGroupMember(Worker):
    """Its epoch never goes back, nobody else has a task that it runs, and its changelog and last offset are there.

    Several of them share a group. They leave and join again, so that tasks move all the time.
    """

    def __init__(self, group_id: str, number: int, seed: int) -> None:
        super().__init__(f"{group_id}-{number}", seed)
        self._group_id = group_id
        self._changelog = f"{group_id}-counts-changelog"
        self._tasks = StreamsTasks(group_id, self.name)
        self._offset = CommittedOffset(group_id, SOURCE, number)
        self._has_source = self._has_changelog = False
        self._is_unanswered = self._may_be_fenced = False
        """Whether a heartbeat was sent and not answered; and whether the next one may therefore be fenced."""

    def work(self, client: WireClient) -> None:
        if not self._has_source:
            create(client, SOURCE, TASKS)
            self._has_source = True
        if not self._tasks.epoch:
            self._beat(client, self._tasks.joining([SOURCE], [self._changelog], REBALANCE_TIMEOUT_MS))
        elif self.random.random() < 0.05:
            self._leave(client)
        elif self.random.random() < 0.3:
            # After a lost answer it does not know its epoch.
            was_lost = self._is_unanswered or self._may_be_fenced
            if self._offset.commit(client, self._tasks.member_id, self._tasks.epoch, may_be_stale=was_lost):
                self.acknowledged["commits by streams epoch"] += 1
        else:
            self._beat(client, self._tasks.whole())

    def _beat(self, client: WireClient, request: Any) -> None:
        self._may_be_fenced |= self._is_unanswered
        self._is_unanswered = True
        answer = client.request(request, VERSION)
        self._is_unanswered = False
        error = ErrorCode(answer.error_code)
        if error in RETRIABLE:
            return
        if error is ErrorCode.FENCED_MEMBER_EPOCH and self._may_be_fenced:
            self._tasks.lose()
            return
        assert error is NONE, (
            f"StreamsGroupHeartbeat: {error.name} at epoch {request.member_epoch}, {answer.error_message}"
        )
        assert answer.member_epoch >= request.member_epoch, f"epoch {answer.member_epoch} after {request.member_epoch}"
        self._may_be_fenced = False
        self._tasks.read(answer)
        if self.random.random() < 0.5:
            self._tasks.take()
            self._has_changelog |= bool(self._tasks.active_tasks())
        self.acknowledged["streams heartbeats"] += 1

    def _leave(self, client: WireClient) -> None:
        self._tasks.lose()
        answer = client.request(self._tasks.leaving(), VERSION)
        error = ErrorCode(answer.error_code)
        assert error is NONE or error in RETRIABLE, f"StreamsGroupHeartbeat that leaves: {error.name}"

    def check(self, client: WireClient) -> None:
        if self._has_changelog:
            self._check_changelog(client)
        self._offset.check(client)
        if not self._tasks.epoch:
            return
        described = described_group(client, StreamsGroupDescribeRequest(group_ids=[self._group_id]), VERSION)
        epochs = {member.member_id: member.member_epoch for member in described.members}
        acknowledged, found = self._tasks.epoch, epochs.get(self.name)
        assert found is not None, f"{self.name} is no member any more"
        assert found >= acknowledged, f"{self.name} has epoch {found}, and {acknowledged} was acknowledged"
        assert described.group_epoch >= found, f"group epoch {described.group_epoch}, member epoch {found}"
        for member in described.members:
            if member.member_id != self.name:
                both = tasks_of(member.assignment.active_tasks) & self._tasks.active_tasks()
                assert not both, f"{self.name} runs the tasks {sorted(both)}, which {member.member_id} was given"
        (part,) = described.topology.subtopologies
        assert list(part.source_topics) == [SOURCE], f"the topology reads {part.source_topics}"

    def _check_changelog(self, client: WireClient) -> None:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=self._changelog)], allow_auto_topic_creation=False)
        (topic,) = client.request(asked, METADATA_VERSION).topics
        assert len(topic.partitions) == TASKS, f"{self._changelog} has {len(topic.partitions)} partitions"
