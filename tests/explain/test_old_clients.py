"""Members whose client is too old for the server: who they are, what they cannot do, and until when that is said."""

from coordinator.audit.schema import REJECTION_APART_MS
from coordinator.core.groups.old_clients import OldClient, RefusedVersion
from coordinator.explain.claims.findings import Kind
from coordinator.explain.makers.findings.clients import GATHERED_SLACK_MS
from coordinator.explain.memory import packed, unpacked
from coordinator.explain.notes import notes
from tests.explain.consumers import Consumers
from tests.simulation.simulation import GROUP_ID


def refused(api: str = "Fetch", version: int = 3, oldest: int = 4) -> Consumers:
    group = Consumers().group_of("a", "b")
    refuse(group, "a", api, version, oldest)
    return group


def refuse(group: Consumers, name: str, api: str = "Fetch", version: int = 3, oldest: int = 4) -> None:
    group.sim.coordinator.report_old_client(GROUP_ID, OldClient(group.ids[name], RefusedVersion(api, version, oldest)))
    group.sim.end_iteration()


def test_a_client_that_is_too_old_to_read_is_named_with_what_it_asked_for():
    found = refused().findings()[Kind.TOO_OLD_CLIENT]
    assert found.headline == (
        "the client of a (127.0.0.1) is too old to read: nobody reads the partitions that it owns"
    )
    assert found.evidence == (
        "a client of this name and host asked for Fetch v3 at 22:13:20; the server has v4 and later, and closed the"
        " connection",
    )
    assert found.advice.startswith("use a newer client library")


def test_the_history_tells_it_at_its_time():
    (note,) = notes(refused("OffsetCommit", 1, 2).history())
    assert note.text == (
        "a (127.0.0.1, java) is too old to commit offsets (it asked for OffsetCommit v1, and the server has v2 and"
        " later alone)"
    )


def test_a_refused_version_is_no_commit_that_a_rebalance_cost():
    group = refused("OffsetCommit", 1, 2)
    group.join("c")
    group.settle()
    latest = group.history().latest
    assert latest is not None
    assert latest.commits_rejected == 0


def test_each_member_of_a_client_is_named():
    group = Consumers()
    group.join("a", client_id="app")
    group.settle()
    group.join("b", client_id="app")
    group.settle()
    for name in ("a", "b"):
        refuse(group, name)
    assert len([each for each in group.history().rejected if each.count == 1]) == 2


def test_a_member_that_has_left_is_not_said_to_be_too_old():
    group = refused()
    group.leave("a")
    group.settle()
    assert Kind.TOO_OLD_CLIENT not in group.findings()


def test_what_comes_after_the_member_has_left_makes_no_event():
    group = Consumers().group_of("a", "b")
    old = OldClient(group.ids["a"], RefusedVersion("Fetch", 3, 4))
    group.leave("a")
    count = len(group.sim.audited())
    group.sim.coordinator.report_old_client(GROUP_ID, old)
    group.sim.coordinator.report_old_client("no such group", old)
    group.sim.end_iteration()
    assert len(group.sim.audited()) == count


def test_it_is_said_while_it_goes_on_and_counted_in_minutes():
    group = refused()
    for _ in range(9):
        group.quiet(60_000)
        refuse(group, "a")
    assert Kind.TOO_OLD_CLIENT in group.findings()
    assert notes(group.history())[-1].text.endswith(", 10 minutes so far")
    group.quiet(REJECTION_APART_MS + GATHERED_SLACK_MS + 1)
    assert Kind.TOO_OLD_CLIENT not in group.findings()


def test_what_is_remembered_between_batches_is_enough():
    group = refused()
    history = group.history()
    assert [each.member.client_id for each in unpacked(packed(history)).rejected] == ["a"]


def test_it_does_not_hide_who_cannot_join():
    group = refused()
    group.sim.join("c", protocols=("roundrobin",))
    assert {Kind.TOO_OLD_CLIENT, Kind.REJECTED_CLIENT} <= group.findings().keys()
