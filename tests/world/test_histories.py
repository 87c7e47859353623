"""Nothing false is told of the small histories in which something was told that was not so."""

from typing import Final

import pytest

from coordinator.explain.claims.advice import Advice, Try
from coordinator.explain.claims.causes import Joined
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.findings import CannotJoin
from coordinator.explain.claims.price import Unowned
from coordinator.explain.claims.silences import AbsenceKind, CoordinatorAway, End, Muted, Refused, Silent
from coordinator.explain.makers.generation import claims_of
from tests.world.corpus import FOUND
from tests.world.open_faults import HISTORIES
from tests.world.playing import play
from tests.world.shrinking import kind_of
from tests.world.telling import Report, told_in

LASTING_MS: Final = 5_000


def falsehoods(report: Report) -> list[str]:
    """What is told and not so."""
    return [f"{' '.join(kind_of(each))}: {each.contradiction.why}" for each in report.false]


@pytest.mark.parametrize("what", [each for each in FOUND if each not in HISTORIES])
def test_nothing_false_is_told(what):
    assert not falsehoods(told_in(FOUND[what]))


def test_what_is_known_to_be_false_is_false_still():
    mended = [what for what in HISTORIES if not falsehoods(told_in(FOUND[what]))]
    assert not mended, "to be taken from open_faults.py"


# ---- what has to be told


def told(what: str, kind: type[Claim]) -> int:
    return told_in(FOUND[what]).told[kind]


def claims_in(what: str) -> list[Claim]:
    """What is claimed at the end about the generations of a history."""
    folded = play(FOUND[what]).folded
    return [claim for generation in folded.generations for claim in claims_of(folded, generation).all()]


@pytest.mark.parametrize(
    "what", ["the right to read the group is revoked", "the right of a member of a consumer group is revoked"]
)
def test_it_is_told_that_requests_were_refused(what):
    assert told(what, Refused)


def test_it_is_told_that_a_connection_was_muted():
    assert told("a quota mutes a connection", Muted)
    assert told("a quota mutes the connection of a member of a consumer group", Muted)
    assert told("nothing is read of a member from the answer to its JoinGroup on", Muted)


@pytest.mark.parametrize(
    "what",
    [
        "a member dies before a kill of the coordinator",
        "a member dies before an ordered stop of the coordinator",
        "a cooperative member dies before a kill of the coordinator",
        "a cooperative member dies before an ordered stop of the coordinator",
        "a member dies while there is no coordinator",
        "the last member of the new protocol dies",
    ],
)
def test_partitions_without_an_owner_are_told_of(what):
    report = told_in(FOUND[what])
    assert not report.missing
    assert report.told[Unowned]


def test_it_is_told_which_node_took_over():
    claims = claims_in("a node is killed, and a member ends before the next one takes over")
    led = [claim for claim in claims if isinstance(claim, CoordinatorAway) and claim.kind is AbsenceKind.LED]
    assert [(claim.other_node_id, claim.node_id, claim.end) for claim in led] == [(1, 2, End.WITHOUT_STOP)]


def test_a_client_that_cannot_join_is_told_of_as_long_as_it_cannot():
    assert told("a static member of the new protocol crashes and comes back", CannotJoin) == 1


def test_a_commit_that_a_rebalance_refuses_is_told_as_a_commit():
    claims = claims_in("a cooperative member commits while it waits for its assignment")
    silent = {claim.member.member_id: claim for claim in claims if isinstance(claim, Silent)}
    assert silent["consumer-0-00000004"].rejected == ""
    assert silent["consumer-0-00000004"].committed_ms is not None


def test_what_an_absent_static_member_is_assigned_has_no_owner():
    *_, last = (
        claim
        for claim in claims_in("what an absent static member said when it joined is old")
        if isinstance(claim, Unowned)
    )
    assert (last.partitions, last.of, last.is_at_least) == (6, 6, True)


@pytest.mark.parametrize(
    ("what", "is_kept"),
    [
        ("a static member of a generation is restarted around a start of the coordinator", True),
        ("a static member that no generation had is restarted around a start of the coordinator", False),
    ],
)
def test_a_session_timeout_that_keeps_a_place_over_a_start_is_advised_if_it_is_stored(what, is_kept):
    advices = [claim.kind for claim in claims_in(what) if isinstance(claim, Advice)]
    assert (Try.SESSION_FOR_RESTARTS in advices) is is_kept


def test_who_joined_before_an_epoch_raises_the_next_one_if_its_regular_expression_found_topics():
    folded = play(FOUND["a member whose regular expression finds its topics joins just before an epoch starts"]).folded
    latest = folded.latest_stable
    assert latest is not None
    joined = [claim.member.member_id for claim in claims_of(folded, latest).all() if isinstance(claim, Joined)]
    assert joined == ["m2-5"]


# ---- the corpus itself


def shape(what: str) -> tuple[object, ...]:
    """What doubles have in common: who consumes, what happens in which order, and about for how long."""
    history = FOUND[what]
    consumers = {
        (
            consumer.kind,
            consumer.assignors,
            consumer.instance_id is not None,
            consumer.starts,
            consumer.session_timeout_ms,
        )
        for consumer in history.setup.consumers
    }
    course = tuple((action.kind, action.value // LASTING_MS) for action in history.actions)
    setup = history.setup
    return frozenset(consumers), course, setup.max_size < len(setup.consumers), setup.initial_delay_ms > 0


def test_no_history_repeats_another_one():
    by_shape: dict[tuple[object, ...], list[str]] = {}
    for what in FOUND:
        by_shape.setdefault(shape(what), []).append(what)
    assert not [each for each in by_shape.values() if len(each) > 1]
