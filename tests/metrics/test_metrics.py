"""What `/metrics` says after known traffic."""

import pytest

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.metrics.declarations import METRICS
from coordinator.metrics.metric import Kind
from tests.admin.http_client import Scrape, with_node
from tests.metrics.traffic import COMMITTED, GROUP, HEARTBEATS, SHARED, sharing
from tests.node.handlers.test_share import AUTHORIZED
from tests.servers import RunningServer
from tests.wire_client import WireClient

COORDINATOR = "kafka_server_group_coordinator_metrics"
REQUESTS = "kafka_network_requestmetrics"
SOCKETS = "kafka_server_socket_server_metrics"


@pytest.fixture(scope="module")
def scrape(server):
    return Scrape(server.admin)


def test_the_page_has_exactly_the_declared_metrics_and_those_of_the_process(scrape):
    declared = {metric.name: metric.kind.value for metric in METRICS}
    assert len(declared) == len(METRICS)
    assert {name: kind for name, kind in scrape.types.items() if not name.startswith("process_")} == declared
    assert "process_cpu_seconds" in scrape.types


def test_each_metric_has_the_declared_labels(scrape):
    for metric in METRICS:
        suffix = {Kind.COUNTER: "_total", Kind.GAUGE: "", Kind.HISTOGRAM: "_count"}[metric.kind]
        found = [set(sample.labels) for sample in scrape.samples if sample.name == metric.name + suffix]
        assert found, metric.name
        assert all(labels == set(metric.labels) for labels in found), metric.name


def test_no_series_comes_twice(scrape):
    series = [(sample.name, *sorted(sample.labels.items())) for sample in scrape.samples]
    assert len(series) == len(set(series))


def test_heartbeats_are_counted_wherever_they_are_answered(scrape):
    answered = HEARTBEATS + 2
    assert scrape.value(f"{REQUESTS}_requests_total", request="Heartbeat", version="3") == answered
    assert scrape.value(f"{REQUESTS}_errors_total", request="Heartbeat") == answered
    assert scrape.value(f"{REQUESTS}_errors_total", request="Heartbeat", error="UNKNOWN_MEMBER_ID") == 1
    assert scrape.value(f"{REQUESTS}_totaltimems_count", request="Heartbeat") == answered


def test_each_partition_of_a_commit_counts(scrape):
    assert scrape.value(f"{REQUESTS}_requests_total", request="OffsetCommit", version="8") == 3
    assert scrape.value(f"{REQUESTS}_errors_total", request="OffsetCommit", error="NONE") == 2 * COMMITTED
    assert scrape.value(f"{REQUESTS}_errors_total", request="OffsetCommit", error="UNKNOWN_TOPIC_OR_PARTITION") == 1
    assert scrape.value(f"{REQUESTS}_errors_total", request="OffsetCommit", error="ILLEGAL_GENERATION") == COMMITTED
    assert scrape.value(f"{COORDINATOR}_offset_commit_count_total") == 2 * COMMITTED
    assert scrape.value("coordinator_requests_rejected_total", request="OffsetCommit", error="ILLEGAL_GENERATION") == 1


def test_each_partition_and_group_of_an_offset_fetch_counts(scrape):
    assert scrape.value(f"{REQUESTS}_errors_total", request="OffsetFetch", error="NONE") == COMMITTED + 1


def test_a_response_with_errors_further_down_does_not_count_its_own(scrape):
    assert scrape.value(f"{REQUESTS}_errors_total", request="Fetch") == 1


def test_groups_are_counted_by_state(scrape):
    states = {state: scrape.value(f"{COORDINATOR}_classic_group_count", state=state) for state in ("Empty", "Stable")}
    assert states == {"Empty": 2, "Stable": 0}
    assert scrape.value(f"{COORDINATOR}_classic_group_count", state="CompletingRebalance") == 1
    assert scrape.value(f"{COORDINATOR}_group_count", protocol="classic") == 3
    assert scrape.value(f"{COORDINATOR}_share_group_count", state="Stable") == 1
    assert scrape.value("kafka_coordinator_group_groupmetadatamanager_numgroups") == 4
    assert scrape.value("kafka_coordinator_group_groupmetadatamanager_numgroupsempty") == 2
    assert scrape.value("kafka_coordinator_group_groupmetadatamanager_numoffsets") == COMMITTED
    assert scrape.value("coordinator_members") == 2


