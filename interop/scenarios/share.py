"""Share groups (KIP-932): which records are delivered to whom, how often, and what becomes of acknowledgements."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup
from coordinator.audit import schema
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import WireConnection
from interop.builds import SHARE
from interop.driver import Event, Member
from interop.scenarios.scenario import Scenario
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for

COUNT: Final = 20
LOCK_MS: Final = 2_000
LONG_LOCK_MS: Final = 30_000
RELEASE_SECONDS: Final = 15
"""Half of the time after which records would be available again in any case: the lock of the group's default."""
OLD_LOCK: Final = ("InvalidRecordStateException", "INVALID_RECORD_STATE")
"""What clients are told that acknowledge what is not theirs any more."""


class Place(NamedTuple):
    topic: str
    partition: int
    offset: int


def delivered(*members: Member) -> list[tuple[Place, int]]:
    """The records that members got, each with its delivery count, in the order of the reports."""
    for member in members:
        if not member.driver.has_ended:
            member.driver.take_in_all()
    return [
        (Place(topic, partition, offset), count)
        for member in members
        for event in member.of_kind("delivered")
        for topic, partition, offset, count in event["records"]
    ]


def wait_delivered(count: int, *members: Member, seconds: float = SECONDS) -> list[tuple[Place, int]]:
    """Wait until the members have got so many records in sum, or more; return them."""
    names = ", ".join(member.name for member in members)
    try:
        wait_for(lambda: len(delivered(*members)) >= count, seconds, f"{count} records for {names}", every_ms=20)
    except AssertionError as problem:
        failed = [each["message"] for member in members for each in member.of_kind("failed")[-1:]]
        raise AssertionError(f"{problem}; there were {len(delivered(*members))}, failures: {failed}") from None
    return delivered(*members)


def acknowledge(member: Member, kind: str, places: Iterable[Place], how: str = "poll") -> None:
    member.send("acknowledge", type=kind, records=list(places), how=how)


def acknowledged(member: Member, kind: str, places: Iterable[Place], how: str = "sync") -> list[str]:
    """Acknowledge, wait for what comes of it, and return the errors; those of other partitions' too."""
    before = len(_heard(member, how))
    acknowledge(member, kind, places, how)
    member.driver.wait_for(lambda: len(_heard(member, how)) > before, f"{member!r} to hear of it")
    return errors(_heard(member, how)[before:])


def _heard(member: Member, how: str) -> list[Event]:
    return [event for event in member.latest().of_kind("acknowledged") if event["how"] == how]


def errors(events: Iterable[Event]) -> list[str]:
    return [error for event in events for of_topic in event["results"].values() for error in of_topic.values() if error]


def lags(scene: Scene) -> dict[int, int]:
    """Partition → how many records are not done, by what the server has stored; -1 if that is not known.

    The start that is stored moves with the next write only, so it says less.
    """
    request = DescribeShareGroupOffsetsRequest(groups=[RequestGroup(group_id=scene.group, topics=None)])
    with WireConnection(scene.server.bootstrap, "interop") as connection:
        coordinator = coordinator_of(connection, scene.group)
    with WireConnection(coordinator, "interop") as connection:
        (group,) = connection.send_latest(request).groups
    return {each.partition_index: each.lag for topic in group.topics for each in topic.partitions}


def wait_done(scene: Scene) -> None:
    """Wait until all records are done."""
    wanted = dict.fromkeys(range(scene.partitions), 0)
    try:
        wait_for(lambda: lags(scene) == wanted, SECONDS, "all records to be done", every_ms=50)
    except AssertionError as problem:
        raise AssertionError(f"{problem}; the lag is {lags(scene)}") from None


def holder(scene: Scene, count: int = COUNT, name: str = "one") -> tuple[Member, list[Place]]:
    """A member that acknowledges nothing unless told to, and the records that it holds: all of the topic."""
    scene.produce(count)
    member = scene.member(name, acknowledgement="explicit")
    held = wait_delivered(count, member)
    assert [n for _, n in held] == [1] * count, held
    return member, [place for place, _ in held]


def share_implicit(scene: Scene) -> None:
    """What is polled is accepted with the next poll."""
    scene.produce(COUNT)
    one = scene.member("one")
    wait_delivered(2 * COUNT, one)
    wait_done(scene)
    one.leave()
    scene.produce(5)
    two = scene.member("two")
    new = wait_delivered(10, two)
    assert {place.offset for place, _ in new} == set(range(COUNT, COUNT + 5)), new
    wait_done(scene)
    assert {n for _, n in delivered(one, two)} == {1}
    if scene.audited:
        joined = [each.member.client_id for each in scene.of_kind(schema.MemberJoined)]
        assert joined == ["one", "two"], joined
    two.leave()


def share_explicit(scene: Scene) -> None:
    """Accepted and rejected records are done; released ones are delivered again."""
    one, places = holder(scene)
    acknowledge(one, "accept", places[:10])
    acknowledge(one, "release", places[10:15])
    assert not acknowledged(one, "reject", places[15:])
    again = wait_delivered(COUNT + 5, one)[COUNT:]
    assert again == [(place, 2) for place in places[10:15]], again
    assert not acknowledged(one, "accept", places[10:15])
    wait_done(scene)
    one.leave()
    assert len(delivered(one)) == COUNT + 5


def share_async(scene: Scene) -> None:
    """An acknowledgement is sent without waiting, and the client tells what came of it."""
    one, places = holder(scene)
    assert not acknowledged(one, "accept", places, "async")
    wait_done(scene)
    one.leave()


