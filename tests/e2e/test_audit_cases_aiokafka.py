"""Each way to rebalance a group, with aiokafka: the audit tells who, why and at what price."""

from typing import Final

import pytest

from tests.e2e.playing_cases import cases_of, play_with_python

pytestmark = pytest.mark.realtime

DIFFERING: Final = (
    "a_member_joins",
    "a_member_closes",
    "a_process_is_killed",
    "a_member_does_not_poll",
    "a_member_hangs_in_a_rebalance",
    "a_client_without_a_name",
    "a_static_member_is_fenced",
    "a_subscription_changes",
    "a_topic_grows",
    "the_coordinator_stands_still",
)
"""It does not say what it is, heartbeats in the event loop of its application, and its heartbeats name no instance."""


@pytest.mark.parametrize("case", cases_of(DIFFERING))
def test_the_audit_tells_what_happened(server_of_case, case):
    play_with_python(case, "aiokafka", server_of_case)
