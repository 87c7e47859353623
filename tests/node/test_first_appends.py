"""The first append to a partition of `__consumer_offsets` makes files, which takes long: few do it in one turn."""

from _wire.errors import ErrorCode
from _wire.headers import encode_request
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.runtime.turns import FILES_AT_ONCE
from tests.hostile.in_process import InProcessServer, Peer

PARTITIONS = 10


def commit_request(group_id: str) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)])


def test_few_shards_make_their_files_in_one_turn_and_the_others_do_not_wait_for_them():
    with InProcessServer({"offsets.topic.num.partitions": str(PARTITIONS)}) as server:
        first = Peer(server)
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        assert first.request(CreateTopicsRequest(topics=[topic]), 7).topics[0].error_code == ErrorCode.NONE
        coordinator = server.node.groups.coordinator
        groups = {coordinator.partition_of(f"g{number}"): f"g{number}" for number in range(200)}
        assert len(groups) == PARTITIONS
        used, *fresh = groups.values()
        assert first.request(commit_request(used), 8).topics[0].partitions[0].error_code == ErrorCode.NONE

        def with_files() -> int:
            return sum(shard.has_files for shard in coordinator.shards)

        peers = [Peer(server) for _ in groups]
        for peer, group_id in zip(peers, (*fresh, used), strict=True):
            peer.send(encode_request(7, "client", commit_request(group_id), 8))
        made = []
        while not all(peer.is_answered for peer in peers):
            before = with_files()
            server.turn()
            made.append(with_files() - before)
            assert peers[-1].is_answered
        assert max(made) == FILES_AT_ONCE
        assert sum(made) == len(fresh)
