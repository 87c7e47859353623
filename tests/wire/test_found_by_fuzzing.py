"""Inputs that a fuzz target once failed on. Each is run through its target again."""

import pytest

from tests.fuzz import fuzz_frames, fuzz_group_records, fuzz_messages, fuzz_produced_batches, fuzz_records

TARGETS = {
    "frames": fuzz_frames,
    "group records": fuzz_group_records,
    "messages": fuzz_messages,
    "produced batches": fuzz_produced_batches,
    "records": fuzz_records,
}
FOUND = [
    # find_batch: the longest length and what goes before it did not fit into 32 bits together, and it walked backwards
    ("records", "00 ffffffcff1aca07f 7fffffff ffffffff 02 7fff7fff fffe 00000005 82534e415050590000000001000000010000"),
]


@pytest.mark.parametrize(("target", "data"), FOUND)
def test_what_was_found_stays_fixed(target: str, data: str) -> None:
    outcomes: list[str] = []
    TARGETS[target].one_input(bytes.fromhex(data), outcomes.append)
    assert outcomes


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_holds_on_its_seeds(target: str) -> None:
    outcomes: set[str] = set()
    for seed in list(TARGETS[target].seeds())[::7]:
        TARGETS[target].one_input(seed, outcomes.add)
    assert len(outcomes) > 10
