"""Findings about the records of a share group: each from intervals that deserve it, and not from those that do not."""

from typing import Any, Final

import pytest

from coordinator.audit.schema import (
    EndedRecords,
    FirstRecord,
    MemberRef,
    ShareMemberRecords,
    SharePartitionRecords,
    ShareRecordCounts,
    ShareRecords,
)
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from tests.audit.consumer_stories import named
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID

INTERVAL_MS: Final = 60_000
OF_RECORDS: Final = {
    Kind.POISON_RECORD,
    Kind.SLOW_TO_ACKNOWLEDGE,
    Kind.LOCKS_TOO_SHORT,
    Kind.NEVER_ACKNOWLEDGES,
    Kind.TAKES_ALL,
    Kind.START_STANDS,
}


class Intervals:
    """A share group whose members a and b both have t-0, and what is told of its records."""

    def __init__(self, *members: str) -> None:
        world = ShareWorld(topics={"t": 1})
        named(world)
        for member in members or ("a", "b"):
            world.share_enter(member, "t")
        world.share_beat("a", 3)
        for member in members or ("a", "b"):
            world.share_beat(member, world.share.members[member].current.epoch)
        self.history = GroupHistory.of(GROUP_ID, world.audited())
        self.refs = {member_id: each.member for member_id, each in self.history.members.items()}
        self.now_ms = world.now_ms

    def ref(self, member: str) -> MemberRef:
        return self.refs.get(member, MemberRef(member))

    def tell(
        self, partition: SharePartitionRecords | None = None, unnamed_members: int = 0, epoch: int = 1, **of: Any
    ) -> None:
        """One interval: what each member did, and what there is of t-0."""
        self.now_ms += INTERVAL_MS
        last = self.history
        self.history.apply(
            ShareRecords(
                group_id=GROUP_ID,
                seq=last.last_seq + 1,
                created_seq=last.created_seq,
                time_ms=self.now_ms,
                node_id=1,
                coordinator_epoch=epoch,
                generation_id_before=last.generation_id,
                generation_id=last.generation_id,
                state_before=last.state,
                state=last.state,
                interval_ms=INTERVAL_MS,
                lock_duration_ms=30_000,
                delivery_count_limit=5,
                counts=ShareRecordCounts() if partition is None else partition.counts,
                partitions=[] if partition is None else [partition],
                unnamed_partitions=0,
                members=[
                    ShareMemberRecords(self.ref(member), ShareRecordCounts(**each)) for member, each in of.items()
                ],
                unnamed_members=unnamed_members,
            )
        )

    def found(self, later_ms: int = 0) -> dict[Kind, Finding]:
        told = findings(self.history, self.now_ms + later_ms)
        return {each.kind: each for each in told if each.kind in OF_RECORDS}


@pytest.fixture
def group() -> Intervals:
    return Intervals()


def partition(first: FirstRecord | None = None, *records: EndedRecords, **counts: int) -> SharePartitionRecords:
    return SharePartitionRecords("t", 0, ShareRecordCounts(**counts), 7, 5, 3, first, list(records))


def test_a_healthy_group_has_no_findings(group):
    for _ in range(10):
        group.tell(a={"acquired": 100, "accepted": 100}, b={"acquired": 90, "accepted": 90})
    assert findings(group.history, group.now_ms) == []


def test_nobody_is_told_that_a_share_group_commits_nothing(group):
    """Its members acknowledge records."""
    assert findings(group.history, group.now_ms + 3_600_000) == []


def test_records_that_were_given_up(group):
    group.tell(partition(None, EndedRecords(4, 4, 5, "lock_ended", group.ref("a")), archived=1, lock_ended=1))
    group.tell(partition(None, EndedRecords(6, 7, 1, "rejected", group.ref("b")), rejected=2))
    found = group.found()[Kind.POISON_RECORD]
    assert found.headline == (
        "t-0: 1 record was archived at the delivery count limit and 2 records were rejected in 2 min: nobody gets them"
        " any more"
    )
    assert [each.split(", by ")[0] for each in found.evidence] == ["record 4", "records 6 to 7"]
    assert found.evidence[0].endswith("delivered 5 times, then the lock of client-a (127.0.0.1) ended")
    assert found.evidence[1].endswith("delivered 1 time, then client-b (127.0.0.1) rejected them")
    assert group.found(600_001 - INTERVAL_MS)[Kind.POISON_RECORD].headline.startswith("t-0: 2 records were rejected")
    assert group.found(600_001) == {}


def test_records_that_only_come_again_are_no_finding(group):
    group.tell(partition(None, delivered_again=3, released=3))
    assert group.found() == {}


