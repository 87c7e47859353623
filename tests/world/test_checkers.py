"""Each claim has a checker, and each checker finds what is wrong: it contradicts a true claim that was made false."""

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final

import msgspec
import pytest

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.explain.claims import (
    advice,
    causes,
    course,
    endings,
    findings,
    notes,
    price,
    silences,
)
from coordinator.explain.claims.advice import Advice, Try
from coordinator.explain.claims.claim import Claim
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.generation import claims_of
from tests.explain.claim_examples import FOUND as FINDINGS
from tests.explain.claim_examples import NOTES, STORY
from tests.world.checkers.checks import CHECKS
from tests.world.corpus import FOUND
from tests.world.history import Action, ConsumerSetup, History, Setup
from tests.world.telling import PRODUCT, Makers, told_in
from tests.world.watching import SeenGroup

MODULES: Final[tuple[ModuleType, ...]] = (advice, causes, course, endings, findings, notes, price, silences)
JAVA: Final = ConsumerSetup()
COOPERATIVE: Final = ConsumerSetup(assignors=("cooperative-sticky",))
MODERN: Final = ConsumerSetup("modern", ())

Change = Callable[[Any], Claim]


def claims() -> set[type[Claim]]:
    """All classes of claims that are made."""
    found = {
        each
        for module in MODULES
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, Claim) and each is not Claim
    }
    return found - {findings.Found}


def test_each_claim_has_a_checker():
    assert claims() == set(CHECKS)


# ---- histories in which claims are told


def of(consumers: Iterable[ConsumerSetup], *actions: Action, **setup: Any) -> History:
    return History(Setup(tuple(consumers), **setup), actions, 50_000)


