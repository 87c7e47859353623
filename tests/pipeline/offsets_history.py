"""A history of real consumers on a real Kafka, and what they said themselves."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.e2e.members import Member, steady
from tests.pipeline.rdkafka_member import RdkafkaMember
from tests.waiting import wait_for

CLASSIC: Final = "classic"
MODERN: Final = "modern"
SESSION_MS: Final = 1_500
KAFKA_SETTINGS: Final = {
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
}
"""So that a session expires, and a member hears of a rebalance, soon."""


@dataclass
class Said:
    """What the clients told. `generations`: generation → member id → partitions ("topic/index")."""

    generations: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    static_ids: list[str] = field(default_factory=list)
    killed_id: str = ""
    modern: list[dict[str, list[str]]] = field(default_factory=list)
    """Who held what in the consumer group, each time that all had come to rest."""


def play(folder: Path, bootstrap: str, with_modern: bool = True) -> Said:
    """Play the history; all consumers are gone and the groups are deleted in the end."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic("orders", 4, 1), NewTopic("payments", 2, 1)])
    said = Said()
    try:
        with ExitStack() as stack:
            _play_classic(stack, folder, bootstrap, said)
        if with_modern:
            with ExitStack() as stack:
                _play_modern(stack, folder, bootstrap, said)
        for group_id in (CLASSIC, MODERN) if with_modern else (CLASSIC,):
            wait_for(lambda name=group_id: _is_deleted(admin, name), 20, f"group {group_id} to be deletable")  # type: ignore[misc]
    finally:
        admin.close()
    return said


def _is_deleted(admin: KafkaAdminClient, group_id: str) -> bool:
    """A group is deleted as soon as its last static member's session has expired."""
    return bool(admin.delete_groups([group_id])[group_id] == "OK")


def _play_classic(stack: ExitStack, folder: Path, bootstrap: str, said: Said) -> None:
    """Join, scale, a polite leave, a static restart, a kill, another subscription."""
    a = Member(bootstrap, "orders", CLASSIC, client_id="a", session_ms=SESSION_MS)
    stack.callback(a.stop)
    _note(said, [a])
    b = Member(bootstrap, "orders", CLASSIC, client_id="b", session_ms=SESSION_MS)
    stack.callback(b.stop)
    _note(said, [a, b])
    a.stop()
    _note(said, [b])
    for _ in range(2):
        static = Member(bootstrap, "orders", CLASSIC, client_id="s", instance_id="till-1", session_ms=SESSION_MS)
        stack.callback(static.stop)
        _note(said, [b, static])
        said.static_ids.append(_member_id(static))
        static.stop()
    settings = {"client.id": "k", "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 100}
    killed = stack.enter_context(RdkafkaMember(folder, bootstrap, CLASSIC, ["orders"], **settings))
    said.killed_id = killed.holds(2)["member_id"]
    killed.kill()
    _note(said, [b])
    settings["client.id"] = "w"
    wide = stack.enter_context(RdkafkaMember(folder, bootstrap, CLASSIC, ["orders"], **settings))
    wide.holds(2)
    wide.subscribe(["orders", "payments"])
    wide.holds(4)
    wide.close()
    b.stop()


def _note(said: Said, members: list[Member]) -> None:
    generation_id = steady(members, 4, f"{len(members)} members to share the partitions")
    held = {
        _member_id(member): sorted(f"orders/{index}" for index in member.membership.partitions)
        for member in members
        if member.membership
    }
    said.generations[generation_id] = held


def _member_id(member: Member) -> str:
    return str(member._consumer.group_metadata().member_id)


def _play_modern(stack: ExitStack, folder: Path, bootstrap: str, said: Said) -> None:
    """Members of KIP-848: join, scale, another subscription, a static restart, a kill, the last one leaves."""

    def member(name: str, **more: Any) -> RdkafkaMember:
        settings = {"client.id": name, "group.protocol": "consumer", **more}
        return stack.enter_context(RdkafkaMember(folder, bootstrap, MODERN, ["orders"], **settings))

    def note(**held: tuple[RdkafkaMember, int]) -> None:
        found = [one.holds(count) for one, count in held.values()]
        said.modern.append({each["member_id"]: each["partitions"] for each in found})

    x = member("x")
    note(x=(x, 4))
    y = member("y")
    note(x=(x, 2), y=(y, 2))
    x.subscribe(["orders", "payments"])
    note(x=(x, 3), y=(y, 3))
    y.kill()
    note(x=(x, 6))
    z = member("z", **{"group.instance.id": "till-2"})
    note(x=(x, 3), z=(z, 3))
    z.close()
    again = member("z2", **{"group.instance.id": "till-2"})
    note(x=(x, 3), z=(again, 3))
    x.close()
    note(z=(again, 4))
    again.close()
