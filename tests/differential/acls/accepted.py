"""Differences under ACLs that are meant to be, each with its reason (docs/decisions/035)."""

from tests.differential.acls.cases import Case
from tests.differential.requests import accepted
from tests.differential.requests.answers import Difference


def reason_for(case: Case, found: Difference) -> str | None:
    """Why a difference is accepted; None if it is not."""
    return accepted.reason_for(case.base.api, case.variant, found)