KILLED: Final = of([JAVA, JAVA, JAVA], Action(20_000, "kill", 1))
KILLED_AND_BACK: Final = of([JAVA, JAVA], Action(20_000, "kill", 1, 12_000))
HOST_LOST: Final = of([JAVA, JAVA], Action(20_000, "lose_host", 1))
CLOSED: Final = of([JAVA, JAVA], Action(20_000, "close", 1, 3_000))
UNSAID: Final = of([JAVA, ConsumerSetup("librdkafka")], Action(20_000, "close", 1))
BUSY: Final = of([JAVA, ConsumerSetup(max_poll_interval_ms=12_000)], Action(20_000, "block", 1, 20_000))
REMOVED: Final = of([JAVA, JAVA], Action(20_000, "remove_member", 1))
GROWN: Final = of([JAVA, JAVA], Action(20_000, "grow_topic", 0, 3))
STATIC: Final = of([JAVA, JAVA._replace(instance_id="i-1")], Action(19_500, "close"), Action(20_000, "kill", 1, 500))
RESUBSCRIBED: Final = of([JAVA, JAVA], Action(20_000, "subscribe", 1, 1), topics=(("t", 6), ("u", 2)))
TURNED: Final = of([COOPERATIVE, COOPERATIVE], Action(20_000, "close", 1, 3_000))
PATIENT: Final = ConsumerSetup(session_timeout_ms=28_000, max_poll_interval_ms=12_000)
LATE: Final = of([PATIENT, PATIENT], Action(18_000, "suspend", 1), Action(18_500, "close", 0, 500))
PAUSED: Final = of([JAVA, JAVA], Action(20_000, "kill", 1), Action(21_000, "pause_coordinator", 0, 2_000))
STOPPED: Final = of([JAVA, JAVA], Action(20_000, "kill", 1), Action(22_000, "stop_coordinator", 0, 3_000))
ENDED: Final = of([JAVA, JAVA], Action(20_000, "kill", 1), Action(22_000, "kill_coordinator", 0, 3_000))
EMPTY: Final = of([JAVA], Action(20_000, "close"))
MODERN_CLOSED: Final = of([MODERN, MODERN], Action(20_000, "close", 1, 4_000))
MODERN_BUSY: Final = of([MODERN, MODERN], Action(2_000, "block", 0, 5_000), Action(2_500, "close", 1, 500))
MODERN_SOON: Final = of([MODERN, MODERN, MODERN], Action(20_000, "close", 1, 300))
LOOPING: Final = of([JAVA, JAVA], Action(12_000, "crash_loop", 1, 6))
NONE_LEFT: Final = of([JAVA, JAVA], topics=(("t", 1),))
OFFSETS: Final = of([JAVA], Action(20_000, "close"), Action(24_000, "reset_offsets", 0, 3))
GONE: Final = of([JAVA], Action(20_000, "close"), Action(24_000, "delete_group"))
SUSPENDED: Final = of([JAVA, JAVA], Action(20_000, "suspend", 1, 14_000))
PROXIED: Final = of([JAVA, JAVA], Action(20_000, "proxy_all", 0, 12_000))
MUTED: Final = of([JAVA, JAVA], Action(20_000, "mute", 1, 15_000))
REFUSED: Final = of([JAVA, JAVA], Action(20_000, "refuse", 1, 15_000))
MODERN_STATIC: Final = MODERN._replace(instance_id="i-1")
STATIC_CLOSED: Final = of([MODERN_STATIC], Action(20_000, "close"))
MODERN_GROWN: Final = of([MODERN], Action(17_990, "grow_topic", 0, 6), Action(18_000, "stop_coordinator", 0, 1_000))
OTHER_TOPICS: Final = of(
    [ConsumerSetup(topics=("t", "u"), instance_id="i-0")], Action(17_000, "unsubscribe"), Action(22_000, "subscribe")
)
BY_PATTERN: Final = of([MODERN, MODERN._replace(topics=(), pattern="t.*")])
FEW_PARTITIONS: Final = of([JAVA, JAVA], Action(18_000, "close", 1, 5_000), topics=(("t", 1),))
ONE_RESTARTED: Final = History(Setup((JAVA, JAVA)), (Action(19_646, "roll", 0, 10_001),), 40_000)
RESTARTS: Final = History(
    Setup((JAVA,)),
    (Action(8_098, "close", 0, 1_718), Action(21_455, "kill", 0, 265), Action(69_368, "close", 0, 4_687)),
    90_000,
)
REFUSED_TWICE: Final = History(
    Setup((ConsumerSetup(heartbeat_ms=2_000), ConsumerSetup(session_timeout_ms=6_000))),
    (Action(5_244, "refuse", 1, 14_114), Action(79_074, "refuse", 1, 4_033)),
    90_000,
)
PAUSES: Final = History(
    Setup((JAVA,)), (Action(9_189, "suspend", 0, 26_468), Action(53_424, "starve", 0, 7_993)), 90_000
)
HELD_UP: Final = History(
    Setup((JAVA, JAVA, MODERN), seed=8_600_037),
    (Action(12_966, "proxy", 2, 11_365), Action(26_627, "close"), Action(41_851, "lose_host", 0, 12_342)),
    60_000,
)
WASTED: Final = of([JAVA, MODERN_STATIC], Action(16_700, "roll", 0, 10_000), Action(20_000, "unsubscribe", 1))


def later(field: str, ms: int = 2_000) -> Change:
    return lambda claim: msgspec.structs.replace(claim, **{field: (getattr(claim, field) or 0) + ms})


def with_(**fields: object) -> Change:
    return lambda claim: msgspec.structs.replace(claim, **fields)


STRANGER: Final = MemberRef("nobody")

