"""What keeps a group from going on: offsets that stand still, rights that are refused, topics that are missing."""

from typing import Any, Final

import pytest

from coordinator.audit.schema import AuthorizationDenied
from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.group_members import DescribedMember
from coordinator.client.open_transactions import OpenTransaction
from coordinator.client.standing_offsets import Standing
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding
from coordinator.explain.makers.findings.progress import GOES_ON_MS, STANDS_REPORTED_MS, go_on
from coordinator.explain.positions import notes, position_findings
from tests.explain.consumers import Consumers, clock

NOW_MS: Final = 3_600_000
SINCE_MS: Final = NOW_MS - STANDS_REPORTED_MS
APP: Final = DescribedMember("app-id", "app", "/10.0.0.1", None, {"t": [0, 1]}, topics=("t",))
OTHER: Final = DescribedMember("other-id", "other", "/10.0.0.2", None, {"t": [2]}, topics=("t",))


def waiting(partition: int = 0, since_ms: int = SINCE_MS, oldest_ms: int | None = 0, **others: Any) -> PartitionLag:
    """A partition of `app` with 3 records behind its committed offset, 5."""
    fields: dict[str, Any] = {"member_id": "app-id", "committed_offset": 5, "log_end_offset": 8} | others
    standing = fields.pop("standing", Standing(since_ms, is_longer=False))
    return PartitionLag("t", partition, oldest_ms=oldest_ms, standing=standing, **fields)


def read_to_the_end(partition: int, moved_ms: int | None) -> PartitionLag:
    return waiting(partition, committed_offset=8, standing=Standing(moved_ms or 0, False, moved_ms))


def group(*partitions: PartitionLag, state: str = "Stable", missing: tuple[str, ...] = ()) -> DescribedGroup:
    return DescribedGroup("g", state, "consumer", "range", [APP, OTHER], list(partitions), missing_topics=list(missing))


def found(described: DescribedGroup, *denials: AuthorizationDenied) -> list[Finding]:
    return position_findings(described, NOW_MS, clock, denials=go_on(denials, NOW_MS))


def kinds(described: DescribedGroup, *denials: AuthorizationDenied) -> list[Kind]:
    return [each.kind for each in found(described, *denials)]


# ---- offsets that stand still


def test_an_offset_stands_still_from_two_minutes_on():
    assert kinds(group(waiting(since_ms=SINCE_MS + 1))) == []
    (finding,) = found(group(waiting()))
    assert (finding.kind, finding.from_ms, finding.until_ms) == (Kind.STANDS_STILL, SINCE_MS, NOW_MS)
    assert finding.headline == "t-0: the committed offset has not moved since 00:58:00, while records wait"
    assert finding.evidence[0] == (
        "t-0: 3 records wait from offset 5 on, where it has stood since 00:58:00; the oldest is of 00:00:00; owned by"
        " app (10.0.0.1)"
    )
    assert "is not known here" in finding.evidence[1]
    assert list(notes(group(waiting()), NOW_MS, clock)) == [f"{finding.headline}."]


def test_while_the_server_was_away_nobody_could_commit():
    assert position_findings(group(waiting()), NOW_MS, clock, heard_since_ms=SINCE_MS + 1) == []
    (finding,) = position_findings(group(waiting(since_ms=5)), NOW_MS, clock, heard_since_ms=SINCE_MS)
    assert finding.from_ms == 5
    assert list(notes(group(waiting()), NOW_MS, clock, heard_since_ms=SINCE_MS + 1)) == []


def test_records_that_came_a_moment_ago_do_not_wait_for_long():
    assert kinds(group(waiting(since_ms=0, oldest_ms=SINCE_MS + 1))) == []
    (finding,) = found(group(waiting(oldest_ms=SINCE_MS - 60_000, standing=Standing(0, is_longer=True))))
    assert "has not moved since 00:57:00, while" in finding.headline


def test_what_was_so_before_all_that_is_known_is_told_as_such():
    (finding,) = found(group(waiting(standing=Standing(SINCE_MS, is_longer=True))))
    assert "has not moved since 00:58:00 or before, while" in finding.headline


