"""Ways to rebalance a group of a real Kafka, each played with any stock client, and what is told of it afterwards.

Nothing of this project is in the way of the clients. A case names what it did; what is told by records alone, and by
records and logs together, is compared with that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from kafka.admin import MemberToRemove, NewPartitions

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims.claim import Known
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.generation import claims_of
from coordinator.observe.history import ObservedHistory
from coordinator.observe.sources import LogOptions, observe_group
from interop.builds import CLASSIC, CONSUMER
from interop.driver import Member
from interop.scene import SECONDS, SESSION_MS, Scene
from tests.observe.logged_kafka import AT_ONCE, LoggedKafka
from tests.waiting import wait_for

TOLD_SECONDS: Final = 5
MEMBERS_MAX: Final = int(AT_ONCE["group.max.size"])
Did = tuple[Cause, str]
"""What happened, and the client id of the member."""

GONE: Final = frozenset({Cause.MEMBER_LEFT, Cause.SESSION_EXPIRED, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT})
REJOINED: Final = frozenset({Cause.METADATA_CHANGED, Cause.MEMBER_REJOINED, Cause.LEADER_REJOINED})
LEAVES_OPEN: Final[dict[Cause | InferredCause, frozenset[Cause]]] = {
    InferredCause.MEMBER_LEFT_OR_EXPIRED: GONE,
    InferredCause.STATIC_REPLACED_OR_BACK: frozenset({Cause.STATIC_REPLACED, Cause.NEW_MEMBER}),
    InferredCause.REJOINED_OR_CHANGED: REJOINED,
    InferredCause.LEADER_REJOINED_OR_CHANGED: REJOINED,
    InferredCause.NO_CHANGE_SEEN: REJOINED,
    InferredCause.TOPICS_OR_SUBSCRIPTION_CHANGED: frozenset({Cause.METADATA_CHANGED, Cause.TOPICS_CHANGED}),
}


class KafkaScene(Scene):
    """A scene whose history is what is seen of the group from outside."""

    server: LoggedKafka

    def seen(self, *, with_logs: bool) -> ObservedHistory:
        logs = LogOptions((str(self.server.server_log),)) if with_logs else LogOptions()
        return observe_group(self.group, Bootstrap(self.server.bootstrap), logs).history

    def history(self) -> GroupHistory:
        try:
            return self.seen(with_logs=True)
        except ClientError:
            return GroupHistory(self.group)

    def wait_until_told(self, *did: Did) -> None:
        """By lines and records together."""
        wait_for(lambda: set(did) <= set(told(self.history())), TOLD_SECONDS, f"{did} to be told", every_ms=300)


def told(history: GroupHistory) -> list[tuple[Cause | InferredCause, str]]:
    found: list[tuple[Cause | InferredCause, str]] = []
    for generation in history.generations:
        for trigger in generation.triggers:
            found.append((trigger.cause, "" if trigger.member is None else _name(trigger.member)))
        found += [(each.cause, _name(each.member)) for each in generation.changes.removed]
        found += [(each.cause, _name(each.member)) for each in generation.replaced_while_stable]
    found += [(each.cause, _name(each.member)) for each in history.pending_changes.removed]
    found += [(each.cause, _name(each.member)) for each in history.pending_changes.replaced]
    return found


def _name(member: Any) -> str:
    """Lines tell the instance of a static member, and no client id: cases give both the same name."""
    return str(member.client_id or member.group_instance_id or "")


@dataclass(frozen=True)
class Case:
    """`play` returns what it did that leads to a rebalance, or changes who is in the group."""

    title: str
    play: Callable[[KafkaScene], tuple[Did, ...]]
    protocols: tuple[str, ...] = (CLASSIC, CONSUMER)
    needs: str = ""

    @cached_property
    def name(self) -> str:
        return self.play.__name__


def two_members(scene: KafkaScene, **options: Any) -> tuple[Member, Member]:
    one = scene.member("one", **options)
    scene.steady(one)
    two = scene.member("two", **options)
    scene.steady(one, two)
    return one, two


def a_member_joins(scene: KafkaScene) -> tuple[Did, ...]:
    two_members(scene)
    return (Cause.NEW_MEMBER, "one"), (Cause.NEW_MEMBER, "two")


def a_member_closes(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene)
    two.leave()
    scene.steady(one)
    return ((Cause.MEMBER_LEFT, "two"),)


def a_process_is_killed(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene)
    two.driver.kill()
    scene.steady(one)
    return ((Cause.SESSION_EXPIRED, "two"),)


def a_process_is_suspended(scene: KafkaScene) -> tuple[Did, ...]:
    """SIGSTOP for longer than the session, and back."""
    one, two = two_members(scene)
    two.driver.stop()
    scene.steady(one)
    two.driver.go_on()
    scene.steady(one, two)
    return (Cause.SESSION_EXPIRED, "two"), (Cause.NEW_MEMBER, "two")


def a_member_does_not_poll(scene: KafkaScene) -> tuple[Did, ...]:
    """Beyond max.poll.interval.ms. Clients of KIP-848 may stop their heartbeats instead of leaving."""
    one = scene.member("one", max_poll_interval_ms=SESSION_MS + 500)
    scene.steady(one)
    one.pause()
    wait_for(lambda: any(cause in GONE for cause, _ in told(scene.history())), SECONDS, "it to be gone", every_ms=300)
    expired = (Cause.SESSION_EXPIRED, "one") in told(scene.history())
    return ((Cause.SESSION_EXPIRED if expired and scene.protocol == CONSUMER else Cause.MEMBER_LEFT, "one"),)


def a_process_is_killed_and_another_joins(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene)
    two.driver.kill()
    three = scene.member("three")
    scene.steady(one, three)
    return (Cause.SESSION_EXPIRED, "two"), (Cause.NEW_MEMBER, "three")


def the_only_member_is_killed(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one")
    scene.steady(one)
    one.driver.kill()
    scene.wait_for_state("Empty")
    return ((Cause.SESSION_EXPIRED, "one"),)


def the_only_member_closes_and_another_comes(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one")
    scene.steady(one)
    one.leave()
    two = scene.member("two")
    scene.steady(two)
    return (Cause.MEMBER_LEFT, "one"), (Cause.NEW_MEMBER, "two")


def a_client_comes_and_goes(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one")
    scene.steady(one)
    for _ in range(3):
        two = scene.member("two")
        scene.steady(one, two)
        two.leave()
        scene.steady(one)
    return (Cause.NEW_MEMBER, "two"), (Cause.MEMBER_LEFT, "two")


def a_static_member_restarts(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one", instance_id="one", session_timeout_ms=10_000)
    two = scene.member("two", instance_id="two", session_timeout_ms=10_000)
    scene.steady(one, two)
    two.leave()
    again = scene.member("two", instance_id="two", session_timeout_ms=10_000)
    scene.steady(one, again)
    return ((Cause.STATIC_REPLACED, "two"),)


def a_static_member_is_gone_for_long(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one", instance_id="one")
    two = scene.member("two", instance_id="two")
    scene.steady(one, two)
    two.driver.kill()
    scene.steady(one)
    return ((Cause.SESSION_EXPIRED, "two"),)


def a_subscription_changes(scene: KafkaScene) -> tuple[Did, ...]:
    more = f"{scene.topic}-more"
    scene.create_topic(more, 2)
    one, two = two_members(scene)
    two.subscribe(scene.topic, more)
    scene.steady(one, two, partitions=scene.partitions + 2)
    return ((Cause.METADATA_CHANGED, "two"),)


def a_topic_grows(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene, metadata_max_age_ms=500)
    scene.admin().create_partitions({scene.topic: NewPartitions(scene.partitions + 2)})
    scene.steady(one, two, partitions=scene.partitions + 2)
    return ((Cause.TOPICS_CHANGED if scene.protocol == CONSUMER else Cause.LEADER_REJOINED, ""),)


def an_administrator_removes_a_member(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene)
    admin = scene.admin()
    found = [member for member in scene.history().members.values() if member.member.client_id == "two"]
    admin.remove_group_members(scene.group, [MemberToRemove(member_id=found[0].member.member_id)])
    scene.steady(one, two)
    return ((Cause.MEMBER_LEFT, "two"),)


def a_cooperative_rebalance(scene: KafkaScene) -> tuple[Did, ...]:
    two_members(scene, assignors=["cooperative-sticky"])
    return ((Cause.NEW_MEMBER, "two"),)


def a_member_hangs_in_a_rebalance(scene: KafkaScene) -> tuple[Did, ...]:
    """Its session or the rebalance timeout ends first, by the client's settings."""
    hanging = scene.member("hanging", max_poll_interval_ms=SESSION_MS + 1_000)
    scene.steady(hanging)
    hanging.driver.stop()
    newcomer = scene.member("newcomer", max_poll_interval_ms=SESSION_MS + 1_000)
    scene.steady(newcomer)
    was_late = (Cause.REBALANCE_TIMEOUT, "hanging") in told(scene.history())
    return (Cause.NEW_MEMBER, "newcomer"), (Cause.REBALANCE_TIMEOUT if was_late else Cause.SESSION_EXPIRED, "hanging")


