"""Following the records of groups: nothing twice, nothing left out, whatever brokers do."""

import threading
from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.group_table import GroupTable
from _wire.records import build_batch
from coordinator.observe.errors import MayNotReadOffsets, OffsetsUnavailable
from coordinator.observe.records.following import Followed, OffsetsFollower
from coordinator.observe.records.offsets_topic import OffsetsTopic
from coordinator.observe.records.stored import ClassicGroup
from tests.observe.records.commits import commit, generation
from tests.observe.records.scripted import FETCH, METADATA, Log, ScriptedBroker
from tests.servers import RunningServer
from tests.wire_client import WireClient


def log(*generation_ids: int, group_id: str = "g", base: int = 0) -> Log:
    return Log(*(batch(generation_id, base + at, group_id) for at, generation_id in enumerate(generation_ids)))


def batch(generation_id: int, offset: int, group_id: str = "g") -> bytes:
    return build_batch([generation(group_id, generation_id), commit(group_id)], base_offset=2 * offset)


def follower(
    broker: ScriptedBroker, groups: set[str] | None = None, table: GroupTable | None = None
) -> OffsetsFollower:
    topic = OffsetsTopic(broker.bootstrap, timeout_seconds=5, pause=lambda seconds: None)
    return OffsetsFollower(broker.bootstrap, groups=groups, table=table, wait_ms=10, topic=topic)


def numbers(parts: list[Followed]) -> list[int]:
    return [each.generation_id for part in parts for _, each in part.records if isinstance(each, ClassicGroup)]


def until(followed: Iterator[Followed], count: int) -> list[Followed]:
    """What comes until so many records have."""
    parts: list[Followed] = []
    while len(numbers(parts)) < count:
        parts.append(next(followed))
    return parts


def test_what_is_there_and_what_comes():
    with ScriptedBroker([log(1, 2), log(7, group_id="h")]) as broker, follower(broker) as following:
        assert following.starts() == {0: 0, 1: 0}
        assert following.ends() == {0: 4, 1: 2}
        followed = following.follow(following.starts())
        parts = until(followed, 3)
        assert sorted(numbers(parts)) == [1, 2, 7]
        broker.logs[1].append(batch(8, 1, "h"))
        later = until(followed, 1)
    assert numbers(later) == [8]
    assert later[-1].positions == {0: 4, 1: 4}
    (place, _) = later[-1].records[0]
    assert (str(place), place.position) == ("__consumer_offsets-1:2", 2)
    assert sum(each.commits for each in parts + later) == 4


def test_it_goes_on_at_positions():
    """Stopped after each part, and begun again: each record once."""
    with ScriptedBroker([log(1, 2, 3), log(4, 5)]) as broker:
        positions = {0: 0, 1: 0}
        found: list[int] = []
        while len(found) < 5:
            with follower(broker) as following:
                part = next(following.follow(positions))
                positions, found = part.positions, found + numbers([part])
    assert sorted(found) == [1, 2, 3, 4, 5]


def test_time_goes_on_without_records():
    with ScriptedBroker([log()]) as broker, follower(broker) as following:
        part = next(following.follow({0: 0}))
    assert (part.records, part.positions, part.commits, part.notes) == ([], {0: 0}, 0, [])


def test_the_groups_that_are_wanted_may_change():
    groups, table = {"h"}, GroupTable(10)
    with ScriptedBroker([log(1), log(2, group_id="h")]) as broker, follower(broker, groups, table) as following:
        followed = following.follow({0: 0, 1: 0})
        parts = until(followed, 1)
        assert numbers(parts) == [2]
        while parts[-1].positions != {0: 2, 1: 2}:
            parts.append(next(followed))
        groups.add("g")
        broker.logs[0].append(batch(3, 1))
        assert numbers(until(followed, 1)) == [3]
    assert {group: commits for group, commits, _ in table} == {b"g": 2, b"h": 1}


def test_leaders_are_asked_at_the_same_time():
    logs = [log(1), log(2), log(3)]
    with ScriptedBroker(logs) as one, ScriptedBroker(logs, 2) as two:
        one.brokers = two.brokers = [one, two]
        one.leaders = two.leaders = {1: 2}
        with follower(one) as following:
            assert sorted(numbers(until(following.follow({0: 0, 1: 0, 2: 0}), 3))) == [1, 2, 3]
    asked = [
        [partition.partition for partition in request.topics[0].partitions]
        for key, request in two.asked
        if key == FETCH
    ]
    assert set(map(tuple, asked)) == {(1,)}