def share_two_members(scene: Scene) -> None:
    """Two members have one partition, and each record goes to one of them."""
    scene.produce(COUNT)
    one, two = (scene.member(name, max_records=10) for name in ("one", "two"))

    def both() -> bool:
        scene.produce(COUNT)
        return bool(delivered(one)) and bool(delivered(two))

    wait_for(both, SECONDS, "both members to get records", every_ms=100)
    count = scene.produced[scene.topic, 0]
    got = wait_delivered(count, one, two)
    wait_done(scene)
    assert Counter(got) == Counter((Place(scene.topic, 0, offset), 1) for offset in range(count))
    one.leave()
    two.leave()


def share_renew(scene: Scene) -> None:
    """A member that renews its locks keeps its records for longer than a lock lasts."""
    scene.set_group_configs({"share.record.lock.duration.ms": LOCK_MS})
    one, places = holder(scene)
    two = scene.member("two", acknowledgement="explicit")
    began = time.monotonic()

    def renewed() -> bool:
        problems = acknowledged(one, "renew", places)
        assert not problems, problems
        return time.monotonic() - began > 2.5 * LOCK_MS / 1000

    wait_for(renewed, SECONDS, "two and a half locks to pass", every_ms=500)
    assert delivered(two) == []
    assert not acknowledged(one, "accept", places)
    wait_done(scene)
    one.leave()
    two.leave()


def share_lock_ends(scene: Scene) -> None:
    """A member is too slow: another one gets its records, and its acknowledgement is refused.

    It is stopped (SIGSTOP) meanwhile, as some clients fetch while the application holds records, and get them again.
    """
    scene.set_group_configs({"share.record.lock.duration.ms": LOCK_MS})
    one, places = holder(scene)
    one.driver.stop()
    scene.set_group_configs({"share.record.lock.duration.ms": LONG_LOCK_MS})
    two = scene.member("two", acknowledgement="explicit")
    assert wait_delivered(COUNT, two) == [(place, 2) for place in places]
    one.driver.go_on()
    problems = acknowledged(one, "accept", places)
    assert problems and set(problems) <= set(OLD_LOCK), problems
    assert not acknowledged(two, "accept", places)
    wait_done(scene)
    scene.produce(5)
    wait_delivered(2 * COUNT + 5, one, two)
    one.leave()
    two.leave()


def share_killed(scene: Scene) -> None:
    """What a killed process held is delivered again at once, not when its locks or its session end."""
    one, places = holder(scene)
    two = scene.member("two", acknowledgement="explicit")
    one.driver.kill()
    assert wait_delivered(COUNT, two, seconds=RELEASE_SECONDS) == [(place, 2) for place in places]
    assert not acknowledged(two, "accept", places)
    wait_done(scene)
    two.leave()


def share_closed(scene: Scene) -> None:
    """A member that closes sends what was acknowledged, and gives the rest back."""
    one, places = holder(scene)
    acknowledge(one, "accept", places[:5])
    one.leave()
    two = scene.member("two", acknowledgement="explicit")
    got = wait_delivered(COUNT - 5, two, seconds=RELEASE_SECONDS)
    assert got == [(place, 2) for place in places[5:]], got
    assert not acknowledged(two, "accept", places[5:])
    wait_done(scene)
    two.leave()


def share_delivery_limit(scene: Scene) -> None:
    """A record that was delivered as often as the group allows is archived."""
    scene.set_group_configs({"share.delivery.count.limit": 2})
    one, places = holder(scene)
    acknowledge(one, "accept", places[1:])
    assert not acknowledged(one, "release", places[:1])
    assert wait_delivered(COUNT + 1, one)[COUNT:] == [(places[0], 2)]
    assert not acknowledged(one, "release", places[:1])
    wait_done(scene)
    scene.produce(5)
    new = wait_delivered(COUNT + 6, one)[COUNT + 1 :]
    assert [place.offset for place, _ in new] == list(range(COUNT, COUNT + 5)), new
    one.leave()


def share_server_restarts(scene: Scene) -> None:
    """After a restart nothing that was accepted is delivered again, and all the rest is."""
    one, places = holder(scene)
    assert not acknowledged(one, "accept", places[:10])
    scene.server.kill()
    scene.server.start()
    acknowledge(one, "release", places[10:])
    two = scene.member("two", acknowledgement="implicit")
    wanted = set(places[10:])

    def got() -> set[Place]:
        return {place for place, _ in [*delivered(one)[COUNT:], *delivered(two)]}

    def all_again() -> bool:
        acknowledge(one, "accept", [place for place, _ in delivered(one)[COUNT:]])
        return got() >= wanted

    wait_for(all_again, SECONDS, "what was not accepted to be delivered again", every_ms=200)
    wait_done(scene)
    assert got() == wanted, got() - wanted
    two.leave()


def _scenario(title: str, play: object, *needs: str, partitions: int = 1, own_server: bool = False) -> Scenario:
    return Scenario(
        f"Share group: {title}",
        play,  # type: ignore[arg-type]
        needs,
        partitions=partitions,
        own_server=own_server,
        protocol=SHARE,
    )


SCENARIOS = (
    _scenario("records are accepted by the next poll", share_implicit, partitions=2),
    _scenario("accept, release, reject", share_explicit),
    _scenario("acknowledged without waiting", share_async),
    _scenario("two members, one partition", share_two_members),
    _scenario("locks are renewed", share_renew, "renew"),
    _scenario("a lock ends", share_lock_ends),
    _scenario("a process is killed", share_killed),
    _scenario("a member closes", share_closed),
    _scenario("delivered too often", share_delivery_limit),
    _scenario("the server is killed and restarts", share_server_restarts, own_server=True),
)
