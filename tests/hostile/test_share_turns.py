"""What attacks on share groups cost a turn of the event loop, in calls of functions instead of time."""

import pytest

from _wire.messages import describe_share_group_offsets as describing
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from coordinator.node.handlers.share_offsets import ShareOffsetsHandlers
from tests.hostile.in_process import InProcessServer, Peer

CALLS_OF_A_TURN_MAX = 100_000
"""About 13 ms; the slices of a turn take half of it."""
PARTITIONS = 60_000


@pytest.fixture
def server():
    with InProcessServer({}) as running:
        yield running


def test_the_offsets_of_very_many_partitions(server):
    peer = Peer(server)
    topics = [CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
    assert peer.request(CreateTopicsRequest(topics=topics), 7).topics[0].error_code == 0
    all_of_them, twice = list(range(PARTITIONS)), [0] * PARTITIONS
    # The first one makes the topic of the states.
    for name, partitions in (("t", [0]), ("t", twice), ("t", all_of_them), ("unknown", twice)):
        group = describing.RequestGroup(
            group_id="g", topics=[describing.RequestTopic(topic_name=name, partitions=partitions)]
        )
        server.calls_max = 0
        (found,) = peer.request(describing.DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
        assert len(found.topics[0].partitions) == len(set(partitions) if name == "t" else partitions)
        assert len(partitions) == 1 or server.calls_max < CALLS_OF_A_TURN_MAX


def test_a_group_that_is_named_many_times_is_asked_once(server, monkeypatch):
    asked = []
    original = ShareOffsetsHandlers._described_all

    def noted(handlers, group_id, found):
        asked.append(group_id)
        return original(handlers, group_id, found)

    monkeypatch.setattr(ShareOffsetsHandlers, "_described_all", noted)
    groups = [describing.RequestGroup(group_id=each, topics=None) for each in ["g", "h"] * 500]
    answered = Peer(server).request(describing.DescribeShareGroupOffsetsRequest(groups=groups), 1).groups
    assert [group.group_id for group in answered] == ["g", "h"] * 500
    assert asked == ["g", "h"]
