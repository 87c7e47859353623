"""Differences under ACLs that are meant to be, each with its reason (docs/decisions/035)."""

from typing import Any

from tests.differential.acls.cases import Case
from tests.differential.requests import accepted
from tests.differential.requests.accepted import Accepted
from tests.differential.requests.answers import Difference, differences

NEVER_ANSWERED = "Kafka fails with a NullPointerException while it makes the error of a null list, and never answers."
NAMED_TWICE = "Kafka fails with an exception, UNKNOWN_SERVER_ERROR, if a new session names a partition twice."
NO_PARTITIONS = "Kafka fails with an exception, UNKNOWN_SERVER_ERROR, for a topic without partitions."
OF_SHARE_GROUPS = (
    Accepted("ShareFetch", "*doubled", "*", NAMED_TWICE, lambda kafka, ours: kafka in (-1, 0, [])),
    Accepted(
        "DescribeShareGroupOffsets", "*.partitions=[]", "groups.*", NO_PARTITIONS, lambda kafka, ours: kafka in (-1, [])
    ),
)
OWN_LOGS = "How large a log is depends on when markers were written."
OF_LOGS = ("partition_size", "end_offset", "high_watermark", "last_stable_offset", ".records")
OWN_LOGIN = "The real Kafka was started with users and threads of its own."
OF_LOGIN = (
    *("sasl.", "num.", "inter.broker.listener.name", "early.start.listeners", "listener.name.", "super.users"),
    *("group.coordinator.append.linger.ms", "group.audit.linger.ms", "authorizer.", "acls."),
)
"""Beginnings of names of settings in which the two differ."""


def unexplained(case: Case, kafka: dict[str, Any], ours: dict[str, Any]) -> list[Difference]:
    """The differences of two answers that are not accepted."""
    if "no answer" in kafka or "no answer" in ours:
        found = [Difference("", kafka, ours)] if kafka != ours else []
    else:
        found = list(differences(kafka, ours))
    return [each for each in found if reason_for(case, each) is None]


def reason_for(case: Case, found: Difference) -> str | None:
    """Why a difference is accepted; None if it is not."""
    if case.base.api == "DescribeUserScramCredentials" and case.body["users"] is None:
        return NEVER_ANSWERED
    if found.path.endswith(OF_LOGS):
        return OWN_LOGS
    if case.base.api == "DescribeConfigs" and found.path.partition("[")[2].startswith(OF_LOGIN):
        return OWN_LOGIN
    return accepted.reason_for(case.base.api, case.variant, found, (*OF_SHARE_GROUPS, *accepted.ACCEPTED))
