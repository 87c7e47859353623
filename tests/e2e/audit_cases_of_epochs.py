"""Cases of consumer groups (KIP-848) in which a protocol, an epoch, a setting or the coordinator changes."""

from typing import Final

from kafka.admin import NewPartitions

from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import WireConnection
from coordinator.core.causes import Cause
from interop.builds import CLASSIC, CONSUMER
from interop.driver import Member
from interop.scenarios.scenario import all_read
from interop.scene import PARTITIONS, SECONDS, SESSION_MS, Scene, triggers
from tests.e2e import audit_cases_of_consumers as consumers
from tests.e2e import audit_cases_of_coordinator as coordinators
from tests.e2e.audit_cases import Case
from tests.e2e.audit_cases_of_consumers import LONG_SESSION_MS, first_rejection, noted, rejected_with
from tests.servers import QUICK_GROUPS
from tests.waiting import wait_for

SERVER_SETTINGS: Final = QUICK_GROUPS | {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
}


# ---- from one protocol to the other


def classic_members(scene: Scene, *names: str) -> list[Member]:
    scene.protocol = CLASSIC
    members = [scene.member(name) for name in names]
    scene.steady(*members)
    scene.protocol = CONSUMER
    return members


def a_group_is_upgraded(scene: Scene) -> None:
    """The first member with the new protocol converts the group of the others, who stay."""
    (classic,) = classic_members(scene, "classic")
    new = scene.member("new")
    scene.steady(classic, new)
    (converted,) = scene.of_kind(schema.GroupConverted)
    assert (converted.group_type, [member.member.client_id for member in converted.members]) == (
        "consumer",
        ["classic"],
    )
    scene.tells(
        scene.stable_because(Cause.NEW_MEMBER, "new"), "because new (127.0.0.1", ") joined", "2 of 4 partitions moved"
    )
    told = [each for each in noted(scene) if "consumer group" in each]
    assert told == ["the group became a consumer group (KIP-848), with its member"], told
    classic.leave()
    new.leave()


def a_group_is_downgraded(scene: Scene) -> None:
    """The last member with the new protocol leaves: a classic group goes on."""
    (classic,) = classic_members(scene, "classic")
    new = scene.member("new")
    scene.steady(classic, new)
    new.leave()
    scene.protocol = CLASSIC
    scene.steady(classic)
    assert [each.group_type for each in scene.of_kind(schema.GroupConverted)] == ["consumer", "classic"]
    generation = scene.stable_because(Cause.MEMBER_LEFT, "new")
    assert generation.group_type == "classic"
    scene.tells(generation, "generation ", "because new (127.0.0.1", ") left")
    told = [each for each in noted(scene) if "classic group" in each]
    assert told == ["the group became a classic group, with its member"], told
    classic.leave()


def every_member_changes_its_protocol(scene: Scene) -> None:
    """A rolling change: each classic member closes and comes back with the new protocol."""
    members = {classic_member.name: classic_member for classic_member in classic_members(scene, "one", "two")}
    for name in ("one", "two"):
        members[name].leave()
        members[name] = scene.member(name)
        scene.steady(*members.values())
    (converted,) = scene.of_kind(schema.GroupConverted)
    assert [member.member.client_id for member in converted.members] == ["two"], converted.members
    causes = [cause for generation in scene.history().generations for cause, _ in triggers(generation)]
    assert set(causes) <= {Cause.NEW_MEMBER, Cause.MEMBER_LEFT, Cause.LEADER_REJOINED, Cause.MEMBER_REJOINED}, causes
    for member in members.values():
        member.leave()


# ---- epochs


def heartbeat_in_the_name_of(scene: Scene, client_id: str, epoch: int, owned: list[int]) -> int:
    """A heartbeat whose answer the member never sees, as if it was lost on its way; its new epoch."""
    joined = [each for each in scene.of_kind(schema.MemberJoined) if each.member.client_id == client_id]
    with WireConnection(scene.server.bootstrap, client_id) as connection:
        coordinator = coordinator_of(connection, scene.group)
    with WireConnection(coordinator, client_id) as connection:
        (topic,) = connection.send_latest(MetadataRequest(topics=[MetadataRequestTopic(name=scene.topic)])).topics
        request = ConsumerGroupHeartbeatRequest(
            group_id=scene.group,
            member_id=joined[-1].member.member_id,
            member_epoch=epoch,
            topic_partitions=[TopicPartitions(topic_id=topic.topic_id, partitions=owned)],
        )
        response: ConsumerGroupHeartbeatResponse = connection.send_latest(request)
    assert response.error_code == 0, response
    return int(response.member_epoch)


