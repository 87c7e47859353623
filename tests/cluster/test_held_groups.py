"""Groups that the nodes are to coordinate and that have members at the cluster: what is told of them, and when."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribedGroupMember
from coordinator.audit.schema import MEMBERS_NAMED_MAX, GroupHeldByCluster
from coordinator.cluster import held_groups
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.held_groups import DESCRIBED_MAX, IN_USE, LOOKED_AT_MAX, NAMED_CHARACTERS_MAX, HeldGroups
from coordinator.cluster.log.notes import Notes, Owner
from coordinator.cluster.sentinels.described import DescribedGroup
from coordinator.core.stored import StoredRecord
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps

NODES_GROUP = "the-nodes"


def member(client_id: str, number: int = 0, host: str = "/10.0.0.1") -> DescribedGroupMember:
    return DescribedGroupMember(member_id=f"{client_id}-{number}", client_id=client_id, client_host=host)


class World:
    """One partition that a node leads, and a cluster whose groups have the members that `at_cluster` says."""

    def __init__(self) -> None:
        self.at_cluster: dict[str, DescribedGroup | ErrorCode] = {}
        self.described: list[str] = []
        self.asked_states: Sequence[str] = ()
        self.cluster_answers = True
        self.log_refuses = False
        self.log_waits = False
        self.appends: list[Callable[[], None]] = []
        """What the log has not appended yet, while it waits."""
        self.owned: set[str] = set()
        self.sentinels: set[str] = set()
        self.not_adopted: set[str] = set()
        self.now_ms = 1_000
        self.steps: list[tuple[str, Any]] = []
        """Events and notes, in the order in which they were asked for."""
        self.notes = Notes()
        self.shard = SimpleNamespace(partition=0, is_active=True)
        self.node = self.new_node()

    def new_node(self, node_id: int = 1) -> HeldGroups:
        coordinator: Any = SimpleNamespace(
            shards=[self.shard],
            shard_of=lambda group_id: self.shard,
            partition_of=lambda group_id: 0,
            write_about_coordinator=lambda shard, event: self.steps.append(("event", event)),
        )
        ownership: Any = SimpleNamespace(
            is_owned=lambda group_id: group_id in self.owned,
            is_adopted=lambda group_id: group_id not in self.not_adopted,
            notes_of=lambda partition: self.notes,
            leave_note=self._leave_note,
        )
        sentinels: Any = SimpleNamespace(
            get=lambda group_id: "there" if group_id in self.sentinels else None, describe=self._describe
        )
        self.node = HeldGroups(
            coordinator,
            ownership,
            sentinels,
            self._list_groups,
            Owner(node_id=node_id, coordinator_epoch=7),
            nodes_group_id=NODES_GROUP,
            wall_ms=lambda: self.now_ms,
        )
        return self.node

    async def _list_groups(self, states: Sequence[str]) -> list[str]:
        self.asked_states = states
        if not self.cluster_answers:
            raise BrokerError("no broker answers")
        return [group_id for group_id in self.at_cluster if self.at_cluster[group_id] != DescribedGroup("Empty", [])]

    def _describe(self, group_id: str) -> Steps[DescribedGroup | ErrorCode]:
        self.described.append(group_id)
        yield
        return self.at_cluster.get(group_id, DescribedGroup("Dead", []))

    def _leave_note(self, group_id: str, record: StoredRecord, completed: Callable[[StoreError | None], None]) -> None:
        def append() -> None:
            if not self.log_refuses:
                self.notes.apply(*record)
                self.steps.append(("note", record[1] is not None))
            completed(StoreError("fenced") if self.log_refuses else None)

        if self.log_waits:
            self.appends.append(append)
        else:
            append()

    def join(self, group_id: str, *members: DescribedGroupMember) -> None:
        self.at_cluster[group_id] = DescribedGroup("Stable", list(members))

    def empty(self, group_id: str) -> None:
        self.at_cluster[group_id] = DescribedGroup("Empty", [])

    def check(self, times: int = 1) -> None:
        for _ in range(times):
            asyncio.run(completed(self.node.check()))

    def pop_events(self) -> list[GroupHeldByCluster]:
        events = [step for kind, step in self.steps if kind == "event"]
        self.steps.clear()
        return events

    def told(self) -> list[tuple[list[str], int, bool]]:
        """Of each event since the last call: the clients that it names, how many it does not name, and `is_owned`."""
        return [
            ([member.client_id for member in event.members], event.unnamed_members, event.is_owned)
            for event in self.pop_events()
        ]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def world() -> World:
    return World()


def test_the_members_of_an_adopted_group_at_the_cluster_are_told_once(world: World) -> None:
    world.join("web", member("a"), member("b"))
    world.check(3)
    (event,) = world.pop_events()
    assert (event.group_id, event.node_id, event.coordinator_epoch, event.since_ms) == ("web", 1, 7, 1_000)
    hosts = {member.member_id: member.client_host for member in event.members}
    assert hosts == {"a-0": "/10.0.0.1", "b-0": "/10.0.0.1"}
    assert world.asked_states == IN_USE


def test_the_note_is_stored_before_the_event(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    assert [kind for kind, _ in world.steps] == ["note", "event"]
    assert set(world.notes.held) == {"web"}


def test_an_event_whose_note_was_not_stored_is_told_by_the_next_check(world: World) -> None:
    world.join("web", member("a"))
    world.log_refuses = True
    world.check()
    assert world.told() == []
    world.log_refuses = False
    world.check()
    assert world.told() == [(["a"], 0, False)]


def test_another_client_is_told_and_another_member_id_is_not(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    world.join("web", member("a", number=1))
    world.check()
    world.now_ms = 9_000
    world.join("web", member("a", number=1), member("b"))
    world.check()
    first, second = world.pop_events()
    assert [[member.client_id for member in event.members] for event in (first, second)] == [["a"], ["a", "b"]]
    assert second.since_ms == 1_000


def test_that_it_is_over_is_told_once_and_then_the_note_goes(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    world.steps.clear()
    world.empty("web")
    world.check()
    assert [kind for kind, _ in world.steps] == ["event"], "the note stays until the event is stored"
    assert world.told() == [([], 0, False)]
    world.check(3)
    assert world.steps == [("note", False)]
    assert not world.notes.held


def test_a_group_is_not_looked_at_while_its_note_is_being_stored(world: World) -> None:
    """Members that come again meanwhile would be told without a note."""
    world.join("web", member("a"))
    world.check()
    world.empty("web")
    world.check()
    world.log_waits = True

    async def come_again() -> None:
        checking = asyncio.ensure_future(completed(world.node.check()))
        await settled()
        world.join("web", member("a"))
        world.node.asked_for("web")
        await settled()
        (append,) = world.appends
        world.log_waits = False
        append()
        await checking

    asyncio.run(come_again())
    world.check()
    assert [clients for clients, _, _ in world.told()] == [["a"], [], ["a"]]
    assert set(world.notes.held) == {"web"}


def test_a_group_that_is_held_again_is_told_again(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    world.empty("web")
    world.check()
    world.join("web", member("a"))
    world.check()
    assert [clients for clients, _, _ in world.told()] == [["a"], [], ["a"]]


def test_a_group_whose_rule_is_gone_belongs_at_the_cluster(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    world.not_adopted.add("web")
    world.check()
    assert [clients for clients, _, _ in world.told()] == [["a"], []]


def test_members_at_both_places(world: World) -> None:
    world.owned.add("web")
    world.sentinels.add("web")
    world.join("web", member("a"))
    world.check()
    assert world.described == [], "nobody can join beside a sentinel"
    world.sentinels.clear()
    world.check()
    assert world.told() == [(["a"], 0, True)]
    world.sentinels.add("web")
    world.check()
    assert world.told() == [([], 0, True)]


@pytest.mark.parametrize("group_id", [NODES_GROUP, "kept"])
def test_groups_that_belong_at_the_cluster_are_not_told(world: World, group_id: str) -> None:
    world.not_adopted.add("kept")
    world.join(group_id, member("a"))
    world.check()
    assert world.described == []


def test_a_partition_that_another_node_leads_is_not_looked_at(world: World) -> None:
    world.join("web", member("a"))
    world.shard.is_active = False
    world.check()
    assert world.described == []


def test_a_partition_that_was_lost_meanwhile_is_not_told_of(world: World) -> None:
    world.join("web", member("a"))

    async def look() -> None:
        world.node.asked_for("web")
        await asyncio.sleep(0)
        assert world.described == ["web"]
        world.shard.is_active = False
        await settled()

    asyncio.run(look())
    assert world.steps == []


def test_the_next_node_tells_it_again_and_when_it_is_over(world: World) -> None:
    world.join("web", member("a"))
    world.join("gone", member("a"))
    world.check()
    world.steps.clear()
    world.empty("gone")
    world.now_ms = 9_000
    world.new_node(node_id=2)
    world.check()
    assert [(pop_event.group_id, pop_event.member_count, pop_event.since_ms) for pop_event in world.pop_events()] == [
        ("gone", 0, 1_000),
        ("web", 1, 1_000),
    ]


def test_a_node_that_leads_the_partition_again_tells_it_again(world: World) -> None:
    world.join("web", member("a"))
    world.check()
    shard: Any = world.shard
    world.node.loaded(shard)
    world.check()
    assert len(world.told()) == 2


@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_what_is_not_known_is_not_told(world: World, error: ErrorCode) -> None:
    world.join("web", member("a"))
    world.check()
    world.at_cluster["web"] = error
    world.check()
    assert len(world.told()) == 1


def test_a_cluster_that_does_not_answer_is_asked_by_the_next_check(world: World) -> None:
    world.join("web", member("a"))
    world.cluster_answers = False
    world.check()
    assert world.described == []
    world.cluster_answers = True
    world.check()
    assert len(world.told()) == 1


def test_all_groups_have_their_turn(world: World) -> None:
    count = DESCRIBED_MAX * 2 + 1
    for number in range(count):
        world.join(f"g{number:04}", member("a"))
    world.check()
    assert len(world.described) == DESCRIBED_MAX
    world.check(2)
    assert len(set(world.described)) == count


def test_a_member_that_joins_an_empty_group_is_counted(world: World) -> None:
    world.at_cluster["web"] = DescribedGroup("PreparingRebalance", [], unnamed_members=1)
    world.check()
    assert world.told() == [([], 1, False)]


def test_an_event_names_a_bounded_number_of_members(world: World) -> None:
    world.join("web", *(member("a", number) for number in range(MEMBERS_NAMED_MAX + 5)))
    world.join("wide", *(member("a" * (NAMED_CHARACTERS_MAX // 4), number) for number in range(5)))
    world.check()
    web, wide = world.pop_events()
    assert (len(web.members), web.member_count) == (MEMBERS_NAMED_MAX, MEMBERS_NAMED_MAX + 5)
    assert (len(wide.members), wide.member_count) == (1, 5)


def test_clients_are_named_in_the_log(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    logger = SimpleNamespace(
        warning=lambda text, **fields: lines.append((text, fields)), info=lambda text, **fields: None
    )
    monkeypatch.setattr(held_groups, "logger", logger)
    world.owned.add("both")
    world.join("both", member("a\n"))
    world.join("web", *(member(f"c{number}") for number in range(7)))
    world.at_cluster["webs"] = DescribedGroup("Stable", [member("d")], group_type="consumer")
    world.check(2)
    (both, both_fields), (web, web_fields), (webs, _) = lines
    assert both.startswith("group has members at the cluster, and the nodes own it, too")
    assert both_fields == {"group": "both", "members": r"'a\n /10.0.0.1'"}
    until = "group stays with the cluster until its members there have left: set their "
    assert web == f"{until}bootstrap.servers to the nodes"
    assert webs == web, "whatever the protocol of the group"
    assert web_fields["members"].startswith("c0 /10.0.0.1, c1")
    assert web_fields["members"].endswith("c4 /10.0.0.1 and 2 more")


# ---- when a node is asked for the group


def asked_for(world: World, *group_ids: str) -> None:
    async def ask() -> None:
        for group_id in group_ids:
            world.node.asked_for(group_id)
            await asyncio.sleep(0)
        await settled()

    asyncio.run(ask())


def test_a_group_that_a_node_was_asked_for_is_looked_at_at_once(world: World) -> None:
    world.join("web", member("a"))
    asked_for(world, "web", "web", "web", "web", "web")
    assert world.told() == [(["a"], 0, False)]
    assert world.described == ["web"]


def test_a_bounded_number_of_groups_is_looked_at_together(world: World) -> None:
    async def ask() -> None:
        for number in range(LOOKED_AT_MAX + 9):
            world.node.asked_for(f"g{number}")
        await settled()

    asyncio.run(ask())
    assert len(world.described) == LOOKED_AT_MAX
