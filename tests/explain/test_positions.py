"""Sentences about committed offsets beside the ends of the logs."""

from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.open_transactions import OpenTransaction
from coordinator.explain.claims.findings import Kind
from coordinator.explain.makers.findings.positions import OPEN_REPORTED_MS
from coordinator.explain.positions import notes, position_findings
from tests.explain.consumers import clock

NOW_MS = 3_600_000


def group(partitions: list[PartitionLag], state: str) -> DescribedGroup:
    return DescribedGroup("g", state, "consumer", "range", [], partitions)


def waiting(started_ms: int | None, **others: object) -> PartitionLag:
    return PartitionLag(
        "t",
        0,
        5,
        8,
        None,
        last_stable_offset=5,
        transaction=OpenTransaction("pay", started_ms, 60_000),
        **others,  # type: ignore[arg-type]
    )


def test_a_transaction_makes_a_finding_once_it_has_been_open_for_long():
    assert position_findings(group([waiting(NOW_MS - OPEN_REPORTED_MS + 1)], "Stable"), NOW_MS, clock) == []
    (finding,) = position_findings(group([waiting(NOW_MS - OPEN_REPORTED_MS)], "Stable"), NOW_MS, clock)
    assert finding.kind is Kind.WAITS_FOR_TRANSACTION
    assert finding.headline == "t-0: read_committed waits for the end of a transaction"
    assert finding.evidence == (
        "t-0: read_committed reads up to offset 5 of 8, and waits for the transaction of pay, open since 00:59:50,"
        " until 01:00:50 at the latest",
    )
    assert (finding.from_ms, finding.until_ms) == (NOW_MS - OPEN_REPORTED_MS, NOW_MS)


def test_a_transaction_that_nobody_knows_is_told_as_such():
    hanging = PartitionLag("t", 0, 5, 8, None, last_stable_offset=5)
    (finding,) = position_findings(group([hanging], "Stable"), NOW_MS, clock)
    assert "waits for a transaction that no coordinator tells of" in finding.evidence[0]


def test_who_has_records_to_read_does_not_wait():
    has_more = PartitionLag("t", 0, 4, 8, None, last_stable_offset=5)
    has_all = PartitionLag("t", 0, 8, 8, None, last_stable_offset=8)
    unknown = PartitionLag("t", 0, None, 8, None, last_stable_offset=5)
    assert list(notes(group([has_more, has_all, unknown], "Stable"), NOW_MS, clock)) == []


def test_partitions_beyond_the_first_few_are_counted():
    partitions = [PartitionLag("t", index, 9, 3, None) for index in range(12)]
    (finding,) = position_findings(group(partitions, "Stable"), NOW_MS, clock)
    assert finding.headline.startswith("t-0, t-1, t-2 and 9 more: the committed offset is beyond the end of the log")
    assert len(finding.evidence) == 10
    held = [PartitionLag("t", index, 5, 8, None, last_stable_offset=5) for index in range(11)]
    assert list(notes(group(held, "Stable"), NOW_MS, clock))[-1] == "1 more partition waits for transactions."


def test_what_was_deleted_unread_is_counted_from_the_committed_offset_on():
    lost = [
        PartitionLag("t", index, offset, 9, None, log_start_offset=4) for index, offset in ((0, 3), (1, 4), (2, -1))
    ]
    (finding,) = position_findings(group(lost, "Empty"), NOW_MS, clock)
    assert finding.kind is Kind.DELETED_UNREAD
    assert finding.headline.startswith("t-0 and t-2: 5 records from the committed offset on were deleted unread")
    assert finding.evidence == ("t-0: committed 3, log start 4", "t-2: committed -1, log start 4")
    assert list(notes(group(lost, "Empty"), NOW_MS, clock)) == [f"{finding.headline}."]
    (alone,) = position_findings(group(lost[:1], "Empty"), NOW_MS, clock)
    assert "t-0: 1 record from the committed offset on was deleted unread" in alone.headline


def test_where_a_log_begins_is_not_known_of_all():
    unknown = PartitionLag("t", 0, 3, 9, None)
    without_commit = PartitionLag("t", 0, None, 9, None, log_start_offset=4)
    assert (unknown.deleted_unread, without_commit.deleted_unread) == (0, 0)
    assert position_findings(group([unknown, without_commit], "Empty"), NOW_MS, clock) == []


def test_what_nobody_owns_is_told_of_a_stable_group_alone():
    owned = PartitionLag("t", 0, 5, 8, "m", is_subscribed=True)
    nobodys = [PartitionLag("t", index, offset, 8, None, is_subscribed=True) for index, offset in ((1, None), (2, 3))]
    left_over = PartitionLag("old", 0, 3, 8, None)
    known = [owned, *nobodys, left_over]
    (finding,) = position_findings(group(known, "Stable"), NOW_MS, clock)
    assert finding.kind is Kind.UNOWNED_PARTITIONS
    assert finding.headline == "t-1 and t-2: nobody owns what members subscribe to, so nobody reads it"
    assert finding.evidence == ("2 partitions of 4 partitions", "5 records behind the committed offsets there")
    assert list(notes(group(known, "Stable"), NOW_MS, clock)) == [f"{finding.headline}."]
    for state in ("PreparingRebalance", "Reconciling", "Empty"):
        assert position_findings(group(known, state), NOW_MS, clock) == []
