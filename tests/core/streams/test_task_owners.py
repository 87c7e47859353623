"""Which tasks are free for a process, and who has them."""

from coordinator.core.streams.member import CurrentTasks, StreamsMember, StreamsMemberMetadata
from coordinator.core.streams.task_owners import TaskOwners
from coordinator.core.streams.tasks import NOTHING_ASSIGNED, TaskEpochs

TASK = ("0", 1)
ACTIVE = CurrentTasks(assigned=TaskEpochs({"0": {1: 3}}))
STANDBY = CurrentTasks(assigned=TaskEpochs(standby={"0": (1,)}))
GIVING_UP = CurrentTasks(assigned=NOTHING_ASSIGNED, pending=TaskEpochs({"0": {1: 3}}))


def member_of(process_id: str, current: CurrentTasks) -> StreamsMember:
    metadata = StreamsMemberMetadata("client", "/127.0.0.1", process_id=process_id)
    return StreamsMember(f"member of {process_id}", metadata, current)


def test_an_active_task_is_free_when_nobody_runs_it_and_the_process_has_it_in_no_kind() -> None:
    owners = TaskOwners()
    assert owners.is_active_free(TASK, "p")
    owners.own(member_of("p", STANDBY))
    assert not owners.is_active_free(TASK, "p")
    assert owners.is_active_free(TASK, "q")
    owners.own(member_of("r", GIVING_UP))
    assert not owners.is_active_free(TASK, "q")


def test_a_standby_is_free_for_a_process_that_has_the_task_in_no_kind() -> None:
    owners = TaskOwners()
    owners.own(member_of("p", ACTIVE))
    assert not owners.is_standby_free(TASK, "p")
    assert owners.is_standby_free(TASK, "q")
    owners.own(member_of("q", STANDBY))
    assert not owners.is_standby_free(TASK, "q")


def test_a_task_that_another_process_has_by_now_is_left_to_it() -> None:
    owners = TaskOwners()
    owners.own(member_of("p", ACTIVE))
    owners.own(member_of("q", ACTIVE))
    owners.disown(member_of("p", ACTIVE))
    assert not owners.is_active_free(TASK, "r")
    assert owners.active_members == {TASK: "member of q"}
    owners.disown(member_of("q", ACTIVE))
    assert owners.is_active_free(TASK, "r")
    assert not owners.active_members
