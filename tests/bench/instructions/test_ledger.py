"""What is kept of instructions, and what is said of a figure that has changed."""

import pytest

from tests.bench.instructions import ledger
from tests.bench.instructions.ledger import Kept, Ledger


@pytest.fixture
def kept() -> Ledger:
    figures = {"Heartbeat": Kept(4_870), "OffsetCommit": Kept(70_000, 'it tells "who"')}
    return Ledger("Python 3.11.2", figures)


def test_a_figure_that_has_risen_by_more_than_two_per_cent_is_named(kept):
    assert ledger.risen(kept, {"Heartbeat": 4_960, "OffsetCommit": 71_399}) == {}
    assert ledger.risen(kept, {"Heartbeat": 4_968, "OffsetCommit": 71_401}) == {
        "OffsetCommit": "OffsetCommit: 71,401 in place of 70,000 (+2.0%)",
        "Heartbeat": "Heartbeat: 4,968 in place of 4,870 (+2.0%)",
    }


def test_a_figure_whose_counts_lie_farther_apart_may_be_as_far_above():
    kept = Ledger("Python 3.11.2", {"ShareFetch": Kept(100_000, spread=0.06)})
    assert ledger.risen(kept, {"ShareFetch": 105_900}) == {}
    assert ledger.risen(kept, {"ShareFetch": 106_100}) != {}
    assert ledger.savings(kept, {"ShareFetch": 94_000}) == []


def test_what_is_counted_and_not_kept_is_named(kept):
    assert ledger.risen(kept, {"Fetch": 1.0}) == {"Fetch": "Fetch: 1, and nothing is kept"}


def test_what_can_be_lowered_is_told_and_is_no_failure(kept):
    assert ledger.savings(kept, {"Heartbeat": 4_800, "OffsetCommit": 45_000, "Fetch": 1.0}) == [
        "OffsetCommit: 45,000 in place of 70,000 (-35.7%); lower what is kept"
    ]


def test_the_file_is_read_as_it_is_written(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "FILE", tmp_path / "instructions.toml")
    ledger.FILE.write_text(ledger.text_of(kept))
    assert ledger.kept() == kept


def test_an_update_keeps_reasons_and_other_figures(kept):
    updated = ledger.updated(kept, {"OffsetCommit": 45_000.4})
    assert updated.built_with == ledger.built_with()
    assert updated.figures == {"Heartbeat": Kept(4_870), "OffsetCommit": Kept(45_000, 'it tells "who"')}


def test_the_ledger_of_the_repository_can_be_read():
    assert all(figure.instructions > 0 for figure in ledger.kept().figures.values())
