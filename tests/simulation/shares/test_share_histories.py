"""Random histories of a share group on a whole node, and whether they notice what they are to notice."""

from collections import Counter
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.share import share_partition
from coordinator.runtime.slices import Steps
from coordinator.share_state.share_states import ShareStates
from tests.examples import examples
from tests.simulation.shares.delivered import DELIVERIES_MAX
from tests.simulation.shares.playing import WEIGHTS, Step, history_of, play

SEEDS = range(60)


def test_no_accepted_record_is_delivered_again_and_none_is_lost() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        seen += play(history_of(seed)).seen
    expected = {f"step {kind}" for kind in WEIGHTS}
    expected |= {f"delivery {count}" for count in range(1, DELIVERIES_MAX + 1)}
    expected |= {"acknowledged 1", "acknowledged 2", "acknowledged 3", "died while writing", "start"}
    assert expected <= seen.keys()


def _is_compared(step: Step) -> bool:
    """Not a fetch that releases: whether it gets the released records again depends on when they are stored."""
    releases = step.kind == "fetch" and step.value // 192 % 2 == 1 and step.value // 48 % 4 == 2
    return step.kind in ("produce", "fetch", "acknowledge", "disconnect", "wait") and not releases


def test_steady_requests_do_what_their_handlers_do() -> None:
    """Answers and stored states are the same both ways, byte for byte."""
    steady, seeds = 0, range(examples(len(SEEDS)))
    for seed in seeds:
        history = history_of(seed)
        # In one turn each: with more of them a handler takes steps between which something else may happen.
        history = history._replace(
            turns=0, is_durable=False, steps=[step for step in history.steps if _is_compared(step)]
        )
        one, other = (play(history._replace(is_steady=is_steady)) for is_steady in (True, False))
        assert one.answers == other.answers
        assert one.stored() == other.stored()
        assert one.seen == other.seen
        steady += one.server.steady_shares
    assert steady > 20 * len(seeds), "most requests are steady ones"


def _first_problem() -> str:
    for seed in SEEDS:
        try:
            play(history_of(seed))
        except AssertionError as problem:
            return str(problem)
    return ""


def test_writes_that_are_not_stored_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def writer(self: ShareStates, *names: Any) -> Any:
        return lambda *arguments: arguments[-1](ErrorCode.NONE)

    monkeypatch.setattr(ShareStates, "writer", writer)
    assert "was accepted or rejected, and is delivered again" in _first_problem()


def test_batches_that_are_not_loaded_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = ShareStates.read

    def without_batches(self: ShareStates, *arguments: Any) -> Steps[Any]:
        found = yield from read(self, *arguments)
        return found if isinstance(found, ErrorCode) else found._replace(batches=())

    monkeypatch.setattr(ShareStates, "read", without_batches)
    assert "was accepted or rejected, and is delivered again" in _first_problem()


def test_records_that_are_passed_over_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = share_partition.SharePartition._begin

    def behind(self: share_partition.SharePartition, stored: Any) -> Steps[ErrorCode]:
        error = yield from begin(self, stored)
        if error is ErrorCode.NONE and self.window.start_offset:
            self.window.move_start(self.window.start_offset + 1)
        return error

    monkeypatch.setattr(share_partition.SharePartition, "_begin", behind)
    assert "never delivered" in _first_problem()
