"""Clients that send anything at all to a whole server: no turn of its loop takes long, and nobody else notices."""

from random import Random

import pytest

from _wire.apis import APIS
from _wire.headers import encode_request
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.hostile.in_process import InProcessServer, Peer
from tests.hostile.random_requests import RandomRequests

ELEMENTS_MAX = 3_000
REQUESTS = 120
CALLS_OF_A_TURN_MAX = 200_000
"""About 25 ms. The thousand operations of a turn take up to 140,000 calls."""
SETTINGS = {
    "socket.request.max.elements": str(ELEMENTS_MAX),
    "max.broker.partitions": "20000",
    "write.txn.markers.enable": "true",
    "queued.max.request.bytes": "20000000",
    "connections.max.unsent.bytes": "20000000",
    "group.initial.rebalance.delay.ms": "3000",
}
NEVER_LOGGED = ("unhandled", "invariant")


class Victim:
    """Commits and fetches its offset, as if it were alone."""

    def __init__(self, server):
        self._peer = Peer(server)
        self._offset = 0
        topics = [CreatableTopic(name="victim", num_partitions=1, replication_factor=1)]
        assert self._peer.request(CreateTopicsRequest(topics=topics), 7).topics[0].error_code == 0

    def check(self):
        self._offset += 1
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=self._offset)]
        topics = [OffsetCommitRequestTopic(name="victim", partitions=partitions)]
        committed = self._peer.request(OffsetCommitRequest(group_id="the victim's", topics=topics), 8)
        assert committed.topics[0].partitions[0].error_code == 0
        asked = OffsetFetchRequestGroup(
            group_id="the victim's", topics=[OffsetFetchRequestTopics(name="victim", partition_indexes=[0])]
        )
        fetched = self._peer.request(OffsetFetchRequest(groups=[asked]), 8)
        assert fetched.groups[0].topics[0].partitions[0].committed_offset == self._offset


def test_no_request_takes_a_long_turn_or_breaks_the_server(seed):
    random = Random(seed)
    known = ["group", "topic", "member"]
    requests = RandomRequests(random, known, ELEMENTS_MAX)
    with InProcessServer(SETTINGS) as server:
        victim = Victim(server)
        served = list(server.node.front.path.chain.served.values())
        peers: list[Peer] = []
        for _ in range(REQUESTS):
            api = random.choice(served)
            version = random.randint(api.min_version, api.max_version)
            try:
                data = encode_request(1, "hostile", requests.request(APIS[api.key], version), version)
            except (ValueError, OverflowError):
                continue  # a value that this version has no bytes for
            peers = [each for each in peers if not each.is_lost]
            if len(peers) < 5 or random.random() < 0.3:
                peers.append(Peer(server, reads=random.random() < 0.8))
            peer = random.choice(peers)
            if random.random() < 0.1:
                data = data[: random.randrange(len(data))]
            peer.send(data)
            known += made_ids(peer)
            for _ in range(random.randrange(4)):
                server.turn()
            if random.random() < 0.1:
                peer.leave()
            if random.random() < 0.05:
                server.advance(random.choice((1, 40, 700)))
            victim.check()
        for peer in peers:
            peer.leave()
        victim.check()
        assert server.calls_max < CALLS_OF_A_TURN_MAX
        said = [line for line in server.log.lines if any(word in line[1] for word in NEVER_LOGGED)]
        assert said == []


def made_ids(peer: Peer) -> list[str]:
    """Member ids in what the peer received: what is known may be asked for."""
    return [bytes(peer.received[8:60]).decode("ascii", "ignore")] if peer.is_answered else []


@pytest.fixture(params=range(30))
def seed(request):
    return request.param