def wait_for_epoch_in_the_name_of(scene: Scene, client_id: str, epoch: int, owned: list[int]) -> int:
    """The same, again and again until the epoch of the member has risen."""
    return wait_for(
        lambda: now if (now := heartbeat_in_the_name_of(scene, client_id, epoch, owned)) > epoch else 0,
        SECONDS,
        "the epoch of the member to rise",
        every_ms=100,
    )


def answers_to_heartbeats_are_lost(scene: Scene) -> None:
    """Two of them, each with another epoch: the member is fenced, and joins again."""
    one = scene.member("one", session_timeout_ms=LONG_SESSION_MS)
    scene.steady(one)
    one.driver.stop()
    epoch = 2
    for partitions in (PARTITIONS + 1, PARTITIONS + 2):
        scene.admin().create_partitions({scene.topic: NewPartitions(partitions)})
        wait_for(lambda: scene.has_topic(scene.topic, partitions), SECONDS, "the topic to grow")  # noqa: B023
        epoch = wait_for_epoch_in_the_name_of(scene, "one", epoch, list(range(PARTITIONS)))
    one.driver.go_on()
    rejected = first_rejection(scene, "FENCED_MEMBER_EPOCH")
    assert (rejected.api, rejected.member.client_id) == ("ConsumerGroupHeartbeat", "one")
    assert rejected.request_generation_id == 2
    scene.steady(one, partitions=PARTITIONS + 2)
    told = [each for each in noted(scene) if "was fenced" in each]
    assert told and told[0].startswith("one (127.0.0.1"), told
    assert "was fenced: member epoch 2, which its heartbeat named, is not its own" in told[0], told
    one.leave()


