"""Groups that a rule adopts, or that the nodes own, and that have members at the cluster: for the audit and the log.

A rule adopts such a group, and it stays with the cluster; or the nodes own it, and somebody has removed its sentinel
from the cluster, so that clients could join there, too. It is looked at when a node is asked for it, and every
`CHECK_SECONDS`, as clients that go to the brokers directly ask no node.
"""

from bisect import bisect_right
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final
from zlib import crc32

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribedGroupMember
from coordinator.audit.schema import MEMBERS_NAMED_MAX, GroupHeldByCluster, MemberRef
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks, completed
from coordinator.cluster.groups.shards import report_held
from coordinator.cluster.log.notes import Owner, Since, held_record
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.sentinels.described import DescribedGroup
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.logger import logger
from coordinator.printable import printable
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import Shard
from coordinator.runtime.slices import Steps, awaited

CHECK_SECONDS: Final = 60
DESCRIBED_MAX: Final = 100
"""How many groups a check looks at, one or two requests each. The next check goes on with those that come then."""
LOOKED_AT_MAX: Final = 16
"""How many groups are looked at together; what is left out is looked at by a check."""
LISTED_PER_STEP: Final = 1_000
"""Listed groups that are gone through before other requests have a turn: some ms."""
NAMED_CHARACTERS_MAX: Final = 100_000
"""Of the names of the members in an event. A client id alone may have 32,767, and a record has to fit into a batch."""
CLIENTS_LOGGED: Final = 5
CLIENT_CHARACTERS_LOGGED: Final = 100
IN_USE: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Stable")
"""The states of a group that has members, of the classic protocol and of the consumer protocol (KIP-848)."""
NOBODY: Final = DescribedGroup("", [])


