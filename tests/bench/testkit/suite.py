"""Ten small tests of a rebalance, in nothing but requests, so that any server can be asked."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Self

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.leave_group import LeaveGroupRequest
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.client.wire import ClientError
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

SESSION_SECONDS: Final = 6
"""The shortest session that Kafka and kfake allow by default; also the rebalance timeout of the tests."""
WAIT_SECONDS: Final = 15
STATIC_SINCE: Final = 5
"""The version of JoinGroup."""
NOT_LOADED: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Running(NamedTuple):
    """A server that serves. Without `advance`, time has to pass."""

    bootstrap: str
    advance: Callable[[float], object] | None = None


class WireMember:
    """A member of a group, in nothing but its requests."""

    def __init__(self, server: Running, group_id: str, instance_id: str | None = None) -> None:
        self.client = WireClient(server.bootstrap)
        self.client.socket.settimeout(WAIT_SECONDS)
        self._group_id, self._instance_id = group_id, instance_id
        self.member_id, self.generation = "", -1
        self.is_leader = False
        self._members: list[str] = []
        self._sent: Any = None

    def begin_join(self) -> Self:
        request = join_request(
            self._group_id, self.member_id, instance_id=self._instance_id, timeout_ms=SESSION_SECONDS * 1000
        )
        self._sent = self.client.send(request, STATIC_SINCE if self._instance_id else STATIC_SINCE - 2)
        return self

    def end_join(self) -> int:
        """The error."""
        joined = self.client.receive(self._sent)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        self.is_leader = joined.leader == joined.member_id
        self._members = [member.member_id for member in joined.members]
        return int(joined.error_code)

    def begin_sync(self) -> None:
        shares = [SyncGroupRequestAssignment(member_id=member, assignment=member.encode()) for member in self._members]
        request = SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
            assignments=shares if self.is_leader else [],
        )
        self._sent = self.client.send(request, 3)

    def end_sync(self) -> None:
        synced = self.client.receive(self._sent)
        assert synced.error_code == ErrorCode.NONE, f"SyncGroup was answered {synced.error_code}"

    def heartbeat(self, generation: int | None = None) -> int:
        request = HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self.generation if generation is None else generation,
            member_id=self.member_id,
            group_instance_id=self._instance_id,
        )
        return int(self.client.request(request, 3).error_code)

    def leave(self) -> None:
        answer = self.client.request(LeaveGroupRequest(group_id=self._group_id, member_id=self.member_id), 1)
        assert answer.error_code == ErrorCode.NONE, f"LeaveGroup was answered {answer.error_code}"

    def wait_for_error(self, error: int) -> None:
        wait_for(lambda: self.heartbeat() == error, WAIT_SECONDS, f"a heartbeat to be answered {error}", every_ms=5)

    def crash(self) -> None:
        self.client.socket.close()


class Group:
    """One test's group. Leaving its context closes all connections."""

    def __init__(self, server: Running, group_id: str) -> None:
        self.server, self.id = server, group_id
        self._all: list[WireMember] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        for member in self._all:
            member.crash()

    def member(self, instance_id: str | None = None) -> WireMember:
        self._all.append(WireMember(self.server, self.id, instance_id))
        return self._all[-1]

    def alone(self) -> WireMember:
        member = self.member()

        def joined() -> bool:
            error = member.begin_join().end_join()
            assert error in (ErrorCode.NONE, *NOT_LOADED), f"JoinGroup was answered {error}"
            return error == ErrorCode.NONE

        wait_for(joined, WAIT_SECONDS, "the coordinator of the group")
        sync(member)
        return member

    def pair(self, instance_id: str | None = None) -> tuple[WireMember, WireMember]:
        """Two in one generation, of which the first leads; the second may be static."""
        first, second = self.alone(), self.member(instance_id).begin_join()
        rejoin(first, second)
        return first, second

    def pass_session(self) -> None:
        if self.server.advance is not None:
            self.server.advance(SESSION_SECONDS)


