"""The committed offset of one partition, which a member of a group with epochs commits again and again."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.crash.workers import RETRIABLE
from tests.wire_client import WireClient

COMMIT_VERSION, OFFSET_FETCH_VERSION = 9, 9
STALE = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)


class CommittedOffset:
    """It is that of the last commit, or of the one that was not answered."""

    def __init__(self, group_id: str, topic: str, partition: int) -> None:
        self._group_id, self._topic, self._partition = group_id, topic, partition
        self._acknowledged = self._sent = -1

    def commit(self, client: WireClient, member_id: str, epoch: int, *, may_be_stale: bool) -> bool:
        """Commit the next one; whether it was acknowledged.

        Args:
            may_be_stale: An answer was lost, and the epoch may have changed with it.
        """
        self._sent = self._acknowledged + 1
        partition = OffsetCommitRequestPartition(partition_index=self._partition, committed_offset=self._sent)
        request = OffsetCommitRequest(
            group_id=self._group_id,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=self._topic, partitions=[partition])],
        )
        (answered,) = client.request(request, COMMIT_VERSION).topics
        error = ErrorCode(answered.partitions[0].error_code)
        if error is not NONE:
            assert error in RETRIABLE or (may_be_stale and error in STALE), f"OffsetCommit: {error.name}"
            return False
        self._acknowledged = self._sent
        return True

    def check(self, client: WireClient) -> None:
        if self._sent < 0:
            return
        topic = OffsetFetchRequestTopics(name=self._topic, partition_indexes=[self._partition])
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self._group_id, topics=[topic])])
        answer = client.request(request, OFFSET_FETCH_VERSION).groups[0]
        while answer.error_code in RETRIABLE:
            answer = client.request(request, OFFSET_FETCH_VERSION).groups[0]
        assert answer.error_code == NONE, f"OffsetFetch: error {answer.error_code}"
        ((partition,),) = (topic.partitions for topic in answer.topics)
        allowed = {self._acknowledged, self._sent}
        assert partition.committed_offset in allowed, f"{partition.committed_offset} committed, {allowed} sent"
        # From now on it may not change back, though it was not acknowledged.
        self._acknowledged = self._sent = partition.committed_offset
