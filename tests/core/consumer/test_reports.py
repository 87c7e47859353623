"""A heartbeat that says nothing new of its member is valid, and changes nothing of what is known of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.consumer.heartbeat_requests import UNCHANGED_TIMEOUT, _invalid_reason
from coordinator.core.consumer.long_heartbeats import LongHeartbeat
from coordinator.core.consumer.reports import is_report

TEXTS = st.sampled_from(["", " ", "\t", " a", "a", "é"])
REPORT: dict[str, Any] = {"group_id": "group", "member_id": "member", "member_epoch": 3}
NEWS: dict[str, Any] = {
    "member_epoch": 0,
    "instance_id": "instance",
    "rack_id": "rack",
    "rebalance_timeout_ms": 5,
    "subscribed_topic_names": [],
    "subscribed_topic_regex": "",
    "server_assignor": "range",
}


@pytest.mark.parametrize("field", NEWS)
def test_what_a_member_says_of_itself_makes_it_more_than_a_report(field):
    assert is_report(ConsumerGroupHeartbeatRequest(**REPORT))
    assert is_report(ConsumerGroupHeartbeatRequest(**REPORT, topic_partitions=[]))
    assert not is_report(ConsumerGroupHeartbeatRequest(**{**REPORT, field: NEWS[field]}))


@given(TEXTS, TEXTS, st.integers(-3, 3), st.sampled_from([UNCHANGED_TIMEOUT, 0]), st.sampled_from([0, 1]))
def test_a_report_is_valid(group_id, member_id, member_epoch, timeout_ms, api_version):
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id=member_id, member_epoch=member_epoch, rebalance_timeout_ms=timeout_ms
    )
    if is_report(request):
        assert _invalid_reason(request, api_version) is None


def test_a_heartbeat_with_very_many_names_is_none():
    assert not is_report(LongHeartbeat("group", "member", 3, None, None, -1, ("t",), None, None, None))
