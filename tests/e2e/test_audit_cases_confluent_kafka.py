"""Each way to rebalance a group, with confluent-kafka: the audit tells who, why and at what price."""

from typing import Final

import pytest

from tests.e2e.playing_cases import cases_of, play_with_python

pytestmark = pytest.mark.realtime

DIFFERING: Final = (
    "a_member_closes",
    "a_process_is_killed",
    "a_member_does_not_poll",
    "a_member_hangs_in_a_rebalance",
    "a_removed_member_commits",
    "a_static_member_is_fenced",
    "a_fenced_member_commits",
    "a_static_member_closes",
    "a_subscription_changes",
    "a_topic_vanishes",
    "a_cooperative_rebalance",
    "from_range_to_cooperative",
    "assignors_do_not_agree",
    "the_coordinator_stands_still",
    "the_server_crashes_in_a_rebalance",
)
"""It heartbeats and rejoins in a thread of its own, leaves without a reason, and revokes in steps of its own."""


@pytest.mark.parametrize("case", cases_of(DIFFERING))
def test_the_audit_tells_what_happened(server_of_case, case):
    play_with_python(case, "confluent-kafka", server_of_case)