def test_who_is_slow_to_acknowledge(group):
    group.tell(a={"acquired": 10, "accepted": 6, "lock_ended": 4})
    assert group.found() == {}, "once is an accident"
    group.tell(a={"acquired": 10, "accepted": 9, "lock_ended": 1})
    (found,) = group.found().values()
    assert found.kind is Kind.SLOW_TO_ACKNOWLEDGE
    assert found.headline == (
        "client-a (127.0.0.1) is slow to acknowledge: the locks of 5 records ended in 2 min before it acknowledged"
        " them; locks last 30 s now"
    )
    assert found.evidence[0].endswith("it acquired 20 records and acknowledged 15")


def test_locks_that_are_too_short(group):
    for _ in range(2):
        group.tell(a={"acquired": 10, "accepted": 6, "lock_ended": 4, "late": 1})
    (found,) = group.found().values()
    assert found.kind is Kind.LOCKS_TOO_SHORT
    assert found.headline == (
        "client-a (127.0.0.1) may be slower than its locks, now of 30 s: the locks of 8 records ended before it"
        " acknowledged them, and 2 requests acknowledged records, these or others, that it did not have"
    )


def test_who_never_acknowledges(group):
    for _ in range(2):
        group.tell(stranger={"acquired": 5, "lock_ended": 5}, a={"acquired": 5, "accepted": 5})
    (found,) = group.found().values()
    assert found.kind is Kind.NEVER_ACKNOWLEDGES
    assert (
        found.headline
        == "stranger acquires records, and no acknowledgement of it was stored: the locks of 10 records ended in 2 min"
    )


def test_it_is_not_told_of_who_may_have_acknowledged_in_an_interval_that_does_not_name_it(group):
    group.tell(unnamed_members=1)
    for _ in range(2):
        group.tell(a={"acquired": 5, "lock_ended": 5})
    assert group.found() == {}


def test_it_is_not_told_of_what_was_before_a_restart(group):
    """What was counted in the interval of the stop is lost."""
    group.tell(a={"acquired": 5, "lock_ended": 5})
    group.tell(a={"acquired": 5, "lock_ended": 5}, epoch=2)
    assert group.found() == {}


def test_one_member_takes_all(group):
    for _ in range(2):
        group.tell(a={"acquired": 500, "accepted": 500})
    (found,) = group.found().values()
    assert found.kind is Kind.TAKES_ALL
    assert found.headline == (
        "client-a (127.0.0.1) acquired all of 1,000 records in 2 min, and client-b (127.0.0.1) none"
    )


def test_it_does_not_take_all_if_it_is_alone():
    group = Intervals("a")
    for _ in range(2):
        group.tell(a={"acquired": 500, "accepted": 500})
    assert group.found() == {}


@pytest.mark.parametrize(
    "of", [{"b": {"acquired": 1, "accepted": 1}}, {"stranger": {"acquired": 1}}, {"unnamed_members": 1}]
)
def test_it_does_not_take_all_if_others_have_some_or_are_not_named(group, of):
    group.tell(a={"acquired": 500, "accepted": 500})
    group.tell(a={"acquired": 500, "accepted": 500}, **of)
    assert group.found() == {}


def test_it_does_not_take_all_of_few_records(group):
    for _ in range(2):
        group.tell(a={"acquired": 49, "accepted": 49})
    assert group.found() == {}


@pytest.mark.parametrize(
    ("member", "held"), [("a", "client-a (127.0.0.1) had acquired it then"), (None, "nobody had acquired it then")]
)
def test_a_start_that_stands(group, member, held):
    since_ms = group.now_ms + INTERVAL_MS - 120_000
    group.tell(partition(FirstRecord(since_ms, 4, None if member is None else group.ref(member))))
    (found,) = group.found().values()
    assert found.kind is Kind.START_STANDS
    assert found.headline.startswith("t-0: the start offset stood at 7 for 2 min or longer, until ")
    assert found.evidence == (
        f"record 7: delivered 4 times; {held}",
        "5 records in flight from there on; the lag was 3",
    )


def test_a_start_that_stood_for_a_short_time_is_no_finding(group):
    group.tell(partition(FirstRecord(group.now_ms + INTERVAL_MS - 119_999, 4, None)))
    assert group.found() == {}


def test_a_start_that_stood_once_is_no_finding_any_more(group):
    group.tell(partition(FirstRecord(group.now_ms - 120_000, 4, None)))
    assert group.found(2 * INTERVAL_MS)
    assert group.found(2 * INTERVAL_MS + 1) == {}
    group.tell(a={"acquired": 1, "accepted": 1})
    assert group.found() == {}
