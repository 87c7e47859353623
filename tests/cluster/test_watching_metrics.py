"""What a node's metrics tell of what it sees pass of watched groups."""

import threading
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer

from _wire.headers import encode_request
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.audit.schema import Record
from coordinator.audit.schema.sighted import decode_sighting
from coordinator.client.bootstrap import Bootstrap
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.cluster.watched_groups import WatchedGroups
from coordinator.cluster.watching import Watching
from coordinator.watch import node_watch
from coordinator.watch.giving_way import never
from coordinator.watch.sink import SinkError
from tests.cluster.running import RunningNodes
from tests.differential.kafka import KafkaMissing, RunningKafka, free_port
from tests.waiting import wait_for
from tests.wire_client import WireClient

PREFIX: Final = "coordinator_cluster_"
SECONDS: Final = 30
PARTITIONS: Final = 8


class Connection:
    """What the tap needs of a connection."""

    address, client_id, software = "10.0.0.1", "c", ""


class MemorySink:
    """Takes what is appended, but for the first `failures` times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.group_ids: list[str] = []

    def append(self, batches: Mapping[int, list[Record]]) -> None:
        if self.failures:
            self.failures -= 1
            raise SinkError("not known to be there")
        for records in batches.values():
            self.group_ids += [decode_sighting(value).group_id for _, value, _ in records if value is not None]

    def begin(self, ends: Mapping[int, int]) -> None:
        raise AssertionError("facts have no positions")

    def close(self) -> None:
        raise AssertionError("it is not this one's to close")

    def end_offset(self, partition: int) -> int:
        raise AssertionError("facts have no positions")

    def retain(self, partition: int, offset: int) -> None:
        raise AssertionError("facts have no positions")


class Seeing:
    """What a node sees and counts; nothing is sent but by `send`."""

    def __init__(self) -> None:
        address = NodeAddress(node_id=1, host="h", port=9000, broker_port_base=20_000)
        leads = PartitionLeads(address, Lease(5_900, lambda: 0), 1, lambda: 0)
        server = Bootstrap("127.0.0.1:1")
        watched = WatchedGroups(["seen-*"], "nodes", lambda group_id: False)

        async def prepared() -> None:
            """There are no topics."""

        self.watching = Watching(server, 1, watched, PARTITIONS, leads, prepared, lambda: 0)
        self._connection: Any = Connection()

    def passes(self, group_id: str, member_id: str) -> None:
        message = HeartbeatRequest(group_id=group_id, generation_id=1, member_id=member_id)
        self.passes_bytes(encode_request(1, "c", message, 4)[4:])

    def passes_bytes(self, frame: bytes) -> None:
        self.watching.tap.request(self._connection, frame, 0, len(frame), len(frame))

    def take(self) -> None:
        """As the node does a few times each second; there is nothing in it that waits."""
        with pytest.raises(StopIteration):
            self.watching._collect().send(None)

    def send(self, sink: MemorySink) -> None:
        self.watching.watch._send_waiting(sink, give_way=never)

    @property
    def told(self) -> dict[str, float]:
        return {
            metric.name.removeprefix(PREFIX): value for metric, [(_, value)] in self.watching.samples() if value != 0
        }


def test_facts_are_counted_when_they_wait_and_when_they_are_sent():
    seeing, sink = Seeing(), MemorySink(failures=1)
    assert seeing.told == {}
    for member_id in ("a", "b", "a"):
        seeing.passes("seen-1", member_id)
    seeing.passes("other", "a")
    seeing.take()
    assert seeing.told == {"watched_requests": 3, "facts_waiting": 2}, "members that are heard for the first time"

    with pytest.raises(SinkError):
        seeing.send(sink)
    assert seeing.told == {"watched_requests": 3, "facts_waiting": 2}, "none is known to be there"
    seeing.send(sink)
    assert seeing.told == {"watched_requests": 3, "facts_sent": 2}
    assert sink.group_ids == ["seen-1", "seen-1"]


def test_facts_without_room_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node_watch, "QUEUED_MAX", 2)
    seeing = Seeing()
    for number in range(5):
        seeing.passes("seen-1", f"m-{number}")
    seeing.take()
    assert seeing.told == {"watched_requests": 5, "facts_waiting": 2, "facts_dropped": 3}
    seeing.passes("seen-1", "m-5")
    seeing.take()
    assert seeing.told["facts_dropped"] == 4


def test_what_cannot_be_read_is_counted():
    seeing = Seeing()
    message = HeartbeatRequest(group_id="seen-1", generation_id=1, member_id="a")
    seeing.passes_bytes(encode_request(1, "c", message, 4)[4:20])
    assert seeing.told == {"watched_unreadable": 1}


def test_a_node_that_leads_nothing_any_more_tells_of_no_group():
    """Else a group would be counted by the node that told of it, and by the one that does now."""
    seeing = Seeing()
    watch = seeing.watching.watch
    watch.counted.groups = 3
    thread = threading.Thread(target=watch._watch, daemon=True)
    thread.start()
    try:
        wait_for(lambda: seeing.told == {}, 5, "no group to be told of")
        assert thread.is_alive(), "it waits for partitions to lead"
    finally:
        watch.stop()
        thread.join(5)
    assert not thread.is_alive()


@pytest.mark.realtime
@pytest.mark.timeout(180)
def test_a_scrape_of_a_node_tells_of_them(tmp_path: Path):
    admin = f"127.0.0.1:{free_port()}"
    kafka_settings = {"offsets.topic.num.partitions": str(PARTITIONS), "group.initial.rebalance.delay.ms": "0"}
    settings = {"cluster.watch": "seen-*", "cluster.adopt": "", "admin.listener": admin}
    try:
        kafka = RunningKafka(tmp_path, kafka_settings, threads={})
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with kafka, RunningNodes(tmp_path, kafka.bootstrap, 1, settings) as nodes:
        with WireClient(kafka.bootstrap) as client:
            client.create_topic("orders", 1)
        consumer = Consumer({"bootstrap.servers": nodes.bootstrap, "group.id": "seen-1", "log_level": 3})
        consumer.subscribe(["orders"])

        def is_told() -> bool:
            consumer.poll(0.1)
            told = scraped(admin)
            return told["watched_groups"] == 1 and told["facts_sent"] >= 3 and told["facts_waiting"] == 0

        wait_for(is_told, SECONDS, "the metrics of a watched group", every_ms=200)
        told = scraped(admin)
        assert told["watched_requests"] >= 3
        assert (told["facts_dropped"], told["watched_unreadable"]) == (0, 0)
        consumer.close()


def scraped(admin: str) -> dict[str, float]:
    with urllib.request.urlopen(f"http://{admin}/metrics", timeout=SECONDS) as answer:
        lines = answer.read().decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line.startswith(PREFIX) and "{" not in line)
    return {name.removeprefix(PREFIX).removesuffix("_total"): float(value) for name, value in samples}