def test_a_leader_that_moves():
    logs = [log(1, 2)]
    with ScriptedBroker(logs) as one, ScriptedBroker(logs, 2) as two:
        one.brokers = two.brokers = [one, two]
        with follower(one) as following:
            followed = following.follow({0: 0})
            parts = until(followed, 2)
            one.errors[FETCH] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
            one.leaders = two.leaders = {0: 2}
            logs[0].append(batch(3, 2))
            parts += until(followed, 1)
    assert numbers(parts) == [1, 2, 3]


def test_a_connection_that_is_lost():
    with ScriptedBroker([log(1)]) as broker, follower(broker) as following:
        followed = following.follow({0: 0})
        parts = until(followed, 1)
        broker.hangs_up = [FETCH, METADATA, FETCH]
        broker.logs[0].append(batch(2, 1))
        parts += until(followed, 1)
    assert (numbers(parts), broker.hangs_up) == ([1, 2], [])


def test_retention_moves_the_start():
    with ScriptedBroker([log(1, 2, 3)]) as broker, follower(broker) as following:
        broker.logs[0].start, broker.logs[0].batches = 4, broker.logs[0].batches[2:]
        parts = until(following.follow({0: 0}), 1)
    assert numbers(parts) == [3]
    assert [note for part in parts for note in part.notes] == [
        "__consumer_offsets-0: offsets 0 to 3 were removed while it was read"
    ]


def test_a_log_that_is_cut_back_goes_on_at_its_end():
    with ScriptedBroker([log(1, 2)]) as broker, follower(broker) as following:
        followed = following.follow({0: 9})
        parts = [next(followed), next(followed)]
        broker.logs[0].append(batch(3, 2))
        parts += until(followed, 1)
    assert numbers(parts) == [3]
    assert [note for part in parts for note in part.notes] == [
        "__consumer_offsets-0 was cut back to offset 4 while it was read up to 9"
    ]


def test_what_replaces_a_part_that_was_read_is_told():
    """An unclean election: other records get the offsets of those that are lost."""
    with ScriptedBroker([log(1, 2)]) as broker, follower(broker) as following:
        followed = following.follow({0: 0})
        parts = until(followed, 2)
        broker.logs[0].batches, broker.logs[0].end = broker.logs[0].batches[:1], 2
        while not parts[-1].notes:
            parts.append(next(followed))
        broker.logs[0].append(batch(3, 1))
        parts += until(followed, 1)
    assert numbers(parts) == [1, 2, 3]


def test_a_damaged_batch_at_the_end():
    bad = batch(2, 1)[:-2] + b"\xee\xee"
    with ScriptedBroker([Log(batch(1, 0), bad)]) as broker, follower(broker) as following:
        followed = following.follow({0: 0})
        parts = until(followed, 1)
        while parts[-1].positions != {0: 4}:
            parts.append(next(followed))
        broker.logs[0].append(batch(3, 2))
        parts += until(followed, 1)
    assert numbers(parts) == [1, 3]
    assert sum(len(part.notes) for part in parts) == 1


def test_a_quota_is_waited_for():
    paused: list[float] = []
    with ScriptedBroker([log(1)]) as broker:
        topic = OffsetsTopic(broker.bootstrap, pause=paused.append)
        with OffsetsFollower(broker.bootstrap, wait_ms=10, topic=topic) as following:
            broker.throttled_ms = [250, 500]
            assert numbers(until(following.follow({0: 0}), 1)) == [1]
    assert paused == [0.25, 0.5]


def test_rights_that_are_taken_away():
    with ScriptedBroker([log(1)]) as broker, follower(broker) as following:
        followed = following.follow({0: 0})
        until(followed, 1)
        broker.errors[FETCH] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(MayNotReadOffsets):
            until(followed, 1)


def test_a_partition_that_stays_without_a_leader():
    with ScriptedBroker([log(1), log(2)]) as broker:
        broker.leaders[1] = -1
        with follower(broker) as following, pytest.raises(OffsetsUnavailable, match="some partitions have no leader"):
            for _ in following.follow({0: 0, 1: 0}):
                pass


def test_our_own_server(server: RunningServer):
    """While groups come."""
    names = {f"followed-{number}" for number in range(20)}
    with OffsetsFollower(server.bootstrap, groups=names, wait_ms=50) as following:
        positions = following.ends()

        def come() -> None:
            with WireClient(server.bootstrap) as client:
                for name in names:
                    client.join_alone(name)

        coming = threading.Thread(target=come)
        coming.start()
        stable: list[str] = []
        for part in following.follow(positions):
            groups = [each for _, each in part.records if isinstance(each, ClassicGroup)]
            stable += [group.group_id for group in groups if group.generation_id == 1 and group.members]
            if len(stable) >= len(names):
                break
        coming.join()
    assert sorted(stable) == sorted(names)
