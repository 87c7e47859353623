"""The records of a group, read from this project's own server."""

import pytest

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from coordinator.core.partitioning import partition_for
from coordinator.observe.places import Place, Source
from coordinator.observe.records.reader import OffsetsReading, read_offsets_partition
from coordinator.observe.records.stored import ClassicGroup
from tests.servers import RunningServer
from tests.wire_client import WireClient

PARTITIONS = 50


TOPIC = "observed-orders"
"""The server is shared with other modules, and their topics."""


def commit_alone(client: WireClient, group_id: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=3, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    answer = client.request(OffsetCommitRequest(group_id=group_id, topics=topics), 8)
    assert answer.topics[0].partitions[0].error_code == 0


@pytest.fixture(scope="module")
def neighbours(server: RunningServer) -> tuple[str, str]:
    """Two groups of one partition: one with a member, and one that only commits."""
    first, *others = (
        name for name in (f"observed-{number}" for number in range(1_000)) if partition_for(name, PARTITIONS) == 7
    )
    with WireClient(server.bootstrap) as client:
        client.create_topic(TOPIC, 4)
        for offset in (5, 6, 7):
            commit_alone(client, others[0], offset)
        client.join_alone(first)
    return first, others[0]


def classic(reading: OffsetsReading) -> list[tuple[Place, ClassicGroup]]:
    found = [(place, record) for place, record in reading if isinstance(record, ClassicGroup)]
    assert not reading.undecoded
    return found


def test_the_records_of_a_group_and_no_other(server, neighbours):
    group_id, _ = neighbours
    reading = read_offsets_partition(server.bootstrap, group_id)
    found = classic(reading)
    assert {record.group_id for _, record in found} == {group_id}
    place, last = found[-1]
    assert (last.generation_id, len(last.members)) == (1, 1)
    assert (place.source, place.name) == (Source.RECORD, "__consumer_offsets-7")
    positions = [each.position or 0 for each, _ in found]
    assert positions == sorted(positions)
    assert (reading.commits.commits, reading.notes) == (0, [])


def test_commits_are_counted(server, neighbours):
    _, committing = neighbours
    steps = []
    reading = read_offsets_partition(
        server.bootstrap, committing, progress=lambda *done: steps.append(done), offsets_max=10
    )
    assert [record for _, record in classic(reading) if record.members] == []
    assert reading.commits.commits == 3
    assert 0 < reading.commits.first_ms <= reading.commits.last_ms
    assert reading.committed_offsets == {(TOPIC, 3): (7, reading.commits.last_ms)}
    assert steps[0] == (0, reading.end - reading.start)
    assert steps[-1] == (reading.end - reading.start, reading.end - reading.start)


def test_a_part_of_the_partition(server, neighbours):
    group_id, _ = neighbours
    whole = list(read_offsets_partition(server.bootstrap, group_id))
    place: Place = whole[-1][0]
    assert list(read_offsets_partition(server.bootstrap, group_id, start=place.position)) == whole[-1:]
    assert list(read_offsets_partition(server.bootstrap, group_id, until=place.position)) == whole[:-1]


def test_since_a_time(server, neighbours):
    group_id, _ = neighbours
    whole = list(read_offsets_partition(server.bootstrap, group_id))
    place: Place = whole[-1][0]
    assert list(read_offsets_partition(server.bootstrap, group_id, since_ms=place.time_ms))[-1:] == whole[-1:]
    assert list(read_offsets_partition(server.bootstrap, group_id, since_ms=0)) == whole
    later = read_offsets_partition(server.bootstrap, group_id, since_ms=place.time_ms + 3_600_000)
    assert list(later) == []
    assert later.start == later.end
