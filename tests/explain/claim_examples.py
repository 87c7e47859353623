"""One or more claims of each type, and how they are told: what docs/claims.md shows."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import CONNECTOR, GroupHeldByCluster, MemberRef, Requester
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims import (
    causes,
    course,
    endings,
    findings,
    notes,
    price,
    share,
    silences,
    streams,
    workers,
)
from coordinator.explain.claims.advice import Advice, AssignorChange, Try
from coordinator.explain.claims.claim import Claim
from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.table import protocol_of_claim
from coordinator.explain.sentences.advice import advice
from coordinator.explain.sentences.causes import also, clause
from coordinator.explain.sentences.findings import finding_words
from coordinator.explain.sentences.notes import note
from coordinator.explain.sentences.story import SENTENCES
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import Names, utc_clock

AT: Final = 1_700_000_000_000
ONE: Final = MemberRef("billing-1-id", "billing-1", "/10.0.0.1", None, "apache-kafka-java", "4.3.1")
TWO: Final = MemberRef("billing-2-id", "billing-2", "/10.0.0.2", None, "apache-kafka-java", "4.3.1")
POD: Final = MemberRef("pod-0-id", "billing-3", "/10.0.0.3", "pod-0", "apache-kafka-java", "4.3.1")
OPS: Final = Requester("ops", "/10.0.0.9")
CLIENT: Final = ("billing-1", "/10.0.0.1")
SILENT: Final = silences.Silent(member=ONE, until_ms=AT, since_ms=AT - 10_200, timeout_ms=10_000)
ENVELOPE: Final[Any] = {
    "group_id": "billing",
    "seq": 7,
    "created_seq": 0,
    "time_ms": AT,
    "node_id": 1,
    "coordinator_epoch": 1,
    "generation_id_before": 3,
    "generation_id": 3,
    "state_before": "Stable",
    "state": "Stable",
}
REFUSED_MEMBER: Final = silences.Refused(
    member=ONE,
    api="Heartbeat",
    operation="READ",
    resource_type="GROUP",
    resource_name="billing",
    since_ms=AT - 9_000,
    count=3,
)
STATIC: Final = MemberRef("other-id", "billing-9", "/10.0.0.8", "pod-0")


def refused(api: str, error: str, member: MemberRef = ONE, **fields: Any) -> schema.RequestRejected:
    return schema.RequestRejected(**ENVELOPE, api=api, error=error, member=member, **fields)


REFUSED: Final = schema.RequestRejected(
    **ENVELOPE,
    api="JoinGroup",
    error="INCONSISTENT_GROUP_PROTOCOL",
    member=ONE,
    protocol_type="consumer",
    group_protocol_type="consumer",
    protocols=["roundrobin"],
    group_protocols=["range"],
)
TOO_OLD: Final = refused("Fetch", "UNSUPPORTED_VERSION", refused_version=3, oldest_version=4)
HELD: Final = GroupHeldByCluster(
    time_ms=AT,
    node_id=1,
    coordinator_epoch=1,
    group_id="billing",
    since_ms=AT,
    members=[ONE],
)
TOPIC: Final = findings.PartitionOffsets("orders", 0, 41, 17, 12)
CHANGE: Final = AssignorChange("cooperative-sticky", "range", is_rolling=True)
STOP_ALL: Final = AssignorChange("cooperative-sticky", "range", is_rolling=False)


def _span(kind: findings.Kind) -> dict[str, Any]:
    return {"kind": kind, "from_ms": AT - 120_000, "until_ms": AT}


STORY: Final[tuple[Claim, ...]] = (
    causes.Joined(member=ONE, said="first run"),
    causes.Resubscribed(member=ONE, change=causes.Change.TOPICS, subscribed=("orders",), unsubscribed=("old",)),
    causes.Resubscribed(member=ONE, change=causes.Change.PATTERN),
    causes.Resubscribed(member=ONE, change=causes.Change.PROTOCOLS),
    causes.Resubscribed(member=ONE, change=causes.Change.PROCESS),
    causes.Resubscribed(member=ONE, change=causes.Change.TOPICS),
    causes.Resubscribed(member=ONE, change=causes.Change.NONE_KNOWN),
    causes.TopicChanged(topic="orders", partitions_before=4, partitions_now=6),
    causes.TopicChanged(topic="orders", partitions_before=4, partitions_now=4, is_created_again=True),
    causes.TopicsFound(found=(causes.PatternTopics("orders.*", ("orders", "orders-eu")),)),
    causes.TopicsFound(found=()),
    causes.LeaderAsked(member=ONE),
    causes.Rejoined(member=TWO, assigns_revoked=True),
    causes.Left(member=ONE, way=causes.Way.CLOSED, at_ms=AT),
    causes.Left(member=ONE, way=causes.Way.POLL_TIMEOUT, at_ms=AT, limit_ms=300_000),
    causes.LeftUnsaid(
        members=(ONE,), usual=causes.Usual.GIVES, limit_ms=300_000, idle_ms=12_000, guess=causes.Guess.CLOSED
    ),
    causes.DidNotComeBack(member=POD, left_ms=AT - 10_000, timeout_ms=10_000),
    causes.RemovedByAdministrator(member=ONE, by=OPS),
    causes.Late(member=ONE, missing=causes.Missing.REJOIN, limit_ms=300_000),
    causes.Late(member=ONE, missing=causes.Missing.GIVE_UP, limit_ms=300_000),
    causes.Restarted(member=POD, client_id_before="billing-9", host_before="/10.0.0.8"),
    causes.Evicted(member=ONE),
    causes.AssignmentTooLarge(member=ONE),
    causes.FaultInjected(member=ONE),
    causes.Caused(cause=Cause.GROUP_TOO_LARGE),
    causes.AssignorChanged(before="uniform", now="range"),
    causes.Undecided(cause=InferredCause.MEMBER_LEFT_OR_EXPIRED, member=ONE),
    causes.Undecided(cause=InferredCause.STATIC_REPLACED_OR_BACK, member=ONE),
    causes.Undecided(cause=InferredCause.PENDING_MEMBER_LEFT, member=ONE),
    causes.Undecided(cause=InferredCause.NO_CHANGE_SEEN),
    causes.Undecided(cause=InferredCause.REJOINED_OR_CHANGED, member=ONE),
    causes.Undecided(cause=InferredCause.LEADER_REJOINED_OR_CHANGED, member=ONE),
    causes.Undecided(cause=InferredCause.TOPICS_OR_SUBSCRIPTION_CHANGED),
    causes.Untold(count=2),
    SILENT,
    silences.Unheard(member=ONE, paused_ms=11_000, timeout_ms=10_000),
    REFUSED_MEMBER,
    silences.Muted(member=ONE, muted_ms=12_000, timeout_ms=10_000),
    silences.StoodStill(member=ONE, paused_ms=2_000, silent_ms=10_000),
    silences.ConnectionClosed(member=ONE, at_ms=AT - 9_000, removed_ms=AT),
    silences.ConnectionClosed(member=POD, at_ms=AT - 9_000, removed_ms=AT, closer=silences.Closer.STATIC),
    silences.ConnectionOpen(member=ONE),
    silences.ConnectionClosed(member=ONE, at_ms=AT - 9_000, removed_ms=AT, lives=True),
    silences.CameAgain(member=ONE, at_ms=AT + 1_200, removed_ms=AT, silent_ms=11_200),
    silences.MayBeClosed(member=POD),
    silences.Back(member=ONE, new_member=TWO, gone_ms=AT, back_ms=AT + 3_000),
    silences.Back(member=ONE, new_member=TWO, gone_ms=AT, back_ms=AT + 2, is_closed=True, found_closed=True),
    silences.UnheardSinceStart(member=ONE, start_ms=AT - 10_000),
    silences.CoordinatorAway(
        kind=silences.AbsenceKind.PAUSED, at_ms=AT, from_ms=AT, until_ms=AT + 3_000, pause_kind="suspended"
    ),
    silences.CoordinatorAway(kind=silences.AbsenceKind.STOPPED, at_ms=AT, from_ms=AT),
    silences.CoordinatorAway(
        kind=silences.AbsenceKind.STARTED, at_ms=AT, from_ms=AT - 2_000, until_ms=AT, end=silences.End.IN_ORDER
    ),
    silences.CoordinatorAway(
        kind=silences.AbsenceKind.LED,
        at_ms=AT,
        from_ms=AT - 5_900,
        until_ms=AT,
        node_id=2,
        other_node_id=1,
        end=silences.End.WITHOUT_STOP,
    ),
    course.Took(join_ms=900, sync_ms=40, member_count=3),
    course.Took(join_ms=900, sync_ms=40, member_count=3, is_epoch=True),
    course.HeldUp(member=ONE, held_up_ms=1_700),
    course.NeverRejoined(members=(ONE,), limit_ms=300_000, others_waited=True),
    course.PendingIds(member_ids=("billing-4-id",)),
    course.NeverSynced(members=(ONE,)),
    course.SlowSync(member=ONE, sync_ms=2_000, is_leader=True),
    course.GaveUpLate(
        member=ONE,
        partitions={"orders": [0]},
        count=1,
        waiting=(TWO,),
        waited_since_ms=AT,
        asked_ms=AT + 2_000,
        gave_up_ms=AT + 5_000,
    ),
    course.GaveUpLate(
        member=ONE,
        partitions={"orders": [0]},
        count=1,
        waiting=(TWO,),
        waited_since_ms=AT,
        asked_ms=AT,
        gave_up_ms=AT + 5_000,
        was_removed=True,
    ),
    course.GaveUpLate(member=ONE, partitions={"orders": [0]}, count=1, waiting=(TWO,), waited_since_ms=AT, asked_ms=AT),
    course.GaveUpLate(
        member=ONE, partitions={"orders": [0]}, count=1, waiting=(TWO,), waited_since_ms=AT, gave_up_ms=AT + 5_000
    ),
    course.GaveUpLate(member=ONE, partitions={"orders": [0]}, count=1, waiting=(TWO,), waited_since_ms=AT),
    course.GaveUpLate(
        member=ONE,
        partitions={"orders": [0], "payments": [0]},
        count=2,
        waiting=(TWO,),
        tasks=(("0", 0),),
        waited_since_ms=AT,
        asked_ms=AT,
        gave_up_ms=AT + 5_000,
    ),
    course.EarlierTarget(epoch=6, at_ms=AT),
    course.EarlierTarget(epoch=6, at_ms=AT, was_used=True),
    price.Moved(partitions=24, moved=4, needlessly=1, first_owned=2),
    price.NothingAssigned(),
    workers.WorkersRun(workers=2, connectors=1, tasks=3, config_offsets=(41, 41)),
    workers.WorkersGot(gains=(workers.TasksOf(ONE, (("sink", CONNECTOR), ("sink", 0))),)),
    workers.WorkersGot(gains=()),
    workers.WorkersGiveUp(losses=(workers.TasksOf(ONE, (("sink", 1),)),)),
    workers.WorkersWait(until_ms=AT + 300_000),
    price.Unowned(partitions=4, of=24, from_ms=AT - 3_100, to_ms=AT, shortest_ms=900),
    price.Unowned(
        partitions=8,
        of=24,
        from_ms=AT - 12_000,
        to_ms=AT,
        shortest_ms=12_000,
        owners=(ONE,),
        before_ms=11_000,
        after_ms=1_000,
    ),
    price.UnownedInSum(partition_ms=4_000),
    price.CommitsRefused(count=2),
    price.Lag(before=12, after=40),
    streams.TasksMoved(
        tasks=(
            streams.MovedTask("0", 2, ONE, TWO, False),
            streams.MovedTask("0", 3, ONE, TWO, False),
            streams.MovedTask("1", 0, ONE, TWO, True),
        ),
        unnamed=4,
    ),
    streams.CouldNotRun(status="missing_source_topics", topics=("orders",), unnamed_topics=0),
    streams.CouldNotRun(status="incorrectly_partitioned_topics", topics=("orders", "payments"), unnamed_topics=0),
    streams.ShutdownBefore(member=ONE, at_ms=AT - 2_000),
    endings.Superseded(after_ms=900),
    endings.Superseded(after_ms=900, is_epoch=True),
    endings.Superseded(after_ms=900, is_epoch=True, had_target=False, target_later_ms=400),
    endings.Converted(group_type="consumer", at_ms=AT),
    endings.Emptied(at_ms=AT),
    endings.CutShort(at_ms=AT),
    endings.CutShort(at_ms=AT, is_void=True),
    endings.InProgress(waits_for=(ONE,)),
    endings.InProgress(is_epoch=True),
    endings.InProgress(is_epoch=True, has_started=True),
    endings.EndUnknown(),
    endings.CameBackWithOtherTopics(
        member=POD, at_ms=AT, topics_before=("old",), topics_now=("orders",), unowned=("orders",)
    ),
    endings.EventsMissing(),
)
"""Those of the story of a generation. `Stable` has no words of its own: how long it took says so."""

SEVERAL: Final[tuple[tuple[Claim, ...], ...]] = (
    tuple(causes.Late(member=each, missing=causes.Missing.GIVE_UP) for each in (ONE, TWO)),
    tuple(causes.Joined(member=each) for each in (ONE, TWO)),
    tuple(silences.ConnectionOpen(member=each) for each in (ONE, TWO)),
)
"""Claims of one type that are told together."""

TRIES: Final[tuple[Advice, ...]] = tuple(
    Advice(
        kind=kind,
        because=(REFUSED_MEMBER,) if kind is Try.RIGHT_IS_MISSING else (SILENT,),
        member=ONE,
        above_ms=10_000,
        joins_in_poll=True,
        change=CHANGE if kind in (Try.STICKIER_ASSIGNOR, Try.COOPERATIVE_ASSIGNOR) else None,
    )
    for kind in Try
)

_OF_RECORDS: Final[tuple[findings.Found, ...]] = (
    share.GivenUp(
        **_span(findings.Kind.POISON_RECORD),
        topic="orders",
        partition=0,
        archived=1,
        rejected=2,
        records=(
            share.RecordsGivenUp(AT - 60_000, 4_711, 4_711, 5, "lock_ended", ONE),
            share.RecordsGivenUp(AT, 4_720, 4_721, 1, "rejected", TWO),
        ),
    ),
    *(
        share.GivenUp(
            **_span(findings.Kind.POISON_RECORD),
            topic="orders",
            partition=0,
            archived=2,
            rejected=0,
            records=(share.RecordsGivenUp(AT, first, 4_712, 5, ended_by, ONE),),
        )
        for ended_by in ("released", "closed", "disconnected")
        for first in (4_711, 4_712)
    ),
    *(
        share.LetsLocksEnd(
            **_span(kind),
            member=member,
            acquired=500,
            acknowledged=acknowledged,
            lock_ended=80,
            late=late,
            lock_duration_ms=30_000,
        )
        for kind, acknowledged, late, member in (
            (findings.Kind.SLOW_TO_ACKNOWLEDGE, 420, 0, ONE),
            (findings.Kind.LOCKS_TOO_SHORT, 420, 3, ONE),
            (findings.Kind.NEVER_ACKNOWLEDGES, 0, 0, MemberRef("stranger")),
        )
    ),
    share.TakesAll(**_span(findings.Kind.TAKES_ALL), member=ONE, acquired=1_200, others=(TWO,)),
    *(
        share.StartStands(
            **_span(findings.Kind.START_STANDS),
            topic="orders",
            partition=0,
            start_offset=4_711,
            delivery_count=deliveries,
            member=member,
            in_flight=500,
            lag=12,
        )
        for deliveries, member in ((4, ONE), (0, None))
    ),
)

_OF_STREAMS: Final[tuple[findings.Found, ...]] = (
    streams.TopologyNotReady(
        **_span(findings.Kind.TOPOLOGY_NOT_READY),
        status="missing_source_topics",
        topics=("orders",),
        unnamed_topics=0,
        detail="Source topics orders are missing.",
    ),
    streams.TopologyNotReady(
        **_span(findings.Kind.TOPOLOGY_NOT_READY),
        status="incorrectly_partitioned_topics",
        topics=("orders", "payments"),
        unnamed_topics=0,
        detail="Following topics do not have the same number of partitions: [{orders=3, payments=2}]",
    ),
    streams.TopologyNotReady(
        **_span(findings.Kind.TOPOLOGY_NOT_READY),
        status="missing_internal_topics",
        topics=("billing-counts-changelog",),
        unnamed_topics=0,
        detail="Internal topics are missing: billing-counts-changelog",
        failed=(("billing-counts-changelog", "Unable to replicate the partition 3 time(s)"),),
    ),
    streams.ShutdownRequested(**_span(findings.Kind.SHUTDOWN_REQUESTED), member=ONE),
    streams.StaleTopology(
        **_span(findings.Kind.STALE_TOPOLOGY),
        members=(streams.StaleMember(ONE, 0),),
        unnamed=0,
        group_topology_epoch=1,
    ),
)

FOUND: Final[tuple[findings.Found, ...]] = (
    findings.ComesAndGoes(
        **_span(findings.Kind.FLAPPING_MEMBER),
        client=CLIENT,
        departures=tuple(findings.Departure(AT - each, Cause.MEMBER_LEFT) for each in (120_000, 60_000, 0)),
    ),
    findings.CrashLoop(
        **_span(findings.Kind.CRASH_LOOP),
        client=CLIENT,
        crashes=(
            findings.Crash(AT - 120_000, AT - 110_000, AT - 100_000),
            findings.Crash(AT - 10_000, AT, None),
        ),
    ),
    findings.StaticRestarts(
        **_span(findings.Kind.CRASH_LOOP),
        instance_id="pod-0",
        client=("billing-3", "/10.0.0.3"),
        restarts=(AT - 120_000, AT - 60_000, AT),
    ),
    findings.Storm(
        **_span(findings.Kind.REBALANCE_STORM), rebalances=9, causes=(("member_left", 7), ("new_member", 2)), lost_ms=40
    ),
    findings.RollingRestart(**_span(findings.Kind.ROLLING_RESTART), members=3, rebalances=6),
    findings.Replaced(
        **_span(findings.Kind.ROLLING_DEPLOY),
        successions=(findings.Succession(TWO, AT - 60_000, ONE, AT - 59_000, AT - 50_000),) * 2,
        silent=0,
        rebalances=4,
    ),
    findings.PausesTooLong(
        **_span(findings.Kind.SHORT_SESSION_TIMEOUT),
        client=CLIENT,
        pauses=(findings.Pause(AT - 60_000, AT - 58_000, 12_000), findings.Pause(AT - 5_000, AT, 15_000)),
        timeout_ms=10_000,
    ),
    findings.SlowRejoiner(
        **_span(findings.Kind.SLOW_REJOINER),
        client=CLIENT,
        held_up=tuple(findings.HeldUpIn(each, False, 2_000) for each in (3, 4, 5)),
        rebalances=4,
        joins_in_poll=True,
    ),
    findings.HoldsUpOthers(
        **_span(findings.Kind.HOLDS_UP_OTHERS),
        client=CLIENT,
        waits=tuple(findings.WaitedFor(each, 2, 4_000, 3_000) for each in (3, 4, 5)),
        of=4,
        is_slow=True,
        joins_in_poll=True,
    ),
    findings.StoppedForNothing(
        **_span(findings.Kind.EAGER_WITHOUT_NEED), rebalances=3, assignor="range", partition_ms=9_000, change=STOP_ALL
    ),
    findings.IdleMembers(**_span(findings.Kind.IDLE_MEMBERS), members=(ONE,), of=4, partitions=3),
    findings.NoCommits(
        **_span(findings.Kind.NO_COMMITS), generation_id=4, is_epoch=False, partitions=3, last_commit_ms=AT, lag=10
    ),
    findings.SharedInstanceId(
        **_span(findings.Kind.SHARED_INSTANCE_ID),
        instance_id="pod-0",
        takes=(findings.Takeover(AT - 60_000, CLIENT), findings.Takeover(AT, ("billing-2", "/10.0.0.2"))),
    ),
    findings.WastedInstanceId(
        **_span(findings.Kind.WASTED_INSTANCE_ID), client=("pod-0",), leaves=(findings.Leave(AT - 3_000, AT),)
    ),
    findings.CannotJoin(
        **_span(findings.Kind.REJECTED_CLIENT),
        client=CLIENT,
        refusal=REFUSED,
        offers=(findings.Offer((TWO,), ("range",)),),
    ),
    findings.TooOld(**_span(findings.Kind.TOO_OLD_CLIENT), client=CLIENT, refusal=TOO_OLD),
    findings.HeldByCluster(**_span(findings.Kind.HELD_BY_CLUSTER), held=HELD, members_here=0),
    findings.OutOfRange(**_span(findings.Kind.OUT_OF_RANGE), partitions=(TOPIC,)),
    findings.DeletedUnread(
        **_span(findings.Kind.DELETED_UNREAD),
        partitions=(findings.PartitionOffsets("orders", 0, 7, 41, 41, 17),),
        records=10,
    ),
    findings.UnownedPartitions(**_span(findings.Kind.UNOWNED_PARTITIONS), partitions=(TOPIC,), of=4, unread=20),
    findings.WaitsForTransaction(
        **_span(findings.Kind.WAITS_FOR_TRANSACTION),
        waits=(findings.WaitingFor(TOPIC, False, "pay", AT - 60_000, AT),),
    ),
    findings.StandsStill(
        **_span(findings.Kind.STANDS_STILL),
        partitions=(
            findings.StandingPartition(
                findings.PartitionOffsets("orders", 0, 41, 53), ONE, 12, AT - 120_000, False, AT - 180_000, AT - 3_000
            ),
        ),
        others=findings.Goes.ON,
    ),
    findings.StandsStill(
        **_span(findings.Kind.STANDS_STILL),
        partitions=tuple(
            findings.StandingPartition(
                findings.PartitionOffsets("orders", each, 41, 42), ONE, 1, AT - 120_000, True, AT - 180_000
            )
            for each in (0, 1)
        ),
        others=findings.Goes.NOT,
    ),
    findings.RightOnTopicLost(
        **_span(findings.Kind.RIGHT_ON_TOPIC_LOST),
        topic="orders",
        principal="User:billing",
        members=(ONE,),
        api="Fetch",
        operation="READ",
        requests=240,
        partitions=2,
    ),
    findings.SubscribedTopicMissing(
        **_span(findings.Kind.SUBSCRIBED_TOPIC_MISSING), topic="ordres", members=(ONE,), gone_ms=AT - 120_000
    ),
    *_OF_RECORDS,
    *_OF_STREAMS,
)

NOTES: Final[tuple[Claim, ...]] = (
    notes.PlaceTaken(at_ms=AT, member=POD, before=MemberRef("old-id", "billing-9", "/10.0.0.8")),
    notes.OffsetsSet(
        at_ms=AT, event=schema.OffsetsReset(**ENVELOPE, requested_by=OPS, partitions={"orders": [[0, 41, 7]]})
    ),
    notes.OffsetsGone(at_ms=AT, event=schema.OffsetsExpired(**ENVELOPE, partitions={"orders": [0]})),
    notes.Refusal(at_ms=AT, event=REFUSED),
    notes.Refusal(at_ms=AT, event=TOO_OLD),
    notes.Refusal(at_ms=AT, event=refused("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", request_generation_id=6)),
    notes.Refusal(at_ms=AT, event=refused("ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED")),
    notes.Refusal(at_ms=AT, event=refused("ConsumerGroupHeartbeat", "UNRELEASED_INSTANCE_ID", POD, holder=STATIC)),
    notes.Refusal(at_ms=AT, event=refused("OffsetCommit", "STALE_MEMBER_EPOCH", request_generation_id=6)),
    notes.Refusal(at_ms=AT, event=refused("Heartbeat", "UNKNOWN_MEMBER_ID")),
    notes.Loaded(at_ms=AT),
    notes.GroupConverted(at_ms=AT, group_type="consumer", members=3),
    notes.GroupGone(at_ms=AT, event=schema.GroupRemoved(**ENVELOPE, cause=Cause.ADMIN, requested_by=OPS)),
    notes.NotSeen(
        at_ms=AT,
        event=schema.GroupUnseen(**ENVELOPE, because="node_away", from_ms=AT - 14_000, until_ms=AT, by_node=2),
    ),
    notes.NotSeen(
        at_ms=AT,
        event=schema.GroupUnseen(**ENVELOPE, because="facts_dropped", from_ms=AT - 400, until_ms=AT, by_node=2),
    ),
    notes.NotSeen(at_ms=AT, event=schema.GroupUnseen(**ENVELOPE, because="not_through_nodes", member=ONE)),
    notes.AtTheCluster(at_ms=AT, event=HELD),
    notes.AtTheCluster(at_ms=AT, event=msgspec.structs.replace(HELD, members=[])),
)


def wording(claim: Claim) -> Wording:
    return Wording(Names([ONE, TWO, POD]), utc_clock, protocol_of_claim(bool(getattr(claim, "is_epoch", False))))


def told(claim: Claim) -> list[str]:
    """The sentences of one claim, wherever it is told."""
    if isinstance(claim, Advice):
        return [f"try: {advice(claim, wording(claim))}"]
    if isinstance(claim, findings.Found):
        words = finding_words(claim, utc_clock)
        return [words.headline, *words.evidence, f"try: {words.advice}"]
    if type(claim) in SENTENCES:
        return list(SENTENCES[type(claim)]([claim], wording(claim)))
    return [note(claim)]


def told_together(claims: tuple[Claim, ...]) -> list[str]:
    """As `told`, of several claims of one type. In a group of KIP-848."""
    return list(SENTENCES[type(claims[0])](list(claims), Wording(Names([ONE, TWO, POD]), utc_clock, CONSUMER)))


def headlines() -> Iterator[str]:
    """A headline with each claim that may be the cause of a rebalance."""
    for claim in STORY:
        if SENTENCES[type(claim)] is also:
            name = "group epoch 7" if getattr(claim, "change", None) is causes.Change.PATTERN else "generation 7"
            yield f"{name} began 22:13:20 UTC because {clause(claim, wording(claim))}"
