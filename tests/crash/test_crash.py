"""A few runs of `make crash`, and what it says when something acknowledged is lost."""

import shutil
from pathlib import Path

import pytest

from tests.crash.consumer_members import ConsumerGroupMember
from tests.crash.runs import SETTINGS, CrashRuns
from tests.crash.share_consumers import ShareConsumer
from tests.crash.streams_members import StreamsGroupMember
from tests.crash.workers import CommittingClient, IdempotentProducer, ShortLivedTopics, Worker
from tests.servers import RunningServer
from tests.wire_client import WireClient


def test_nothing_acknowledged_is_lost_by_kills(tmp_path):
    runs = CrashRuns(tmp_path, seed=5)
    for _ in range(4):
        runs.run()
    runs.check_the_end()
    assert runs.ends["killed"] + runs.ends["killed early"] + runs.ends["stopped"] == 4


def cut(path: Path) -> None:
    """Take the last bytes, as no kill of a process does."""
    data = path.read_bytes()
    assert len(data) > 70
    path.write_bytes(data[:-1])


@pytest.mark.parametrize(
    ("worker", "log"),
    [
        (lambda: IdempotentProducer("produced", 1, 1), "produced-0"),
        (lambda: CommittingClient("committing", 1), "__consumer_offsets-*"),
    ],
)
def test_a_lost_acknowledged_write_is_found(tmp_path, worker, log):
    client_worker = worker()
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            for _ in range(5):
                client_worker.work(client)
            client_worker.check(client)
        server.kill()
        largest = max(server.data.glob(f"{log}/*.log"), key=lambda path: path.stat().st_size)
        cut(largest)
        server.start()
        with WireClient(server.bootstrap) as client, pytest.raises(AssertionError, match=r"acknowledged|committed"):
            client_worker.check(client)


@pytest.mark.parametrize("kind_of_member", [ConsumerGroupMember, StreamsGroupMember])
def test_a_member_that_is_back_at_an_earlier_epoch_is_found(tmp_path, kind_of_member):
    """The data are those of an earlier moment, as if all that was acknowledged since was lost."""
    members = [kind_of_member("group", number, seed=1) for number in range(2)]
    with RunningServer(tmp_path, SETTINGS) as server:
        with WireClient(server.bootstrap) as client:
            work_until_acknowledged(members, client, 5)
        server.kill()
        shutil.copytree(server.data, tmp_path / "earlier")
        server.start()
        with WireClient(server.bootstrap) as client:
            work_until_acknowledged(members, client, 60)
        server.kill()
        shutil.rmtree(server.data)
        (tmp_path / "earlier").rename(server.data)
        server.start()
        with WireClient(server.bootstrap) as client, pytest.raises(AssertionError, match=r"acknowledged|committed"):
            for member in members:
                member.check(client)


def work_until_acknowledged(members: list[Worker], client: WireClient, count: int) -> None:
    while any(member.acknowledged.total() < count for member in members):
        for member in members:
            member.work(client)


def test_a_topic_that_is_gone_without_having_been_deleted_is_found(tmp_path):
    worker = ShortLivedTopics(1)
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap) as client:
        while worker.acknowledged["topics created"] == worker.acknowledged["topics deleted"]:
            worker.work(client)
        worker.check(client)
        (name,) = [name for name, exists in worker._exists.items() if exists == {True}]
        worker._delete(client, name)
        worker._exists[name] = {True}
        with pytest.raises(AssertionError, match="does not exist, contrary to what was acknowledged"):
            worker.check(client)


def accepted_records(worker: ShareConsumer, client: WireClient) -> None:
    """Let it work until it has accepted or rejected something, and not a step further."""
    while not worker.acknowledged["records accepted or rejected"]:
        worker.work(client)


def test_an_accepted_record_that_would_come_again_is_found(tmp_path):
    worker = ShareConsumer("share-group", 1)
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            accepted_records(worker, client)
            worker.check(client)
        server.kill()
        newest = max(server.data.glob("__share_group_state-*/*.log"), key=lambda path: path.stat().st_mtime_ns)
        cut(newest)
        server.start()
        with WireClient(server.bootstrap) as client, pytest.raises(AssertionError, match="would be delivered again"):
            worker.check(client)


def test_a_record_that_is_given_up_without_an_acknowledgement_is_found(tmp_path):
    worker = ShareConsumer("share-group", 1)
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap) as client:
        accepted_records(worker, client)
        for done in worker._done:
            done.clear()
        with pytest.raises(AssertionError, match="nobody would get them"):
            worker.check(client)