FALSE: Final[tuple[tuple[type[Claim], History, Change], ...]] = (
    (causes.Joined, KILLED, with_(member=STRANGER)),
    (causes.Resubscribed, RESUBSCRIBED, with_(subscribed=("v",))),
    (causes.TopicChanged, GROWN, with_(partitions_now=7)),
    (causes.TopicChanged, GROWN, with_(is_created_again=True)),
    (causes.LeaderAsked, GROWN, with_(said="for no reason")),
    (causes.Left, CLOSED, with_(way=causes.Way.POLL_TIMEOUT)),
    (causes.Left, CLOSED, later("at_ms")),
    (causes.Left, BUSY, with_(way=causes.Way.CLOSED)),
    (causes.Left, BUSY, later("limit_ms")),
    (causes.LeftUnsaid, UNSAID, with_(guess=causes.Guess.POLL_TIMEOUT)),
    (causes.LeftUnsaid, UNSAID, with_(usual=causes.Usual.UNNAMED)),
    (causes.RemovedByAdministrator, REMOVED, with_(member=STRANGER)),
    (causes.Late, LATE, later("limit_ms", 10_000)),
    (causes.Late, LATE, with_(has_no_time=True)),
    (course.Took, KILLED, later("sync_ms", 100)),
    (course.Took, KILLED, later("member_count", 1)),
    (course.HeldUp, KILLED, later("held_up_ms", -100)),
    (course.GaveUpLate, MODERN_BUSY, later("gave_up_ms", -2_000)),
    (price.Moved, KILLED, later("moved", 1)),
    (price.Moved, KILLED, later("first_owned", 1)),
    (price.Unowned, KILLED, later("from_ms", 9_000)),
    (price.Unowned, KILLED, later("from_ms", -9_000)),
    (price.Unowned, KILLED, later("partitions", 6)),
    (price.Unowned, TURNED, later("from_ms", -9_000)),
    (price.Lag, KILLED, later("before", 200)),
    (price.Lag, KILLED, later("after", 200)),
    (endings.Superseded, MODERN_SOON, later("after_ms", 1_000)),
    (endings.Emptied, EMPTY, later("at_ms", -3_000)),
    (silences.Silent, KILLED, later("since_ms", 5_000)),
    (silences.Silent, KILLED, later("since_ms", -5_000)),
    (silences.ConnectionClosed, KILLED, later("at_ms", 100)),
    (silences.ConnectionClosed, KILLED, with_(closer=silences.Closer.STATIC)),
    (silences.Refused, REFUSED, later("count", 1)),
    (silences.Refused, REFUSED, with_(api="TxnOffsetCommit")),
    (silences.Muted, MUTED, later("muted_ms", 5_000)),
    (silences.CameAgain, SUSPENDED, later("at_ms")),
    (silences.CameAgain, SUSPENDED, later("silent_ms", -4_000)),
    (silences.Back, KILLED_AND_BACK, later("back_ms")),
    (silences.Back, KILLED_AND_BACK, later("gone_ms")),
    (silences.CoordinatorAway, STOPPED, later("at_ms")),
    (silences.CoordinatorAway, PAUSED, later("from_ms")),
    (silences.CoordinatorAway, ENDED, with_(end=silences.End.IN_ORDER)),
    (silences.UnheardSinceStart, ENDED, later("start_ms")),
    (causes.Caused, MODERN_GROWN, with_(cause=Cause.FAULT)),
    (causes.TopicsFound, BY_PATTERN, with_(found=(causes.PatternTopics("t.*", ("u",)),))),
    (causes.TopicsFound, BY_PATTERN, with_(found=(causes.PatternTopics("u", ()),))),
    (causes.DidNotComeBack, STATIC_CLOSED, later("left_ms")),
    (endings.CameBackWithOtherTopics, OTHER_TOPICS, with_(topics_now=())),
    (causes.AssignorChanged, FOUND["the last member of the new protocol dies"], with_(now="other")),
    (causes.Rejoined, FOUND["a cooperative member dies before a kill of the coordinator"], with_(said="other")),
    (causes.Restarted, FOUND["a static member joins again in a join phase"], with_(host_before="other")),
    (course.SlowSync, FOUND["a topic is made again before its leader assigns it"], later("sync_ms", 100)),
    (course.PendingIds, FOUND["what a dead process sent is read after a pause"], with_(member_ids=("other",))),
    (price.CommitsRefused, FOUND["a quota mutes a connection"], later("count", 1)),
    (endings.Stable, FOUND["the right to read the group is revoked"], later("at_ms", -2_000)),
    (
        endings.Converted,
        FOUND["an administrator removes a member, and the epoch rises at once"],
        later("at_ms", -2_000),
    ),
    (silences.StoodStill, FOUND["a process ends before a pause"], later("paused_ms", 100)),
    (
        silences.Unheard,
        FOUND["a process is started again while the coordinator stands still"],
        later("paused_ms", 100),
    ),
)
"""A claim that is true in a history, and how it is made false."""