def test_rebalances_are_counted_by_cause(scrape):
    assert scrape.value("coordinator_rebalances_total", cause="new_member") == 4
    assert scrape.value("coordinator_rebalances_total", cause="leader_rejoined") == 1
    assert scrape.value(f"{COORDINATOR}_group_completed_rebalance_count_total") == 3
    assert scrape.value("coordinator_members_removed_total", cause="session_expired") == 1
    assert scrape.value("coordinator_members_removed_total", cause="member_left") == 1


def test_a_group_has_series_of_its_own(scrape):
    assert scrape.value("coordinator_group_state", group=GROUP, state="CompletingRebalance") == 1
    assert scrape.value("coordinator_group_generation", group=GROUP) == 2
    assert scrape.value("coordinator_group_members", group=GROUP) == 1
    assert scrape.value("coordinator_group_rebalances_total", group=GROUP) == 2
    assert scrape.value("coordinator_group_last_rebalance_seconds", group=GROUP) < 60
    assert scrape.value("coordinator_group_lag", group=GROUP) == 0


def test_connections_and_bytes_are_counted(scrape):
    of_listener = {"listener": "PLAINTEXT", "networkProcessor": "0"}
    assert scrape.value(f"{SOCKETS}_connection_creation_total", **of_listener) == 3
    assert scrape.value(f"{SOCKETS}_connection_close_total", **of_listener) == 2
    assert scrape.value(f"{SOCKETS}_connection_count", **of_listener) == 1
    assert scrape.value(f"{SOCKETS}_incoming_byte_total", **of_listener) > 500
    assert scrape.value(f"{SOCKETS}_outgoing_byte_total", **of_listener) > 500


def test_the_coordinator_is_measured(scrape):
    for name in ("event_queue_time_ms", "event_processing_time_ms", "batch_flush_time_ms"):
        assert scrape.value(f"{COORDINATOR}_{name}_count") > 5
        assert scrape.value(f"{COORDINATOR}_{name}_sum") > 0
        assert scrape.value(f"{COORDINATOR}_{name}_bucket", le="+Inf") == scrape.value(f"{COORDINATOR}_{name}_count")
    assert 0 < scrape.value(f"{COORDINATOR}_thread_idle_ratio_avg") <= 1
    assert scrape.value("coordinator_partition_load_seconds_count") == 4
    assert scrape.value("coordinator_audit_events_total") > 10
    assert scrape.value("coordinator_audit_log_bytes") > 1000
    assert scrape.value("coordinator_epoch") == 1


def test_consumer_groups_have_metrics_of_their_own(tmp_path):
    def questions(node):
        with WireClient(node.bootstrap) as client:
            client.create_topic("orders", 2)
            joined = client.request(
                ConsumerGroupHeartbeatRequest(
                    group_id="billing",
                    member_id="a",
                    member_epoch=0,
                    rebalance_timeout_ms=10_000,
                    subscribed_topic_names=["orders"],
                    topic_partitions=[],
                ),
                1,
            )
            assert joined.error_code == 0, joined
            page = Scrape(node.admin)
            assert page.value(f"{COORDINATOR}_consumer_group_count", state="Stable") == 1
            assert page.value(f"{COORDINATOR}_group_count", protocol="consumer") == 1
            assert page.value(f"{COORDINATOR}_consumer_group_rebalance_count_total") == 1
            assert page.value(f"{COORDINATOR}_group_completed_rebalance_count_total") == 0
            assert page.value("coordinator_rebalances_total", cause="new_member") == 1
            assert page.value("coordinator_group_generation", group="billing") == 2
            assert page.value("coordinator_group_last_rebalance_seconds", group="billing") == 0

    with_node(tmp_path, questions)