class HeldGroups:
    """Those of the partitions that this node leads."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        ownership: GroupOwnership,
        sentinels: Sentinels,
        list_groups: Callable[[Sequence[str]], Coroutine[Any, Any, list[str]]],
        owner: Owner,
        *,
        nodes_group_id: str,
        wall_ms: Callable[[], int],
    ) -> None:
        """`list_groups` lists the groups at the cluster that are in some states. The group of the nodes themselves
        stays there, whatever the rules say."""
        self._coordinator = coordinator
        self._ownership = ownership
        self._sentinels = sentinels
        self._list_groups = list_groups
        self._owner = owner
        self._nodes_group_id = nodes_group_id
        self._wall_ms = wall_ms
        self._reported: dict[str, int | None] = {}
        """Group → a digest of what this node has told of it; None: that nobody is in it at the cluster any more."""
        self._looking: set[str] = set()
        self._looked_at_last = ""
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.every(CHECK_SECONDS, lambda: completed(self.check()))

    def stop(self) -> None:
        self._tasks.cancel()

    def loaded(self, shard: Shard[Any]) -> None:
        """Another node may have led the partition meanwhile, so what it shall tell of its groups is told again."""
        partition_of = self._coordinator.partition_of
        for group_id in [reported_id for reported_id in self._reported if partition_of(reported_id) == shard.partition]:
            del self._reported[group_id]

    def asked_for(self, group_id: str) -> None:
        """A node was asked for a group that has members at the cluster: look at it, unless that is known."""
        is_new = self._reported.get(group_id) is None and group_id not in self._looking
        if is_new and len(self._looking) < LOOKED_AT_MAX:
            self._looking.add(group_id)
            self._tasks.start(completed(self._look(group_id)))

    # ---- looking

    def check(self) -> Steps[None]:
        """Look at the next groups of those that may have members at the cluster, or had some."""
        try:
            in_use = yield from self._tasks.steps(partial(self._list_groups, IN_USE))
        except BrokerError as problem:
            logger.warning("the groups of the cluster are not known now", problem=str(problem))
            return
        found = {group_id for shard in self._active_shards() for group_id in self._noted(shard)}
        for position, group_id in enumerate(in_use, 1):
            if self._may_be_held(group_id):
                found.add(group_id)
            if position % LISTED_PER_STEP == 0:
                yield
        groups = sorted(found)
        first = bisect_right(groups, self._looked_at_last)
        for group_id in (groups[first:] + groups[:first])[:DESCRIBED_MAX]:
            self._looked_at_last = group_id
            if group_id not in self._looking:
                self._looking.add(group_id)
                yield from self._look(group_id)

    def _look(self, group_id: str) -> Steps[None]:
        """Look who is in a group at the cluster, and tell what has changed."""
        try:
            found = (yield from self._sentinels.describe(group_id)) if self._may_be_held(group_id) else NOBODY
            if not isinstance(found, ErrorCode) and self._coordinator.shard_of(group_id).is_active:
                yield from self._found(group_id, found)
        finally:
            self._looking.discard(group_id)

    def _active_shards(self) -> list[Shard[Any]]:
        return [shard for shard in self._coordinator.shards if shard.is_active]

    def _noted(self, shard: Shard[Any]) -> dict[str, Since]:
        return self._ownership.notes_of(shard.partition).held

    def _may_be_held(self, group_id: str) -> bool:
        """Whether members of the group at the cluster would be at the wrong place, and it is this node's to tell."""
        if group_id == self._nodes_group_id or not self._coordinator.shard_of(group_id).is_active:
            return False
        if self._ownership.is_owned(group_id):
            return self._sentinels.get(group_id) is None
        return self._ownership.is_adopted(group_id)

    # ---- telling

    def _found(self, group_id: str, found: DescribedGroup) -> Steps[None]:
        noted = self._noted(self._coordinator.shard_of(group_id)).get(group_id)
        if found.has_members:
            yield from self._report(group_id, found, noted)
        elif noted is None:
            self._reported.pop(group_id, None)
        elif group_id in self._reported and self._reported[group_id] is None:
            # Not together with the event that says so: if that is lost with the node, the next one finds the note.
            del self._reported[group_id]
            yield from self._leave_note(group_id, None)
        else:
            self._reported[group_id] = None
            logger.info("group has no members at the cluster any more", group=group_id)
            report_held(self._coordinator, self._event(group_id, found, noted))

    def _report(self, group_id: str, found: DescribedGroup, noted: Since | None) -> Steps[None]:
        since = noted or Since(since_ms=self._wall_ms())
        event = self._event(group_id, found, since)
        reported = _digest(found, event.is_owned)
        if self._reported.get(group_id) == reported:
            return
        self._reported[group_id] = reported
        _log(event)
        # The note comes first: who leads the partition next must know that the audit may say so.
        if noted is not None or (yield from self._leave_note(group_id, since)):
            report_held(self._coordinator, event)
        else:
            self._reported.pop(group_id, None)

    def _leave_note(self, group_id: str, since: Since | None) -> Steps[bool]:
        """Returns whether it is stored."""
        problem: StoreError | None
        problem = yield from awaited(partial(self._ownership.leave_note, group_id, held_record(group_id, since)))
        return problem is None

    def _event(self, group_id: str, found: DescribedGroup, since: Since) -> GroupHeldByCluster:
        named = _named(found.members)
        return GroupHeldByCluster(
            time_ms=0,
            node_id=self._owner.node_id,
            coordinator_epoch=self._owner.coordinator_epoch,
            group_id=group_id,
            members=named,
            unnamed_members=len(found.members) - len(named) + found.unnamed_members,
            group_type=found.group_type,
            is_owned=self._ownership.is_owned(group_id),
            since_ms=since.since_ms,
        )


def _digest(found: DescribedGroup, is_owned: bool) -> int:
    """Of whose members they are, not of member ids: a client that joins again has a new one."""
    clients = sorted((member.client_id, member.client_host) for member in found.members)
    return crc32(repr((is_owned, found.unnamed_members, clients)).encode())


def _named(members: Sequence[DescribedGroupMember]) -> list[MemberRef]:
    """As many as an event names."""
    named: list[MemberRef] = []
    characters = 0
    for described in members[:MEMBERS_NAMED_MAX]:
        member = MemberRef(described.member_id, described.client_id, described.client_host, described.group_instance_id)
        names = described.member_id, described.client_id, described.client_host, described.group_instance_id or ""
        characters += sum(map(len, names))
        if characters > NAMED_CHARACTERS_MAX:
            break
        named.append(member)
    return named


def _log(event: GroupHeldByCluster) -> None:
    clients = [
        printable(f"{member.client_id} {member.client_host}"[:CLIENT_CHARACTERS_LOGGED])
        for member in event.members[:CLIENTS_LOGGED]
    ]
    more = event.member_count - len(clients)
    logger.warning(
        "group has members at the cluster, and the nodes own it, too: stop these clients, and set their"
        " bootstrap.servers to the nodes"
        if event.is_owned
        else "group stays with the cluster until its members there have left: set their bootstrap.servers to the nodes",
        group=event.group_id,
        members=", ".join(clients) + (f" and {more} more" if more else ""),
    )