@pytest.mark.parametrize(
    ("why", "fields"),
    [
        ("nobody knows since when", {"standing": None}),
        ("nobody knows how old the records are", {"oldest_ms": None}),
        ("there are no records", {"log_end_offset": 5}),
        ("nothing was ever committed", {"committed_offset": None}),
        ("nobody owns it", {"member_id": None}),
        ("its owner is gone", {"member_id": "gone-id"}),
    ],
)
def test_without_a_lag_an_owner_and_their_times_nothing_stands_still(why, fields):
    assert kinds(group(waiting(**fields))) == [], why


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Reconciling", "Assigning", "Empty"])
def test_nothing_stands_still_while_the_group_is_not_stable(state):
    assert kinds(group(waiting(), state=state)) == []


def test_what_is_known_to_hold_up_a_partition_is_told_instead():
    transaction = OpenTransaction("pay", SINCE_MS, 900_000)
    assert kinds(group(waiting(last_stable_offset=5, transaction=transaction))) == [Kind.WAITS_FOR_TRANSACTION]
    assert kinds(group(waiting(committed_offset=9))) == [Kind.OUT_OF_RANGE]
    assert kinds(group(waiting(log_start_offset=6))) == [Kind.DELETED_UNREAD]
    assert kinds(group(waiting()), denied(NOW_MS)) == [Kind.RIGHT_ON_TOPIC_LOST]


def test_an_owner_that_goes_on_with_others_has_trouble_with_this_partition():
    (finding,) = found(group(waiting(), read_to_the_end(1, NOW_MS - 5_000)))
    assert finding.headline.endswith("while records wait, and its owner goes on with other partitions")
    assert "kcat -C -t t -p 0 -o 5 -c 1" in finding.advice
    assert finding.advice.startswith("look at the record")
    (finding,) = found(group(waiting(), read_to_the_end(1, SINCE_MS - 5_000)))
    assert finding.headline.endswith("while records wait")


def test_an_owner_none_of_whose_partitions_move_is_looked_at_as_a_whole():
    (finding,) = found(group(waiting(), waiting(1, since_ms=SINCE_MS - 1_000)))
    assert finding.headline == (
        "t-0 and t-1: the committed offsets have not moved, the first of them since 00:57:59, while records wait;"
        " nothing else that their owner has to read moves either"
    ).replace("t-0 and t-1", "t-1 and t-0")
    assert finding.advice.startswith("look at what the consumer does")


def test_an_owner_whose_partitions_stopped_one_after_the_other_does_not_go_on():
    later = waiting(1, standing=Standing(SINCE_MS, False, SINCE_MS))
    (finding,) = found(group(waiting(since_ms=SINCE_MS - 60_000), later))
    assert "goes on" not in finding.headline
    assert finding.headline.endswith("nothing else that their owner has to read moves either")


def test_owners_that_differ_in_what_else_they_do_are_told_apart():
    stuck = waiting(2, member_id="other-id")
    first, second = found(group(waiting(), read_to_the_end(1, NOW_MS), stuck))
    assert ("goes on with other partitions" in first.headline, "app (" in first.evidence[0]) == (True, True)
    assert (second.headline.endswith("while records wait"), "other (" in second.evidence[0]) == (True, True)


def test_the_same_offset_that_is_committed_again_and_again_stands_still():
    (finding,) = found(group(waiting(standing=Standing(SINCE_MS, False, None, NOW_MS - 5_000))))
    assert finding.evidence[0].endswith("app (10.0.0.1), which committed the same offset again at 00:59:55")


def test_partitions_beyond_the_first_few_are_counted():
    (finding,) = found(group(*(waiting(each) for each in range(12))))
    assert finding.headline.startswith("t-0, t-1, t-2 and 9 more: ")
    assert finding.evidence[10] == "2 more partitions stand still"


# ---- rights


def denied(time_ms: int, **others: Any) -> AuthorizationDenied:
    fields: dict[str, Any] = {
        "principal": "User:app",
        "client_id": "app",
        "client_host": "/10.0.0.1",
        "api": "Fetch",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "t",
        "rule": "DefaultDeny",
    }
    return AuthorizationDenied(time_ms=time_ms, node_id=1, coordinator_epoch=1, number=1, **(fields | others))


