"""The comparison of histories with transactions: what counts as a difference, and what does not."""

import asyncio
from typing import Any, Final

import pytest

from tests.differential.stateful import Outcome, Restart
from tests.differential.steps import Send
from tests.differential.transactions import play
from tests.differential.transactions.play import RESTART_AMID_MARKERS, Restarts, Retelling, TransactionPlayer
from tests.differential.transactions.side import RecordedTransactionSide
from tests.differential.transactions.steps import (
    TransactionHistory,
    TransactionStep,
    history_from_record,
    history_from_text,
)

END: Final = Send("s1", "a", "EndTxn", 5, {"transactional_id": "~t1"})


def state(transaction: str = "CompleteCommit", **parts: Any) -> dict[str, Any]:
    transactions = {"transaction_states": [{"transaction_state": transaction}]}
    return {"transactions": transactions, "producers": 1, "ends": 1, "offsets": 1} | parts


def history(step: TransactionStep, answer: Any, after: dict[str, Any]) -> TransactionHistory:
    return TransactionHistory(1, [step], [Outcome(answer, after)])


def compare(kafka: TransactionHistory, ours: TransactionHistory) -> TransactionHistory:
    async def restart(how: str) -> None:
        """There is nothing to restart."""

    async def compared() -> TransactionHistory:
        sides = RecordedTransactionSide(kafka), RecordedTransactionSide(ours)
        return await TransactionPlayer(sides, asyncio.Semaphore(1), Restarts(restart)).play(Retelling(kafka), 1)

    return asyncio.run(compared())


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a recorded side answers, it answers at once: no need to wait for it."""
    monkeypatch.setattr(play, "PATIENCE_SECONDS", 0)


def test_the_same_answers_and_states_are_no_difference() -> None:
    one = history(END, {"error_code": 0}, state())
    assert (compare(one, one).difference, compare(one, one).outcomes) == ("", one.outcomes)


def test_another_answer_is_named_with_its_place() -> None:
    kafka, ours = (history(END, {"error_code": code}, state()) for code in (0, 47))
    assert compare(kafka, ours).difference == "s1.error_code: 0 ≠ 47"


def test_another_state_is_a_difference() -> None:
    kafka, ours = history(END, {}, state()), history(END, {}, state(ends=2))
    assert compare(kafka, ours).difference == "state after s1 EndTxn v5: ends: 1 ≠ 2"


def test_a_transaction_that_does_not_end_is_a_difference() -> None:
    one = history(END, {}, state("PrepareCommit"))
    assert compare(one, one).difference == "state after s1 EndTxn v5: the transaction does not end"


@pytest.mark.parametrize("last", [END, None])
def test_after_a_restart_amid_markers_they_may_be_there_twice(last: Send | None) -> None:
    kafka, ours = (history(Restart("kill", last), {}, state(ends=ends)) for ends in (3, 2))
    compared = compare(kafka, ours)
    assert (compared.ended == RESTART_AMID_MARKERS, bool(compared.difference)) == (last is not None, last is None)


def test_after_a_restart_the_transactions_must_be_the_same() -> None:
    kafka, ours = (history(Restart("kill", END), {}, state(each)) for each in ("CompleteCommit", "CompleteAbort"))
    assert compare(kafka, ours).difference


def test_a_history_is_the_same_when_it_was_written_and_read() -> None:
    one = history(Restart("kill", END), {"error_code": 0}, state())
    assert history_from_text(one.text()).steps == one.steps
    assert history_from_record(one.recorded()) == one
