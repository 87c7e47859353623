"""`coordinator watch` as a process, at a server of this project in the place of Kafka."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.records import build_batch
from coordinator.client.wire import ClientError
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.watch.watching import Events, Watching, events_of, into
from tests.wire_client import WireClient

PARTITIONS = 4
SECONDS = 30


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[RunningServer]:
    folder = tmp_path / "watched"
    folder.mkdir()
    with RunningServer(folder, {**QUICK_GROUPS, "offsets.topic.num.partitions": str(PARTITIONS)}) as server:
        yield server


def join(server: RunningServer, *groups: str) -> None:
    with WireClient(server.bootstrap, "billing") as client:
        for group in groups:
            client.join_alone(group)


def wait_for_groups(bootstrap: str, groups: set[str], topic: str = "__group_audit") -> Events:
    """Until the last generation of each is told."""
    found: Events = {}

    def are_recorded() -> bool:
        nonlocal found
        try:
            found = events_of(bootstrap, topic)
        except ClientError:
            return False
        return found.keys() >= groups and all(found[group][-1]["kind"] == "generation.stable" for group in groups)

    wait_for(are_recorded, SECONDS, f"{groups} to be told", every_ms=200)
    return found


def coordinator(*arguments: str) -> str:
    command = [sys.executable, "-m", "coordinator.cli", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def line(group: str, number: int, text: str) -> str:
    head = f"[2026-11-29 10:00:00,{number:03}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=1]"
    return f"{head} {text.format(group)} (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"


def test_what_happens_is_told_by_the_commands_that_tell_the_audit(watched: RunningServer, tmp_path: Path):
    join(watched, "before")
    with into(tmp_path / "watch", watched.bootstrap, "--admin", "127.0.0.1:0") as watch:
        own = watch.wait()["bootstrap"]
        join(watched, "orders")
        found = wait_for_groups(own, {"before", "orders"})
        page = f"http://{watch.wait()['admin']}"
        metrics = urlopen(f"{page}/metrics").read().decode()
        assert f"coordinator_watch_events_total {sum(map(len, found.values()))}.0" in metrics, metrics[-2_000:]
        assert "coordinator_watch_groups 2.0" in metrics
        assert json.loads(urlopen(f"{page}/readyz").read())["ready"]
        assert found["orders"][0]["places"][0]["source"] == "record"
        why = coordinator("groups", "why", "orders", "--bootstrap", own)
        assert "new member" in why or "joined" in why, why
        assert "record __consumer_offsets-" in why
        assert "not looked at" not in why  # its offsets are at the Kafka
        history = json.loads(coordinator("groups", "history", "orders", "--bootstrap", own, "--json"))
        assert [each["generation_id"] for each in history] == [1]
        assert history[0]["evidence"]
        tail = coordinator("audit", "tail", "--bootstrap", own, "--events", "1000")
        assert len(tail.splitlines()) == sum(map(len, found.values()))
        assert watch.stop() == 0
        assert not (tmp_path / "watch" / "ready.json").exists()
        join(watched, "after")
        watch.start()
        again = wait_for_groups(watch.wait()["bootstrap"], {"before", "orders", "after"})
        assert {each: again[each] for each in found} == found
    assert "problem" not in watch.log.read_text()


def test_lines_of_a_log_are_told_with_the_records(watched: RunningServer, tmp_path: Path):
    log = tmp_path / "server.log"
    log.write_text(line("lines", 1, "Group {} with generation 3 is now empty."))
    with into(tmp_path / "watch", watched.bootstrap, "--broker-log", str(log), "--group", "line*") as watch:
        own = watch.wait()["bootstrap"]
        join(watched, "other", "lines-1")
        assert wait_for_groups(own, {"lines-1"}).keys() == {"lines-1"}
        with log.open("a") as file:
            file.write(line("lines", 2, "Group {} with generation 4 is now empty."))

        def is_reported() -> bool:
            sources = {place["source"] for event in events_of(own).get("lines", []) for place in event["places"]}
            return "broker_log" in sources

        wait_for(is_reported, SECONDS, "the line to be told", every_ms=200)


def test_killed_again_and_again_while_it_appends_to_a_topic(watched: RunningServer, tmp_path: Path):
    with WireClient(watched.bootstrap) as client:
        client.create_topic("seen", PARTITIONS)
    topic = Watching(tmp_path / "topic", "--bootstrap", watched.bootstrap, "--topic", "seen")
    with into(tmp_path / "into", watched.bootstrap) as undisturbed, topic:
        groups = set()
        for number in range(4):
            new = {f"group-{number}-{each}" for each in range(5)}
            join(watched, *new)
            groups |= new
            if number % 2:
                wait_for_groups(watched.bootstrap, groups, "seen")
            topic.kill()
            topic.start()
            topic.wait()
        found = wait_for_groups(watched.bootstrap, groups, "seen")
        assert found == wait_for_groups(undisturbed.wait()["bootstrap"], groups)
        assert topic.stop() == 0
        assert undisturbed.stop() == 0


def test_a_second_watcher_of_the_same_topic_ends_the_first_one_and_nothing_is_doubled(
    watched: RunningServer, tmp_path: Path
):
    with WireClient(watched.bootstrap) as client:
        client.create_topic("seen", PARTITIONS)
    arguments = ("--bootstrap", watched.bootstrap, "--topic", "seen")
    with Watching(tmp_path / "one", *arguments) as one, Watching(tmp_path / "two", *arguments):
        groups = {f"group-{number}" for number in range(8)}
        join(watched, *groups)
        wait_for(lambda: one.has_ended, SECONDS, "the first one to end")
        assert "another watcher has begun to write to seen" in one.log.read_text()
        wait_for_groups(watched.bootstrap, groups, "seen")


def test_a_topic_that_is_not_there_is_told_and_waited_for(watched: RunningServer, tmp_path: Path):
    watch = Watching(tmp_path / "watch", "--bootstrap", watched.bootstrap, "--topic", "seen")
    join(watched, "orders")
    watch.start()
    try:
        told = "has no topic seen: create it, with as many partitions as __consumer_offsets"
        wait_for(lambda: told in watch.log.read_text(), SECONDS, "it to be told")
        with WireClient(watched.bootstrap) as client:
            client.create_topic("seen", PARTITIONS)
        wait_for_groups(watched.bootstrap, {"orders"}, "seen")
        assert watch.log.read_text().count(told) == 1
    finally:
        assert watch.stop() == 0


def test_a_kafka_that_goes_away_is_told_once_and_watched_again(watched: RunningServer, tmp_path: Path):
    with into(tmp_path / "watch", watched.bootstrap) as watch:
        own = watch.wait()["bootstrap"]
        join(watched, "orders")
        found = wait_for_groups(own, {"orders"})
        watched.stop()
        watched.start()
        join(watched, "payments")
        again = wait_for_groups(own, {"orders", "payments"})
        assert again["orders"][: len(found["orders"])] == found["orders"]


def test_the_page_of_a_watcher_shows_the_lag_of_the_kafka_that_is_watched(watched: RunningServer, tmp_path: Path):
    join(watched, "orders")
    with WireClient(watched.bootstrap) as client:
        client.create_topic("behind", 1)
        assert client.produce("behind", build_batch([(None, b"v")] * 3)).error_code == 0
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
        topics = [OffsetCommitRequestTopic(name="behind", partitions=[partition])]
        client.request(OffsetCommitRequest(group_id="billing", topics=topics), 8)
    ready = tmp_path / "dashboard.json"
    with into(tmp_path / "watch", watched.bootstrap) as watch:
        own = watch.wait()["bootstrap"]
        command = [sys.executable, "-m", "coordinator.cli", "dashboard", "--bootstrap", own, "--listen", "127.0.0.1:0"]
        command += ["--lag-from", watched.bootstrap, "--ready-file", str(ready)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as dashboard:
            try:
                wait_for(ready.exists, SECONDS, "the page")
                url = json.loads(ready.read_text())["url"]

                def lag() -> int | None:
                    groups = json.loads(urlopen(f"{url}api/groups").read())["groups"]
                    return next((group["lag"] for group in groups if group["group_id"] == "billing"), None)

                wait_for(lambda: lag() == 3, SECONDS, "the lag", every_ms=200)
            finally:
                dashboard.terminate()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "either --into DIR or --topic NAME"),
        (("--into", "x", "--topic", "y"), "either --into DIR or --topic NAME"),
        (("--topic", "y", "--admin", "127.0.0.1:0"), "--admin and --advertise go with --into"),
        (("--topic", "y", "--log-format", "runes"), "'runes' is none of the formats"),
    ],
)
def test_options_that_do_not_go_together(arguments, told):
    command = [sys.executable, "-m", "coordinator.cli", "watch", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 1
    assert told in done.stdout


def test_a_folder_of_a_coordinator_is_refused(watched: RunningServer, tmp_path: Path):
    """Its events are none of a watcher, and a watcher would go on in the middle of them."""
    other = tmp_path / "other"
    other.mkdir()
    with RunningServer(other, {**QUICK_GROUPS, "offsets.topic.num.partitions": str(PARTITIONS)}) as server:
        join(server, "orders")
    watch = Watching(
        tmp_path / "watch", "--bootstrap", watched.bootstrap, "--into", str(other / "data"), "--listen", "127.0.0.1:0"
    )
    watch.start()
    wait_for(lambda: watch.has_ended, SECONDS, "it to end")
    assert "has records, and none is of a watcher" in watch.log.read_text()