def a_topic_appears(scene: KafkaScene) -> tuple[Did, ...]:
    """One that the regular expression of the member matches."""
    one = scene.member("one", pattern=f"^{scene.name}-.*", metadata_max_age_ms=500)
    scene.steady(one)
    scene.create_topic(f"{scene.name}-appears", 2)
    scene.steady(one, partitions=scene.partitions + 2)
    return ((Cause.TOPICS_CHANGED, "") if scene.protocol == CONSUMER else (Cause.METADATA_CHANGED, "one"),)


def a_group_is_full(scene: KafkaScene) -> tuple[Did, ...]:
    """Who is refused shows nowhere; who is in it goes on as before."""
    members = [scene.member(f"m{index}") for index in range(MEMBERS_MAX)]
    scene.steady(*members)
    excess = scene.member("excess")
    wait_for(lambda: bool(excess.latest().of_kind("failed")), SECONDS, "a refusal", every_ms=100)
    return tuple((Cause.NEW_MEMBER, f"m{index}") for index in range(MEMBERS_MAX))


def assignors_do_not_agree(scene: KafkaScene) -> tuple[Did, ...]:
    """Who is refused shows nowhere."""
    one = scene.member("one", assignors=["range"])
    scene.steady(one)
    other = scene.member("other", assignors=["roundrobin"])
    wait_for(lambda: bool(other.latest().of_kind("failed")), SECONDS, "a refusal", every_ms=100)
    return ((Cause.NEW_MEMBER, "one"),)