@pytest.mark.parametrize(
    ("kind", "history", "change"), FALSE, ids=[f"{kind.__name__}-{number}" for number, (kind, _, _) in enumerate(FALSE)]
)
def test_a_claim_that_was_made_false_is_found(kind, history, change):
    changed: list[Claim] = []

    def with_a_false_one(folded: GroupHistory, generation: Generation) -> Iterable[Claim]:
        for claim in claims_of(folded, generation).all():
            is_meant = type(claim) is kind
            told = change(claim) if is_meant else claim
            changed.extend([told] if is_meant else [])
            yield told

    report = told_in(history, Makers(with_a_false_one, lambda folded, now_ms: ()))
    assert changed, f"no {kind.__name__} is told in this history"
    assert any(type(each.contradiction.claim) is kind for each in report.false)


# ---- findings and notes

SHUT_OUT: Final = History(
    Setup((MODERN._replace(instance_id="i-0"), MODERN)), (Action(20_000, "kill", 0, 2_000),), 50_000, (24_000,)
)


RESTARTED: Final = of([JAVA, JAVA._replace(instance_id="i-1")], Action(20_000, "kill", 1, 500))


def moved_on(claim: Any) -> Any:
    """The crashes of a loop, later than they were."""
    crashes = tuple(msgspec.structs.replace(crash, removed_ms=crash.removed_ms + 3_000) for crash in claim.crashes)
    return msgspec.structs.replace(claim, crashes=crashes)


def the_other_way(claim: Any) -> Any:
    """Who came was there first."""
    turned = tuple(
        msgspec.structs.replace(succession, came=succession.gone, gone=succession.came)
        for succession in claim.successions
    )
    return msgspec.structs.replace(claim, successions=turned)


OWNERS: Final = tuple(MemberRef(f"consumer-{number}-0000000{number + 1}") for number in range(2))
FALSE_OF_GROUP: Final[tuple[tuple[type[Claim], History, Change], ...]] = (
    (findings.CrashLoop, LOOPING, moved_on),
    (findings.CannotJoin, SHUT_OUT, with_(client=("consumer-1", "/10.0.0.2"))),
    (findings.IdleMembers, NONE_LEFT, lambda claim: with_(from_ms=claim.until_ms, members=OWNERS)(claim)),
    (notes.GroupGone, GONE, later("at_ms", -3_000)),
    (notes.PlaceTaken, RESTARTED, with_(before=OWNERS[0])),
    (silences.CoordinatorAway, STOPPED, later("from_ms", -2_000)),
    (findings.StoppedForNothing, FEW_PARTITIONS, with_(assignor="cooperative-sticky")),
    (findings.Replaced, ONE_RESTARTED, the_other_way),
    (findings.PausesTooLong, PAUSES, with_(client=("other", ""))),
    (findings.ComesAndGoes, RESTARTS, with_(client=("other", ""))),
    (findings.SlowRejoiner, REFUSED_TWICE, with_(client=("other", ""))),
    (findings.HoldsUpOthers, HELD_UP, with_(client=("other", ""))),
    (findings.WastedInstanceId, WASTED, with_(client=("other", ""))),
    (
        findings.StaticRestarts,
        FOUND["a static member is restarted after its topic was made again"],
        with_(instance_id="other"),
    ),
    (findings.RollingRestart, FOUND["a topic is made again while the group is empty"], later("from_ms", 9_000)),
    (findings.Storm, FOUND["a member of the new protocol crashes again and again"], later("rebalances", 100)),
    (notes.GroupConverted, FOUND["the last member of the new protocol dies"], later("at_ms", -2_000)),
    (notes.Loaded, FOUND["a member is closed in its join phase"], later("at_ms", -2_000)),
    (notes.OffsetsGone, FOUND["a topic is made again while the group is empty"], later("at_ms", -9_000)),
    (notes.OffsetsSet, FOUND["offsets are reset"], later("at_ms", -9_000)),
    (notes.Refusal, FOUND["the right to read the group is revoked"], later("at_ms", -2_000)),
)


@pytest.mark.parametrize(
    ("kind", "history", "change"),
    FALSE_OF_GROUP,
    ids=[kind.__name__ for kind, _, _ in FALSE_OF_GROUP],
)
def test_a_finding_or_note_that_was_made_false_is_found(kind, history, change):
    changed: list[Claim] = []

    def with_a_false_one(folded: GroupHistory, now_ms: int) -> Iterable[Claim]:
        for claim in PRODUCT.of_group(folded, now_ms):
            if type(claim) is kind:
                changed.append(change(claim))
                yield changed[-1]

    report = told_in(history, Makers(lambda folded, generation: (), with_a_false_one))
    assert changed, f"no {kind.__name__} is told in this history"
    assert report.false


