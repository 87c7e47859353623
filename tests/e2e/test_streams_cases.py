"""Each way in which a streams group rebalances or stands still is told as `streams_cases.py` says."""

import pytest

from tests.e2e.streams_cases import CASES, played
from tests.eos.java_programs import ProgramsMissing

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(240)]
OFTEN = {"a standby takes over", "internal topics cannot be created"}
"""Those that are played in each run; `make nightly` plays all."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in OFTEN else pytest.mark.nightly) for case in CASES]
)
def test_what_happened_is_told(case, tmp_path):
    try:
        with played(CASES[case], tmp_path) as scene:
            text = scene.told()
    except ProgramsMissing as missing:
        pytest.skip(str(missing))
    assert [said for said in CASES[case].says if said not in text] == [], text
