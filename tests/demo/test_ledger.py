import pytest

from coordinator.demo import ledger
from coordinator.demo.harness import ScenarioFailed
from coordinator.demo.ledger import Record
from coordinator.demo.scenario import Expected, check_records, check_table

A, B, C = Record(0, 0, 10), Record(0, 1, 11), Record(1, 0, 12)


def read(*records: Record) -> ledger.Report:
    return {"event": "read", "records": [list(record) for record in records]}


def committed(**offsets: int) -> ledger.Report:
    return {"event": "committed", "offsets": [[int(name[1:]), offset] for name, offset in offsets.items()]}


def test_records_are_those_of_one_kind_of_report():
    assert ledger.records([read(A), committed(p0=1), read(B, C)], "read") == [A, B, C]


def test_committed_is_the_highest_offset_in_any_order_of_reports():
    assert ledger.committed([committed(p0=5, p1=2), committed(p0=3)]) == {0: 5, 1: 2}


def test_uncommitted_is_what_was_read_past_the_commits():
    assert ledger.uncommitted([read(A), committed(p0=1), read(B, C)]) == {B, C}
    assert ledger.uncommitted([read(A, B), committed(p0=2)]) == set()


def test_resumed_elsewhere_names_the_partitions_that_did_not_begin_at_their_commit():
    assert ledger.resumed_elsewhere([read(B, C)], {0: 1, 1: 0}) == {}
    assert ledger.resumed_elsewhere([read(B)], {0: 0}) == {0: 1}
    assert ledger.resumed_elsewhere([read(A, B)], {0: 1}) == {0: 0}


def test_every_record_read_once_passes():
    check_records([A, B, C], [C, A, B], set(), "consumer-2")


def test_a_record_read_again_is_allowed_only_if_the_killed_one_had_not_committed_it():
    assert "1 read again" in check_records([A, B], [A, B, B], {B}, "consumer-2")[0]
    with pytest.raises(ScenarioFailed, match="1 records were read twice"):
        check_records([A, B], [A, B, B], {A}, "consumer-2")


def test_a_record_that_was_not_read_fails():
    with pytest.raises(ScenarioFailed, match="1 records were lost"):
        check_records([A, B], [A], set(), "consumer-2")


def test_a_record_that_was_not_produced_fails():
    with pytest.raises(ScenarioFailed, match="nobody produced"):
        check_records([A], [A, Record(0, 0, 99)], set(), "consumer-2")


def row(generation: int, cause: str, client: str, outcome: str = "stable", instance: str | None = None):
    who = {"cause_client_id": client, "cause_group_instance_id": instance, "cause_member_id": f"{client}-id"}
    return {"generation_id": generation, "outcome": outcome, "cause": cause, **who}


def test_a_table_with_all_expected_entries_passes():
    rows = [row(1, "new_member", "a"), row(2, "leader_rejoined", "a"), row(3, "member_left", "a", outcome="emptied")]
    rows.append(row(4, "new_member", "b", instance="t"))
    check_table(rows, [Expected(0, 2, "new_member", "a"), Expected(2, 4, "new_member", "t")])


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(1, "session_expired", "a")],
        [row(1, "new_member", "b")],
        [row(1, "new_member", "a", outcome="superseded")],
        [row(2, "new_member", "a")],
    ],
)
def test_a_table_without_an_expected_entry_fails(rows: list[dict[str, object]]):
    with pytest.raises(ScenarioFailed, match=r"^the table"):
        check_table(rows, [Expected(0, 1, "new_member", "a")])