# ---- offsets

HANGS: Final = History(
    Setup((JAVA._replace(read_committed=True), JAVA)), (Action(20_000, "open_transaction", 0),), 60_000
)
STICKS: Final = History(Setup((JAVA, JAVA)), (Action(20_000, "stick", 0),), 200_000)
MISSING: Final = History(Setup((JAVA,)), (Action(20_000, "delete_topic", 0),), 40_000)


def of_another_transaction(claim: Any) -> Any:
    waits = tuple(msgspec.structs.replace(wait, transactional_id="other") for wait in claim.waits)
    return msgspec.structs.replace(claim, waits=waits)


def stood_before(claim: Any) -> Any:
    """They are said to stand still since before they moved last."""
    partitions = tuple(
        msgspec.structs.replace(partition, since_ms=partition.since_ms - 60_000) for partition in claim.partitions
    )
    return msgspec.structs.replace(claim, partitions=partitions)


FALSE_OF_OFFSETS: Final[tuple[tuple[type[Claim], History, Change], ...]] = (
    (findings.WaitsForTransaction, HANGS, of_another_transaction),
    (findings.StandsStill, STICKS, stood_before),
    (findings.SubscribedTopicMissing, MISSING, later("gone_ms", -5_000)),
)


@pytest.mark.parametrize(
    ("kind", "history", "change"),
    FALSE_OF_OFFSETS,
    ids=[kind.__name__ for kind, _, _ in FALSE_OF_OFFSETS],
)
def test_a_finding_about_offsets_is_true_and_is_found_if_it_was_made_false(kind, history, change):
    changed: list[Claim] = []

    def with_a_false_one(seen: SeenGroup, folded: GroupHistory, now_ms: int) -> Iterable[Claim]:
        for claim in PRODUCT.of_offsets(seen, folded, now_ms):
            if type(claim) is kind:
                changed.append(change(claim))
                yield changed[-1]

    assert not told_in(history).false
    report = told_in(history, Makers(lambda folded, generation: (), lambda folded, now_ms: (), with_a_false_one))
    assert changed, f"no {kind.__name__} is told in this history"
    assert report.false


# ---- what is told though there was nothing of that kind

NOTHING_OF_IT: Final[dict[type[Claim], History]] = {
    causes.Evicted: KILLED,
    course.EarlierTarget: KILLED,
    course.NeverRejoined: KILLED,
    course.NeverSynced: FOUND["the right to read the group is revoked"],
    endings.CutShort: KILLED,
    endings.EventsMissing: KILLED,
    endings.InProgress: KILLED,
    findings.NoCommits: KILLED,
    findings.OutOfRange: KILLED,
    findings.SharedInstanceId: KILLED,
    findings.UnownedPartitions: KILLED,
    price.NothingAssigned: KILLED,
    price.UnownedInSum: KILLED,
    silences.ConnectionOpen: KILLED,
    silences.MayBeClosed: KILLED,
}


def unplayed() -> Iterable[type[Claim]]:
    """What the world does not play."""
    return [each for each, is_wrong in CHECKS.items() if is_wrong.__name__ == "impossible"]


@pytest.mark.parametrize("kind", [*NOTHING_OF_IT, *unplayed()], ids=lambda kind: kind.__name__)
def test_a_claim_that_nothing_gives_rise_to_is_found(kind):
    example = next(each for each in (*STORY, *FINDINGS, *NOTES) if type(each) is kind)

    def with_it(folded: GroupHistory, generation: Generation) -> Iterable[Claim]:
        members = [
            *(member.member for member in folded.members.values()),
            *(each.member for each in generation.changes.removed),
        ]
        return [of_member(example, member) for member in members]

    assert told_in(NOTHING_OF_IT.get(kind, KILLED), Makers(with_it, lambda folded, now_ms: ())).false


