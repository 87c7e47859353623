"""Polls all groups of a Kafka again and again over one set of connections, in slices. DESCRIBE is all it needs."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from time import monotonic
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import Cluster
from coordinator.client.group_description import (
    GROUPS_AT_ONCE,
    DescribedGroup,
    ListedGroup,
    add_lags,
    listed_groups,
    without_lags,
)
from coordinator.client.group_members import OTHER_TYPES, SHARE, GroupMembers, group_members, other_members
from coordinator.client.groups import DEAD, ErrorAnswer
from coordinator.client.share_offsets import add_share_lags
from coordinator.client.wire import ClientError, WireConnection
from coordinator.explain.generation import CLASSIC
from coordinator.observe.errors import DESCRIBE_CLUSTER
from coordinator.observe.poll import CLIENT_ID, GROUPS_MAX, PresentGroup, listed_group, present_group, wall_clock_ms
from coordinator.printable import printable

ANSWER_SECONDS: Final = 10
"""How long an answer is waited for."""
GONE_ASKED_MAX: Final = 50
"""Groups that are no longer listed, and are asked for one by one in one poll; the others are in the next one."""


class PolledGroup(msgspec.Struct, frozen=True):
    """A group as a poll found it. `absent_ms` is when the poll before began, if that found no such group."""

    group: PresentGroup
    absent_ms: int | None = None


class Polled(msgspec.Struct):
    """A slice of a poll: groups of one broker, which were asked for at `asked_at` (seconds of the poller's clock)."""

    groups: list[PolledGroup]
    asked_at: float


class PollEnd(msgspec.Struct):
    """The end of a poll that began at `time_ms`. `gone` are groups that were there before, and are not any more.

    `listed` are all groups that are there, both with their types. `left_out` counts those beyond the most that are
    described. `missing`: right → of what it is missing; without it something is not told.
    """

    time_ms: int
    asked_at: float
    listed: Mapping[str, str]
    gone: Mapping[str, str]
    left_out: int
    missing: dict[str, str]


class GroupPoller:
    """`poll` as often as wanted; `close` when it is not any more. After a ClientError it connects again."""

    def __init__(
        self,
        server: Server,
        selected: Container[str] | None = None,
        *,
        now_ms: Callable[[], int] = wall_clock_ms,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`selected` None: all groups."""
        self._server, self._selected, self._now_ms, self._clock = server, selected, now_ms, clock
        self._cluster: Cluster | None = None
        self._listed: dict[str, str] | None = None
        """The groups of the last whole poll, with their types; None: there was none."""
        self._began_ms = 0
        """When it began."""
        self._hidden: set[str] = set()
        """Groups that may not be described."""
        self._offsets_hidden: set[str] = set()
        self.requests = 0
        """That were sent since it was made."""

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def poll(self) -> Iterator[Polled | PollEnd]:
        """All groups, GROUPS_AT_ONCE of each broker at a time. The caller may pause between slices.

        Raises:
            ClientError: a broker cannot be reached, or does not answer: the poll is not whole.
        """
        try:
            if self._cluster is None:
                self._cluster = Cluster(self._server, CLIENT_ID, ANSWER_SECONDS)
            sent = self._cluster.requests
            try:
                yield from self._poll(self._cluster)
            finally:
                self.requests += self._cluster.requests - sent
        except ClientError:
            self.close()
            raise

    def _poll(self, cluster: Cluster) -> Iterator[Polled | PollEnd]:
        began_ms, asked_at = self._now_ms(), self._clock()
        is_listed = True
        found: dict[str, str] = {}
        left_out = 0
        self._hidden, self._offsets_hidden = set(), set()
        for broker_id, broker in cluster.brokers_by_id().items():
            try:
                listed = listed_groups(broker)
            except ErrorAnswer as problem:
                if problem.error != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                    raise
                is_listed = False
                continue
            own = [key for key in listed if self._selected is None or key.group_id in self._selected]
            room = max(0, GROUPS_MAX - len(found))
            left_out += max(0, len(own) - room)
            found.update((partition.group_id, partition.group_type) for partition in own)
            for part in _slices(sorted(own, key=_by_type)[:room]):
                asked_of_part = self._clock()
                yield Polled(self._described(cluster, broker, broker_id, part), asked_of_part)
        missed = {group_id: kind for group_id, kind in (self._listed or {}).items() if group_id not in found}
        asked = sorted(missed)[:GONE_ASKED_MAX] if is_listed else []
        gone = {group_id: missed.pop(group_id) for group_id in asked if self._is_gone(cluster, group_id)}
        self._listed, self._began_ms = found | missed, began_ms
        missing = self._missing(cluster) | ({} if is_listed else {DESCRIBE_CLUSTER: "no group is listed"})
        yield PollEnd(began_ms, asked_at, self._listed, gone, left_out, missing)

    def _described(
        self, cluster: Cluster, broker: WireConnection, broker_id: int, part: Sequence[ListedGroup]
    ) -> list[PolledGroup]:
        """Groups of one type."""
        ids, group_type = [group.group_id for group in part], part[0].group_type
        members = (
            other_members(broker, group_type, ids)
            if group_type in OTHER_TYPES
            else group_members(broker, ids, are_classic=group_type == CLASSIC)
        )
        at_ms = self._now_ms()
        described = [
            without_lags(member) for member in members.values() if not member.error_code and not member.is_missing
        ]
        self._hidden.update(member.group_id for member in members.values() if _is_refused(member))
        if described:
            self._add_lags(cluster, broker, group_type, described)
        by_id = {group.group_id: present_group(group, at_ms, broker_id) for group in described}
        return [
            PolledGroup(
                by_id.get(group.group_id) or listed_group(group, at_ms, broker_id),
                None if self._listed is None or group.group_id in self._listed else self._began_ms,
            )
            for group in part
        ]

    def _add_lags(
        self, cluster: Cluster, broker: WireConnection, group_type: str, groups: Sequence[DescribedGroup]
    ) -> None:
        if group_type == SHARE:
            errors = add_share_lags(broker, groups)
        else:
            _, errors = add_lags(cluster, broker, groups)
        refused = (group_id for group_id, error in errors.items() if error == ErrorCode.GROUP_AUTHORIZATION_FAILED)
        self._offsets_hidden.update(refused)

    def _is_gone(self, cluster: Cluster, group_id: str) -> bool:
        """Whether its coordinator says that there is no such group: a list may lack it, as while it moves."""
        try:
            coordinator = cluster.coordinator(group_id)
        except ErrorAnswer as problem:
            if problem.error == ErrorCode.GROUP_AUTHORIZATION_FAILED:
                self._hidden.add(group_id)
            return False
        (group,) = coordinator.send_latest(DescribeGroupsRequest(groups=[group_id])).groups
        if group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self._hidden.add(group_id)
        is_dead = not group.error_code and group.group_state == DEAD
        return bool(is_dead or group.error_code == ErrorCode.GROUP_ID_NOT_FOUND)

    def _missing(self, cluster: Cluster) -> dict[str, str]:
        found = {
            "DESCRIBE on the group": self._hidden,
            "DESCRIBE on the group, for its offsets": self._offsets_hidden - self._hidden,
            "DESCRIBE on the topic": cluster.hidden_topics,
        }
        return {right: _named(names) for right, names in found.items() if names}


def _named(names: set[str]) -> str:
    """In one line, whatever their number."""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{printable(min(names))}{more}"


def _is_refused(group: GroupMembers) -> bool:
    return group.error_code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _by_type(group: ListedGroup) -> tuple[str, str]:
    return group.group_type, group.group_id


def _slices(groups: Sequence[ListedGroup]) -> Iterator[Sequence[ListedGroup]]:
    """Each of groups that one API describes."""
    start = 0
    while start < len(groups):
        end = start + 1
        group_type = groups[start].group_type
        while end < len(groups) and end - start < GROUPS_AT_ONCE and groups[end].group_type == group_type:
            end += 1
        yield groups[start:end]
        start = end
