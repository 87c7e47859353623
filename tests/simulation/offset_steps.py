"""Steps that commit, read and delete the offsets of groups, without transactions."""

from typing import Final

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.clients import Client
from tests.simulation.consumers import PARTITIONS, TRANSFERS, WIDE, partitions_of
from tests.simulation.extremes import EXTREMES, message_of, set_number
from tests.simulation.record_traffic import RecordTraffic
from tests.simulation.world_server import RECORD_BATCH_BYTES_MAX

COMMIT_VERSION: Final = 8
MEMBER_EPOCH_VERSION: Final = 9
RETENTION_VERSION: Final = 4
OLDEST_COMMIT_VERSION: Final = 1
INSTANCE_ID_VERSION: Final = 7
STABLE_VERSION: Final = 8
TOO_MANY_PARTITIONS: Final = RECORD_BATCH_BYTES_MAX // 20


class OffsetSteps(RecordTraffic):
    """Each public method is a kind of step. A group of transfers commits its offsets in transactions alone."""

    def commit(self, client: Client, value: int) -> None:
        """A commit of the client (0), with a wrong generation (1), of nobody (2), with a long text (3), with a
        retention (4), of so many partitions that no record batch holds them (5)."""
        client.read_answers()
        if client.under_way or client.group_id == TRANSFERS:
            return
        message = self._commit_message(client)
        if value == 1:
            message.generation_id_or_member_epoch += 1
        elif value == 2:
            message.generation_id_or_member_epoch, message.member_id, message.group_instance_id = -1, "", None
        elif value == 3:
            message.topics[0].partitions[0].committed_metadata = "far too long"
        elif value == 4:
            message.retention_time_ms = 60_000
        elif value == 5:
            message.topics[0].name = WIDE
            message.topics[0].partitions = [
                OffsetCommitRequestPartition(partition_index=index, committed_offset=self.commits)
                for index in range(TOO_MANY_PARTITIONS)
            ]
        version = COMMIT_VERSION if client.modern is None else MEMBER_EPOCH_VERSION
        self.send(client, "OffsetCommit", message, RETENTION_VERSION if value == 4 else version)

    def commit_all(self, value: int) -> None:
        """Every client commits what it owns, as members do again and again while nothing else happens.

        In some version that says what it has to: those of members with an epoch or an instance id are newer.
        """
        for client in self.clients:
            client.read_answers()
            if client.under_way or client.group_id == TRANSFERS:
                continue
            oldest = OLDEST_COMMIT_VERSION if client.instance_id is None else INSTANCE_ID_VERSION
            if client.modern is not None:
                oldest = MEMBER_EPOCH_VERSION
            message = self._commit_message(client)
            self.send(client, "OffsetCommit", message, max(oldest, value % MEMBER_EPOCH_VERSION + 1))

    def _commit_message(self, client: Client) -> OffsetCommitRequest:
        """One that a member may send, of two of its partitions at most."""
        self.commits += 1
        owned = sorted(partitions_of(client.assigned)) or [TopicPartition("t", 0)]
        partitions: dict[str, list[OffsetCommitRequestPartition]] = {}
        for topic, index in owned[:2]:
            partition = OffsetCommitRequestPartition(partition_index=index, committed_offset=self.commits)
            partition.committed_metadata = f"m{self.commits}"
            partitions.setdefault(topic, []).append(partition)
        return OffsetCommitRequest(
            group_id=client.group_id,
            generation_id_or_member_epoch=client.generation_id,
            member_id=client.member_id,
            group_instance_id=client.instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in partitions.items()],
        )

    def extreme(self, client: Client, value: int) -> None:
        """A request of the client with one number at a limit."""
        client.read_answers()
        if client.under_way:
            return
        field, number = EXTREMES[value % len(EXTREMES)]
        if field.api == "OffsetCommit" and client.group_id == TRANSFERS:
            return
        if client.modern is not None and field.api in ("JoinGroup", "SyncGroup"):
            return  # it would become a member of the classic protocol
        if client.modern is None and field.api == "ConsumerGroupHeartbeat":
            return
        message = message_of(client, field.api, self._commit_message(client))
        set_number(message, field, number)
        sender = None if field.api.endswith("Heartbeat") else client
        self.send(sender, field.api, message, field.version)

    def delete_offsets(self, client: Client, value: int) -> None:
        """An administrator forgets the group's positions in one topic."""
        name = sorted(PARTITIONS)[value % len(PARTITIONS)]
        partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in range(PARTITIONS[name])]
        topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions)]
        self.send(None, "OffsetDelete", OffsetDeleteRequest(group_id=client.group_id, topics=topics), 0)

    def fetch(self, client: Client, value: int) -> None:
        """All committed offsets of the client's group; only stable ones (1)."""
        group = OffsetFetchRequestGroup(group_id=client.group_id, topics=None)
        request = OffsetFetchRequest(groups=[group], require_stable=value == 1)
        self.send(None, "OffsetFetch", request, STABLE_VERSION, group_id=client.group_id)
