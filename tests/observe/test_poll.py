"""What the admin APIs of this project's own server tell, as any Kafka's."""

import pytest

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.records import build_batch
from coordinator.client.group_description import NoSuchGroup
from coordinator.observe.places import Place, Source
from coordinator.observe.poll import list_present, poll_group, poll_groups
from coordinator.observe.topic_ids import TopicIds
from tests.e2e.members import Member, steady
from tests.servers import RunningServer
from tests.wire_client import WireClient

NOW_MS = 1_700_000_000_000


def now_ms() -> int:
    return NOW_MS


def test_a_group_with_members_and_lag(server: RunningServer):
    with WireClient(server.bootstrap) as client:
        client.create_topic("polled", 2)
    member = Member(server.bootstrap, "polled", "polled group", client_id="pod-1")
    try:
        steady([member], 2, "one member")
        found = poll_group(server.bootstrap, "polled group", now_ms=now_ms)
        (among_all,) = poll_groups(server.bootstrap, {"polled group"}, now_ms=now_ms)
    finally:
        member.stop()
    assert found.place == Place(Source.POLL, "DescribeGroups", NOW_MS)
    assert (found.group_id, found.type, found.state, found.epoch, found.is_described) == (
        "polled group",
        "classic",
        "Stable",
        None,
        True,
    )
    (described,) = found.members
    assert (described.client_id, described.partitions, described.topics) == ("pod-1", {"polled": [0, 1]}, ("polled",))
    assert (found.missing, found.missing_topics) == ([], [])
    assert (among_all.state, among_all.members) == ("Stable", [described])


def test_the_lag_of_a_group_without_members(server: RunningServer):
    with WireClient(server.bootstrap) as client:
        client.create_topic("behind", 1)
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
        topics = [OffsetCommitRequestTopic(name="behind", partitions=[partition])]
        client.request(OffsetCommitRequest(group_id="behind", topics=topics), 8)
        produce(client, "behind", 3)
        found = poll_group(server.bootstrap, "behind")
    (lag,) = found.partitions
    assert (lag.committed_offset, lag.log_end_offset, lag.lag, found.lag) == (0, 3, 3, 3)


def produce(client: WireClient, topic: str, count: int) -> None:
    assert client.produce(topic, build_batch([(None, b"v")] * count)).error_code == 0


def test_no_such_group(server: RunningServer):
    with pytest.raises(NoSuchGroup):
        poll_group(server.bootstrap, "there is no such group")


def test_the_groups_of_all_brokers(server: RunningServer):
    with WireClient(server.bootstrap) as client:
        client.join_alone("listed by a poll")
    found = list_present(server.bootstrap)
    assert "listed by a poll" in {group.group_id for group in found.groups}
    assert found.missing == []


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_names_of_topic_ids(server: RunningServer):
    clock = Clock()
    with WireClient(server.bootstrap) as client, TopicIds(server.bootstrap, clock=clock) as name_of:
        topic_id = client.create_topic("named-by-id", 1).hex()
        assert name_of(topic_id) == "named-by-id"
        gone = client.create_topic("soon-gone", 1).hex()
        client.delete_topic("soon-gone")
        assert name_of(gone) == gone
        assert name_of(topic_id) == "named-by-id"


def test_an_id_that_is_not_known_is_asked_for_again_later(server: RunningServer, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    answered = TopicIds._asked

    def counted(self: TopicIds, topic_ids: list[str]) -> dict[str, str]:
        asked.append(topic_ids)
        return answered(self, topic_ids)

    monkeypatch.setattr(TopicIds, "_asked", counted)
    clock = Clock()
    with TopicIds(server.bootstrap, clock=clock) as name_of:
        for at, count in ((0.0, 1), (29.0, 1), (30.0, 2)):
            clock.now = 1_000 + at
            assert name_of("ab" * 16) == "ab" * 16
            assert len(asked) == count
        name_of.learn(["cd" * 16, "ab" * 16, "cd" * 16])
    assert asked[-1] == ["cd" * 16]


def test_names_when_nobody_answers():
    assert TopicIds("127.0.0.1:1")("ab" * 16) == "ab" * 16