def sync(*members: WireMember) -> None:
    """The followers first: librdkafka's mock knows no assignment for one that asks after the leader."""
    for member in sorted(members, key=lambda one: one.is_leader):
        member.begin_sync()
    for member in members:
        member.end_sync()


def rejoin(member: WireMember, *joining: WireMember) -> None:
    """The member learns of the rebalance and takes part in it, with those that have begun to join."""
    member.wait_for_error(ErrorCode.REBALANCE_IN_PROGRESS)
    member.begin_join()
    for each in (member, *joining):
        assert each.end_join() == ErrorCode.NONE
    sync(member, *joining)


def a_member_joins(group: Group) -> None:
    member = group.alone()
    assert (member.is_leader, member.heartbeat()) == (True, ErrorCode.NONE)


def a_second_member_joins(group: Group) -> None:
    first = group.alone()
    next_generation = first.generation + 1
    second = group.member().begin_join()
    rejoin(first, second)
    assert (first.generation, second.generation, second.is_leader) == (next_generation, next_generation, False)


def a_follower_leaves(group: Group) -> None:
    first, second = group.pair()
    second.leave()
    rejoin(first)
    assert (first.generation, first.is_leader) == (second.generation + 1, True)


def the_leader_leaves(group: Group) -> None:
    first, second = group.pair()
    first.leave()
    rejoin(second)
    assert (second.generation, second.is_leader) == (first.generation + 1, True)


def an_old_generation_is_refused(group: Group) -> None:
    member, _ = group.pair()
    assert member.heartbeat(member.generation - 1) == ErrorCode.ILLEGAL_GENERATION


def a_static_member_restarts_without_a_rebalance(group: Group) -> None:
    first, second = group.pair("instance")
    second.crash()
    again = group.member("instance").begin_join()
    assert again.end_join() == ErrorCode.NONE
    sync(again)
    assert (again.generation, first.heartbeat()) == (second.generation, ErrorCode.NONE)


def a_replaced_static_member_is_fenced(group: Group) -> None:
    _, second = group.pair("instance")
    assert group.member("instance").begin_join().end_join() == ErrorCode.NONE
    assert second.heartbeat() == ErrorCode.FENCED_INSTANCE_ID


def the_session_of_the_only_member_ends(group: Group) -> None:
    group.alone().crash()
    member = group.member().begin_join()
    group.pass_session()
    assert (member.end_join(), member.is_leader) == (ErrorCode.NONE, True)


def the_session_of_one_of_two_ends(group: Group) -> None:
    first, second = group.pair()
    second.crash()
    group.pass_session()
    rejoin(first)
    assert first.generation == second.generation + 1


def a_member_misses_the_rebalance_timeout(group: Group) -> None:
    first, second = group.alone(), group.member().begin_join()
    first.wait_for_error(ErrorCode.REBALANCE_IN_PROGRESS)
    group.pass_session()
    first.wait_for_error(ErrorCode.UNKNOWN_MEMBER_ID)
    assert (second.end_join(), second.is_leader) == (ErrorCode.NONE, True)


TESTS: Final = (
    a_member_joins,
    a_second_member_joins,
    a_follower_leaves,
    the_leader_leaves,
    an_old_generation_is_refused,
    a_static_member_restarts_without_a_rebalance,
    a_replaced_static_member_is_fenced,
    the_session_of_the_only_member_ends,
    the_session_of_one_of_two_ends,
    a_member_misses_the_rebalance_timeout,
)


def play_suite(name: str, server: Running, failed: set[str]) -> None:
    """Play the tests but those in `failed`, and put those in it that fail: to wait for what hangs once is enough."""
    for number, test in enumerate(TESTS):
        if test.__name__ in failed:
            continue
        with Group(server, f"group-{number}") as group:
            try:
                test(group)
            except (AssertionError, ClientError) as problem:
                print(f"{name}, {test.__name__}: {str(problem).partition(chr(10))[0] or 'another outcome'}")
                failed.add(test.__name__)