def the_group_is_deleted(scene: KafkaScene) -> tuple[Did, ...]:
    one = scene.member("one")
    scene.steady(one)
    one.leave()
    scene.wait_for_state("Empty")
    scene.admin().delete_groups([scene.group])
    wait_for(lambda: bool(scene.history().removals), SECONDS, "the group to be gone", every_ms=300)
    assert scene.history().removals[-1].cause is Cause.ADMIN
    return ((Cause.MEMBER_LEFT, "one"),)


def the_broker_is_killed_and_starts_again(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene, session_timeout_ms=20_000)
    scene.server.kill()
    scene.server.start()
    two.commit()  # it has found the coordinator again
    three = scene.member("three", session_timeout_ms=20_000)
    scene.steady(one, two, three)
    return ((Cause.NEW_MEMBER, "three"),)


def the_broker_restarts_in_order(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene, session_timeout_ms=20_000)
    scene.server.stop()
    scene.server.start()
    two.commit()  # it has found the coordinator again
    two.leave()
    scene.steady(one)
    return ((Cause.MEMBER_LEFT, "two"),)


def a_member_dies_while_the_broker_is_away(scene: KafkaScene) -> tuple[Did, ...]:
    one, two = two_members(scene, session_timeout_ms=6_000)
    scene.server.kill()
    two.driver.kill()
    scene.server.start()
    scene.steady(one, seconds=3 * SECONDS)
    return ((Cause.SESSION_EXPIRED, "two"),)


CASES: Final = {
    each.name: each
    for each in (
        Case("A member joins", a_member_joins),
        Case("A member closes", a_member_closes),
        Case("A process is killed", a_process_is_killed),
        Case("A process is suspended, and goes on", a_process_is_suspended),
        Case("A member does not poll", a_member_does_not_poll),
        Case("A process is killed and another joins", a_process_is_killed_and_another_joins),
        Case("The only member is killed", the_only_member_is_killed),
        Case("The only member closes, and another one comes", the_only_member_closes_and_another_comes),
        Case("A client comes and goes", a_client_comes_and_goes),
        Case("A static member restarts", a_static_member_restarts),
        Case("A static member is gone for longer than its session", a_static_member_is_gone_for_long),
        Case("A subscription changes", a_subscription_changes),
        Case("A topic grows", a_topic_grows),
        Case("An administrator removes a member", an_administrator_removes_a_member, (CLASSIC,)),
        Case("A cooperative rebalance", a_cooperative_rebalance, (CLASSIC,), "cooperative-sticky"),
        Case("A member hangs in a rebalance", a_member_hangs_in_a_rebalance, (CLASSIC,)),
        Case("A topic appears", a_topic_appears),
        Case("A group is full", a_group_is_full),
        Case("Assignors do not agree", assignors_do_not_agree, (CLASSIC,), "roundrobin"),
        Case("The group is deleted", the_group_is_deleted),
        Case("The broker is killed and starts again, then a member joins", the_broker_is_killed_and_starts_again),
        Case("The broker restarts in order, then a member closes", the_broker_restarts_in_order),
        Case("A member dies while the broker is away", a_member_dies_while_the_broker_is_away),
    )
}

TOLD, LEFT_OPEN, NOT_TOLD = "✓", "(✓)", "–"


def cell(history: ObservedHistory, did: tuple[Did, ...]) -> str:
    """How much of what was done is told: all, some as one of several, or some not at all."""
    found = told(history)
    return min((_cell(found, each) for each in did), key=(NOT_TOLD, LEFT_OPEN, TOLD).index)


def _cell(found: list[tuple[Cause | InferredCause, str]], did: Did) -> str:
    cause, who = did
    of_it = [each for each, name in found if not who or name == who]
    if cause in of_it or (not who and REJOINED & set(of_it)):
        return TOLD
    anybody = [each for each, name in found if not name] + of_it
    return LEFT_OPEN if any(cause in LEAVES_OPEN.get(each, ()) for each in anybody) else NOT_TOLD


def false_causes(history: ObservedHistory, did: tuple[Did, ...], name: str) -> list[str]:
    """What is told of how members went, and is not what was done to them."""
    names = {who for _, who in did}
    problems = []
    for cause, who in told(history):
        if who in names and cause in GONE and (cause, who) not in did:
            problems.append(f"{name}: {cause} of {who}")
    return problems


def without_evidence(history: ObservedHistory) -> list[str]:
    """Claims that name no place where they were seen."""
    return [
        f"{type(claim).__name__} of {generation.name}"
        for generation in history.generations
        for claim in claims_of(history, generation).all()
        if claim.evidence.known is Known.SEEN and not history.places_of(claim)
    ]