def test_each_claim_is_made_false():
    """But those that say that something is not known."""
    made = {each for each, _, _ in (*FALSE, *FALSE_OF_GROUP, *FALSE_OF_OFFSETS)} | {*NOTHING_OF_IT, *unplayed(), Advice}
    assert set(CHECKS) - made == {causes.Untold, endings.EndUnknown}


def of_member(claim: Claim, member: MemberRef) -> Claim:
    """The same of another member, and of partitions that there are."""
    partitions = (findings.PartitionOffsets("t", 0, 1, 0, 2),)
    others = {"member": member, "members": (member,), "partitions": partitions}
    is_of_partitions = isinstance(claim, findings.OutOfRange | findings.UnownedPartitions)
    names = [
        other for other in others if other in claim.__struct_fields__ and (other != "partitions" or is_of_partitions)
    ]
    return msgspec.structs.replace(claim, **{name: others[name] for name in names})


def test_a_finding_that_lasts_too_long_is_found():
    found: list[Claim] = []

    def as_at_first(folded: GroupHistory, now_ms: int) -> Iterable[Claim]:
        found.extend(each for each in PRODUCT.of_group(folded, now_ms) if isinstance(each, findings.CannotJoin))
        return found[:1]

    report = told_in(SHUT_OUT, Makers(lambda folded, generation: (), as_at_first))
    assert ["it has joined" in each.contradiction.why for each in report.false] == [True]


# ---- advice

ABOUT: Final = (silences.Silent, silences.Refused, silences.Muted, silences.ConnectionClosed, causes.Left)


def advised(kind: Try, history: History) -> list[str]:
    """Why an advice is false that is given whatever happened."""

    def with_advice(folded: GroupHistory, generation: Generation) -> Iterable[Claim]:
        told = list(claims_of(folded, generation).all())
        yield from told
        yield from (Advice(kind=kind, because=(line,), member=line.member) for line in told if isinstance(line, ABOUT))

    report = told_in(history, Makers(with_advice, lambda folded, now_ms: ()))
    found = [each.contradiction for each in report.false]
    return [each.why for each in found if isinstance(each.claim, Advice) and each.claim.kind is kind]


@pytest.mark.parametrize(
    ("kind", "history"),
    [
        (Try.PROCESS_ENDED, HOST_LOST),
        (Try.PROCESS_ENDED, REFUSED),
        (Try.SILENT, MUTED),
        (Try.SILENT, REFUSED),
        (Try.COORDINATOR_STOOD_STILL, KILLED),
        (Try.RIGHT_IS_MISSING, KILLED),
        (Try.QUOTA_IS_TOO_SMALL, KILLED),
        (Try.CONNECTION_LOST, KILLED),
        (Try.CONNECTION_LOST, SUSPENDED),
        (Try.SESSION_OUTLASTS, KILLED),
        (Try.LONGER_POLL_INTERVAL, CLOSED),
        (Try.STATIC_MEMBERSHIP, UNSAID),
        (Try.STATIC_IS_GONE_FOR_GOOD, KILLED),
        (Try.LARGER_GROUP_SIZE, KILLED),
    ],
)
def test_advice_that_would_not_have_helped_is_found(kind, history):
    assert advised(kind, history)


@pytest.mark.parametrize(
    ("kind", "history"),
    [
        (Try.PROCESS_ENDED, KILLED),
        (Try.SILENT, HOST_LOST),
        (Try.RIGHT_IS_MISSING, REFUSED),
        (Try.QUOTA_IS_TOO_SMALL, MUTED),
        (Try.CONNECTION_LOST, PROXIED),
        (Try.SESSION_OUTLASTS, SUSPENDED),
        (Try.LONGER_POLL_INTERVAL, BUSY),
        (Try.STATIC_MEMBERSHIP, CLOSED),
    ],
)
def test_advice_that_would_have_helped_is_true(kind, history):
    assert not advised(kind, history)


def test_an_advice_follows_from_claims_that_are_told():
    def alone(folded: GroupHistory, generation: Generation) -> Iterable[Claim]:
        told = [each for each in claims_of(folded, generation).all() if isinstance(each, silences.Silent)]
        return [Advice(kind=Try.SILENT, because=tuple(told))] if told else []

    report = told_in(KILLED, Makers(alone, lambda folded, now_ms: ()))
    assert "which is not told" in report.false[0].contradiction.why