def test_a_right_that_is_refused_to_a_member_is_told_with_its_requests():
    denials = denied(NOW_MS - 130_000), denied(NOW_MS - 70_000, suppressed=99), denied(NOW_MS - 10_000, suppressed=98)
    (finding,) = found(group(waiting(), waiting(1)), *denials)
    assert finding.kind is Kind.RIGHT_ON_TOPIC_LOST
    assert (finding.from_ms, finding.until_ms) == (NOW_MS - 130_000, NOW_MS - 10_000)
    assert finding.headline == "User:app may not READ topic t since 00:57:50: app gets none of its records"
    assert finding.evidence == (
        "200 requests were refused until 00:59:50, the last one Fetch (TOPIC_AUTHORIZATION_FAILED)",
        "app (10.0.0.1)",
        "it owns 2 partitions of the topic",
    )
    (cut,) = found(group(waiting()), *denials[1:])
    assert "since 00:58:50 or before" in cut.headline


def test_what_was_refused_before_a_pause_is_another_time():
    (finding,) = found(group(), denied(NOW_MS - GOES_ON_MS - 10_001), denied(NOW_MS - 10_000))
    assert finding.from_ms == NOW_MS - 10_000


@pytest.mark.parametrize(
    "others",
    [
        {"time_ms": NOW_MS - GOES_ON_MS - 1},
        {"resource_name": "u"},
        {"resource_type": "GROUP"},
        {"operation": "WRITE", "api": "Produce"},
        {"client_id": "else"},
        {"client_host": "/10.0.0.9"},
    ],
)
def test_what_is_over_or_about_others_is_not_told(others):
    assert kinds(group(), denied(**({"time_ms": NOW_MS} | others))) == []


def test_who_has_moved_since_has_the_right_again():
    moved = read_to_the_end(0, NOW_MS - 5_000)
    assert kinds(group(moved), denied(NOW_MS - 10_000)) == []
    assert kinds(group(moved), denied(NOW_MS - 1_000)) == [Kind.RIGHT_ON_TOPIC_LOST]


def test_a_member_that_is_known_by_another_principal_is_another_client():
    consumers = Consumers().group_of("app")
    history = consumers.history()
    (known,) = history.members.values()
    member = DescribedMember(
        known.member.member_id, known.member.client_id, known.member.client_host, None, {}, topics=("t",)
    )
    described = DescribedGroup("g", "Stable", "consumer", "range", [member])
    event = denied(NOW_MS, client_id=known.member.client_id, client_host=known.member.client_host)
    assert known.member.principal == ""
    assert len(position_findings(described, NOW_MS, clock, history, [[event]])) == 1
    for principal, count in (("User:app", 1), ("User:else", 0)):
        known.member = known.member.__class__(
            known.member.member_id, known.member.client_id, known.member.client_host, principal=principal
        )
        assert len(position_findings(described, NOW_MS, clock, history, [[event]])) == count


# ---- topics


def test_a_topic_that_is_missing_is_told_with_those_who_subscribe_to_it():
    (finding,) = found(group(missing=("t",)))
    assert finding.kind is Kind.SUBSCRIBED_TOPIC_MISSING
    assert finding.headline == "there is no topic t, to which app and other subscribe: nothing is read of it"
    assert finding.evidence == ("app (10.0.0.1)", "other (10.0.0.2)")
    assert (finding.from_ms, finding.until_ms) == (NOW_MS, NOW_MS)


def test_when_a_topic_was_deleted_is_known_of_the_rebalance_that_noticed_it():
    history = Consumers().group_of("app", "other").history()
    *_, before, last = history.generations
    last.topic_changes["t"] = [6, 0]
    (finding,) = position_findings(group(missing=("t",)), NOW_MS, clock, history)
    assert finding.from_ms == last.rebalance_started_ms
    assert finding.evidence[0].startswith("the group noticed at ")
    before.topic_changes["t"], last.topic_changes["t"] = [6, 0], [0, 6]
    (finding,) = position_findings(group(missing=("t",)), NOW_MS, clock, history)
    assert finding.from_ms == NOW_MS
