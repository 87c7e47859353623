"""Differences under ACLs that are meant to be, each with its reason (docs/decisions/035)."""

from tests.differential.acls.cases import Case
from tests.differential.requests import accepted
from tests.differential.requests.answers import Difference

NEVER_ANSWERED = "Kafka fails with a NullPointerException while it makes the error of a null list, and never answers."


def reason_for(case: Case, found: Difference) -> str | None:
    """Why a difference is accepted; None if it is not."""
    if case.base.api == "DescribeUserScramCredentials" and case.body["users"] is None:
        return NEVER_ANSWERED
    return accepted.reason_for(case.base.api, case.variant, found)
