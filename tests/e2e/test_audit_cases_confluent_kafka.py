"""Each way to rebalance a group, with confluent-kafka: the audit tells who, why and at what price."""

import pytest

from tests.e2e.audit_cases import CASES
from tests.e2e.playing_cases import play_with_python

pytestmark = pytest.mark.realtime


@pytest.mark.parametrize("case", CASES)
def test_the_audit_tells_what_happened(server_of_case, case):
    play_with_python(case, "confluent-kafka", server_of_case)
