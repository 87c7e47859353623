"""`/healthz` and `/readyz` while partitions load, fail, and serve."""

import json
import threading

import pytest

from _wire.errors import ErrorCode
from coordinator.core.partitioning import partition_for
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.errors import LogAppendError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.interfaces import StoreError
from tests.admin.http_client import Scrape, get, with_node
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

PARTITIONS = 4
STEP_SECONDS = 0.001
NUM_PARTITIONS = "kafka_server_group_coordinator_metrics_num_partitions"


def ready(node):
    answer = get(node.admin, "/readyz")
    return answer.status, json.loads(answer.text)


@pytest.fixture
def held(monkeypatch):
    """Loads do not end while the event is not set; the loop turns all the same.

    Each step waits a little: else the thread that asks, in the same process, hardly gets the interpreter.
    """
    released, load = threading.Event(), GroupStateMachine.load

    def held_load(machine, store):
        while not released.wait(STEP_SECONDS):
            yield
        yield from load(machine, store)

    monkeypatch.setattr(GroupStateMachine, "load", held_load)
    return released


def test_a_node_that_loads_is_healthy_and_not_ready(tmp_path, held):
    def questions(node):
        try:
            status, said = ready(node)
            assert (status, said["ready"], said["reason"]) == (503, False, "loading 4 of 4")
            assert said["partitions"] == {"active": 0, "loading": 4, "failed": 0}
            assert get(node.admin, "/healthz").status == 200
            scrape = Scrape(node.admin)
            assert scrape.value(NUM_PARTITIONS, state="loading") == 4
            assert scrape.value("coordinator_partition_load_seconds_count") == 0
        finally:
            held.set()
        wait_for(lambda: ready(node)[0] == 200, 10, "the loads to end")
        assert ready(node)[1]["reason"] == "all 4 partitions of groups that this node leads are active"
        scrape = Scrape(node.admin)
        assert scrape.value(NUM_PARTITIONS, state="active") == 4
        assert scrape.value("coordinator_partition_load_seconds_count") == 4
        assert scrape.value("kafka_server_group_coordinator_metrics_partition_load_time_max") > 0

    with_node(tmp_path, questions)


def test_a_failed_append_makes_the_node_unready_until_the_disk_works(tmp_path, monkeypatch):
    failing, append = threading.Event(), PartitionLog.append_prebuilt

    def append_or_fail(log, batches, max_timestamp_ms):
        if failing.is_set():
            raise LogAppendError("no space left on device")
        append(log, batches, max_timestamp_ms)

    monkeypatch.setattr(PartitionLog, "append_prebuilt", append_or_fail)
    load = GroupStateMachine.load

    def questions(node):
        failing.set()
        monkeypatch.setattr(GroupStateMachine, "load", _unreadable)
        with WireClient(node.bootstrap) as member:
            assert member.request(join_request("g"), 3).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        wait_for(lambda: ready(node)[1]["partitions"]["failed"] == 1, 10, "the partition to fail")
        status, said = ready(node)
        assert (status, said["failed_partitions"]) == (503, [partition_for("g", PARTITIONS)])
        assert said["reason"].startswith("failed 1 of 4: ")
        assert get(node.admin, "/healthz").status == 200
        wait_for(
            lambda: Scrape(node.admin).value("coordinator_partition_load_failures_total") >= 1, 10, "a load to fail"
        )
        assert Scrape(node.admin).value("coordinator_append_failures_total") == 1
        failing.clear()
        monkeypatch.setattr(GroupStateMachine, "load", load)
        wait_for(lambda: ready(node)[0] == 200, 20, "the partition to be loaded again")
        with WireClient(node.bootstrap) as member:
            member.join_alone("g")

    with_node(tmp_path, questions)


def count(node, name):
    return Scrape(node.admin).value(name)


def _unreadable(machine, store):
    raise StoreError("the medium is gone")
    yield