def a_commit_names_an_older_epoch(scene: Scene) -> None:
    """It stood still while its partitions went to another member, and commits them."""
    scene.produce(5)
    options = {"session_timeout_ms": LONG_SESSION_MS, "max_poll_interval_ms": LONG_SESSION_MS}
    one = scene.member("one", **options)
    scene.steady(one)
    all_read(scene, one)
    assert one.commit()["event"] == "committed"
    before = len(one.answers_to_commits())
    one.driver.stop()
    two = scene.member("two", **options)
    wait_for_epoch_in_the_name_of(scene, "one", 2, [0, 1])
    wait_for(lambda: len(two.latest().owned) == PARTITIONS // 2, SECONDS, "two to have partitions", every_ms=50)
    one.send("commit")
    one.driver.go_on()
    wait_for(lambda: len(one.answers_to_commits()) > before, SECONDS, "the client's answer", every_ms=50)
    scene.steady(one, two)
    refused = [each for each in noted(scene) if each.startswith("an offset commit by one (127.0.0.1")]
    if refused:
        assert "was refused: member epoch 2, which it named, is not its own" in refused[0], refused
        assert rejected_with(scene, "STALE_MEMBER_EPOCH")[0].request_generation_id == 2
    else:
        scene.unknown = "that it wanted to commit: this client gives the commit up, or joins again before it"
        assert first_rejection(scene, "FENCED_MEMBER_EPOCH").member.client_id == "one"
    one.driver.kill()
    two.driver.kill()


def the_session_timeout_changes(scene: Scene) -> None:
    """A config of the group: the timeout in force is told, and not that of the join."""
    one = scene.member("one")
    scene.steady(one)
    two = scene.member("two", session_timeout_ms=2 * SESSION_MS)  # which sets it for the whole group
    scene.steady(one, two)
    one.driver.kill()
    generation = scene.stable_because(Cause.SESSION_EXPIRED, "one")
    (removed,) = scene.of_kind(schema.MemberRemoved)
    if scene.is_watched:
        scene.unknown = consumers.OF_THE_CONFIG
        assert not removed.session_timeout_ms
        scene.tells(generation, "one (127.0.0.1", ") was silent for")
    else:
        assert removed.session_timeout_ms == 2 * SESSION_MS
        scene.tells(generation, "one (127.0.0.1", ") was silent for", "4 s")
    scene.never_tells("its session timeout is 2 s", "2 s, its session timeout")
    two.leave()


# ---- the coordinator


def the_server_restarts(scene: Scene) -> None:
    """kill -9: the group epoch, its members and what they own go on."""
    scene.produce(5)
    one = scene.member("one", session_timeout_ms=50_000)  # a Kafka may take 20 s to be back
    scene.steady(one)
    all_read(scene, one)
    before = len(scene.history().generations)
    scene.server.kill()
    scene.server.start()
    wait_for(lambda: one.commit()["event"] == "committed", SECONDS, "a commit after the restart", every_ms=200)
    assert len(scene.history().generations) == before
    if scene.is_watched:
        scene.unknown = coordinators.OF_A_BROKER
        one.leave()
        return
    with AuditTopic(scene.server.bootstrap) as topic:
        started = [record for record in topic.tail(1_000)[0] if b'"coordinator.started"' in record.value]
    assert len(started) >= 2
    one.leave()


def the_server_crashes_in_a_reconciliation(scene: Scene) -> None:
    """A member stands still; the others wait for its partitions before the restart and after it."""
    options = {"session_timeout_ms": LONG_SESSION_MS}
    one = scene.member("one", **options)
    scene.steady(one)
    one.driver.stop()
    two = scene.member("two", **options)
    wait_for(lambda: scene.history_so_far().state == "Reconciling", SECONDS, "a reconciliation", every_ms=50)
    scene.server.kill()
    scene.server.start()
    one.driver.go_on()
    scene.steady(one, two)
    generation = scene.stable_because(Cause.NEW_MEMBER, "two")
    scene.tells(generation, "because two (127.0.0.1", ") joined", "2 of 4 partitions moved")
    scene.never_tells("cut short", "start over", "lost")
    one.leave()
    two.leave()


CASES: Final = {
    case.play.__name__: case
    for case in (
        Case("A first member joins", consumers.a_first_member_joins),
        Case("A second member joins", consumers.a_second_member_joins),
        Case("A member closes", consumers.a_member_closes),
        Case("The only member closes, and comes back", consumers.the_only_member_closes),
        Case("A process is killed", consumers.a_process_is_killed),
        Case("A process stands still, and comes back", consumers.a_process_stands_still),
        Case("A static member closes and returns", consumers.a_static_member_returns, "static"),
        Case("A second static member is refused", consumers.a_static_member_is_refused, "static"),
        Case("A static member is killed and restarted", consumers.a_static_member_is_killed, "static"),
        Case("A member does not poll", consumers.a_member_does_not_poll, "max-poll"),
        Case("A slow member holds up another", consumers.a_slow_member_holds_up_another, "max-poll"),
        Case("A member that stands still holds up another", consumers.a_member_that_stands_still_holds_up_another),
        Case("A member does not give up its partitions", consumers.a_member_does_not_give_up, "max-poll"),
        Case("A topic grows", consumers.a_topic_grows),
        Case("A topic appears that a regular expression matches", consumers.a_topic_appears, "pattern"),
        Case("A topic vanishes", consumers.a_topic_vanishes),
        Case("A subscription changes", consumers.a_subscription_changes, "subscribe"),
        Case("Another assignor is asked for", consumers.another_assignor_is_asked_for),
        Case("A member comes back with another assignor", consumers.an_assignor_changes, "static"),
        Case(
            "A group is full",
            consumers.a_group_is_full,
            own_server=True,
            settings={"group.consumer.max.size": "2"},
        ),
        Case("A classic group is upgraded", a_group_is_upgraded),
        Case("A consumer group is downgraded", a_group_is_downgraded),
        Case("Each member changes its protocol", every_member_changes_its_protocol),
        Case("Answers to heartbeats are lost", answers_to_heartbeats_are_lost),
        Case("A commit names an older epoch", a_commit_names_an_older_epoch),
        Case("The session timeout of the group changes", the_session_timeout_changes),
        Case("The coordinator stands still for 6 s", coordinators.the_coordinator_stands_still, own_server=True),
        Case("The server is killed and restarts", the_server_restarts, own_server=True),
        Case("The server crashes in a reconciliation", the_server_crashes_in_a_reconciliation, own_server=True),
    )
}
"""Those of members that all have the new protocol, or change to it."""
