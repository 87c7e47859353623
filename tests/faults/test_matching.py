"""Which requests a fault takes: by group, member and leader, by number, by chance and by time."""

from types import SimpleNamespace
from typing import Any

import pytest

from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.faults.matching import Matcher
from coordinator.faults.named import NOBODY, groups_of, members_of
from coordinator.faults.specs import Drop

LEADER, FOLLOWER = "leader", "follower"


class Matching:
    """A matcher of a group whose leader is `LEADER`, on a clock of its own."""

    def __init__(self, **where: Any) -> None:
        self.now_ms = 1_000
        members = {LEADER: SimpleNamespace(group_instance_id=None), FOLLOWER: SimpleNamespace(group_instance_id="i")}
        group: Any = SimpleNamespace(leader=LEADER, members=members)
        self.matcher = Matcher(
            Drop(api="Heartbeat", **where), lambda group_id: group if group_id == "g" else None, lambda: self.now_ms
        )

    def applies(
        self, group_id: str = "g", member_id: str = LEADER, instance: str | None = None, client: str = ""
    ) -> bool:
        request = HeartbeatRequest(group_id=group_id, member_id=member_id, group_instance_id=instance)
        context: Any = SimpleNamespace(client_id=client)
        return self.matcher.applies_to(request, context)


@pytest.mark.parametrize(
    ("where", "taken"),
    [
        ({}, [{}, {"group_id": "h"}, {"member_id": ""}]),
        ({"group": "g"}, [{}, {"member_id": ""}]),
        ({"member": "x"}, [{"member_id": "x"}, {"instance": "x"}, {"client": "x"}]),
        ({"member": "i"}, [{"member_id": FOLLOWER}, {"instance": "i"}]),
        ({"leader": True}, [{}]),
        ({"leader": False}, [{"member_id": FOLLOWER}, {"member_id": ""}, {"group_id": "h"}]),
    ],
)
def test_a_fault_takes_the_requests_that_fit_and_no_others(where: dict[str, Any], taken: list[dict[str, Any]]) -> None:
    for request in taken:
        assert Matching(**where).applies(**request), request


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({"group": "g"}, [{"group_id": "h"}, {"group_id": "gg"}]),
        ({"member": "x"}, [{}, {"member_id": "xx"}, {"instance": "y"}, {"client": "X"}]),
        ({"member": "i"}, [{}, {"member_id": ""}, {"group_id": "h", "member_id": FOLLOWER}]),
        ({"leader": True}, [{"member_id": FOLLOWER}, {"member_id": ""}, {"group_id": "h"}]),
        ({"leader": False}, [{}]),
        ({"group": "g", "member": "x"}, [{"group_id": "h", "member_id": "x"}, {}]),
    ],
)
def test_a_fault_leaves_the_requests_that_do_not_fit(where: dict[str, Any], left: list[dict[str, Any]]) -> None:
    for request in left:
        assert not Matching(**where).applies(**request), request


def test_the_nth_request_is_that_of_those_that_fit() -> None:
    matching = Matching(group="g", nth=2)
    assert [matching.applies(each) for each in ("g", "h", "h", "g", "g")] == [False, False, False, True, False]
    assert matching.matcher.hits == 1


def test_so_many_times_are_those_that_it_took() -> None:
    matching = Matching(times=2)
    assert [matching.applies() for _ in range(4)] == [True, True, False, False]
    assert matching.matcher.hits == 2


@pytest.mark.parametrize(("probability", "least", "most"), [(0.1, 50, 150), (0.9, 850, 950), (1.0, 1_000, 1_000)])
def test_each_request_is_taken_with_its_probability(probability: float, least: int, most: int) -> None:
    matching = Matching(probability=probability)
    assert least <= sum(matching.applies() for _ in range(1_000)) <= most


def test_the_same_seed_takes_the_same_requests() -> None:
    def played(seed: int) -> list[bool]:
        matching = Matching(probability=0.5, seed=seed)
        return [matching.applies() for _ in range(50)]

    assert played(7) == played(7) != played(8)


def test_a_fault_takes_none_from_the_end_of_its_time_on() -> None:
    matching = Matching(seconds=5)
    matching.now_ms += 4_999
    assert matching.applies()
    matching.now_ms += 1
    assert not matching.applies()
    assert matching.matcher.hits == 1


@pytest.mark.parametrize(
    ("request_", "groups"),
    [
        (HeartbeatRequest(group_id="g"), ["g"]),
        (DescribeGroupsRequest(groups=["a", "b"]), ["a", "b"]),
        (DeleteGroupsRequest(groups_names=["a", "b"]), ["a", "b"]),
        (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="a")]), ["a"]),
        (FindCoordinatorRequest(key="g"), ["g"]),
        (FindCoordinatorRequest(coordinator_keys=["a", "b"]), ["a", "b"]),
        (FindCoordinatorRequest(key="t", key_type=1), []),
        (ListGroupsRequest(), []),
    ],
)
def test_a_request_is_about_the_groups_that_it_names(request_: Any, groups: list[str]) -> None:
    assert list(groups_of(request_)) == groups


def test_a_request_names_its_members() -> None:
    several = [MemberIdentity(member_id="a"), MemberIdentity(group_instance_id="i")]
    assert members_of(LeaveGroupRequest(members=several)) == [("a", None), ("", "i")]
    assert members_of(HeartbeatRequest(member_id="a", group_instance_id="i")) == [("a", "i")]
    assert members_of(ListGroupsRequest()) == [NOBODY]