def test_the_time_of_a_join_has_the_wait_for_others(tmp_path):
    def questions(node):
        with WireClient(node.bootstrap) as client:
            client.join_alone("g")
        times = Scrape(node.admin)
        assert times.value(f"{REQUESTS}_totaltimems_sum", request="JoinGroup") >= 300
        assert times.value(f"{REQUESTS}_totaltimems_bucket", request="JoinGroup", le="100") == 0
        assert times.value(f"{REQUESTS}_totaltimems_sum", request="SyncGroup") < 300

    with_node(tmp_path, questions, {"group.initial.rebalance.delay.ms": "300"})


def test_a_connection_that_is_closed_for_what_it_sent_is_counted(tmp_path):
    def questions(node):
        with WireClient(node.bootstrap) as hostile:
            hostile.socket.sendall(b"\x00\x00\x00\x0a" + b"\x7f" * 10)
            assert hostile.is_closed_by_peer()
        assert Scrape(node.admin).value("coordinator_connections_rejected_total", listener="PLAINTEXT") == 1

    with_node(tmp_path, questions)


def test_records_of_share_groups_are_counted_by_what_became_of_them(scrape):
    name = "kafka_server_sharegroupmetrics_recordacknowledgements_total"
    counts = {ack_type: scrape.value(name, ackType=ack_type) for ack_type in ("Accept", "Release", "Reject", "Renew")}
    assert counts == {"Accept": 3, "Release": 1, "Reject": 1, "Renew": 2}


def test_the_writes_of_the_share_coordinator_and_what_it_has_pruned(scrape):
    """The state that is begun, and one acknowledgement; a renewal is not stored."""
    assert scrape.value("kafka_server_share_coordinator_metrics_write_total") == 2
    of = {"topic": "__share_group_state", "partition": "0"}
    assert scrape.value("kafka_server_share_coordinator_metrics_last_pruned_offset", **of) == 0
    assert scrape.value("kafka_server_delayedsharefetchmetrics_expires_total") == 0


def test_share_sessions_and_records_in_flight(scrape):
    assert scrape.value("kafka_server_sharesessioncache_sharesessionscount") == 1
    assert scrape.value("kafka_server_sharesessioncache_sharepartitionscount") == 1
    of = {"group": "g", "topic": "shared", "partition": "0"}
    assert scrape.value("kafka_server_sharepartitionmetrics_inflightmessagecount", **of) == SHARED
    assert scrape.value("kafka_server_sharepartitionmetrics_inflightbatchcount", **of) == 1
    assert scrape.value("kafka_server_sharepartitionmetrics_acquisitionlocktimeout_total", **of) == 0


@pytest.mark.parametrize("settings", [{}, AUTHORIZED], ids=["steady", "handlers"])
def test_requests_about_records_of_share_groups_count_the_same_without_their_handlers(tmp_path, settings):
    with RunningServer(tmp_path, {"admin.listener": "127.0.0.1:0"} | settings) as server:
        with sharing(server) as client:
            client.acknowledge({0: [(9, 9, [2])]})
            client.acknowledge({0: [(9, 9, [1])]})
            client.fetch(acks={0: [(8, 8, [1])]})
            client.fetch(acks={0: [(8, 8, [1])]})
            client.fetch()
        scrape = Scrape(server.admin)
    answered = {
        name: scrape.value(f"{REQUESTS}_totaltimems_count", request=name) for name in ("ShareFetch", "ShareAcknowledge")
    }
    # One of them loads the share partition, if the one that opens the session does not.
    assert answered["ShareFetch"] in (4, 5)
    assert answered["ShareAcknowledge"] == 4
    assert scrape.value(f"{REQUESTS}_errors_total", request="ShareFetch", error="NONE") == answered["ShareFetch"]
    assert scrape.value(f"{REQUESTS}_errors_total", request="ShareAcknowledge", error="NONE") == 3
    assert scrape.value(f"{REQUESTS}_errors_total", request="ShareAcknowledge", error="INVALID_RECORD_STATE") == 1
