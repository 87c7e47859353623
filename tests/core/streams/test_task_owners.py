"""Which tasks are free for a process."""

from coordinator.core.streams.member import CurrentTasks
from coordinator.core.streams.task_owners import TaskOwners
from coordinator.core.streams.tasks import NOTHING_ASSIGNED, TaskEpochs

TASK = ("0", 1)
ACTIVE = CurrentTasks(assigned=TaskEpochs({"0": {1: 3}}))
STANDBY = CurrentTasks(assigned=TaskEpochs(standby={"0": (1,)}))
GIVING_UP = CurrentTasks(assigned=NOTHING_ASSIGNED, pending=TaskEpochs({"0": {1: 3}}))


def test_an_active_task_is_free_when_nobody_runs_it_and_the_process_has_it_in_no_kind() -> None:
    owners = TaskOwners()
    assert owners.is_active_free(TASK, "p")
    owners.own(STANDBY, "p")
    assert not owners.is_active_free(TASK, "p")
    assert owners.is_active_free(TASK, "q")
    owners.own(GIVING_UP, "r")
    assert not owners.is_active_free(TASK, "q")


def test_a_standby_is_free_for_a_process_that_has_the_task_in_no_kind() -> None:
    owners = TaskOwners()
    owners.own(ACTIVE, "p")
    assert not owners.is_standby_free(TASK, "p")
    assert owners.is_standby_free(TASK, "q")
    owners.own(STANDBY, "q")
    assert not owners.is_standby_free(TASK, "q")


def test_a_task_that_another_process_has_by_now_is_left_to_it() -> None:
    owners = TaskOwners()
    owners.own(ACTIVE, "p")
    owners.own(ACTIVE, "q")
    owners.disown(ACTIVE, "p")
    assert not owners.is_active_free(TASK, "r")
    owners.disown(ACTIVE, "q")
    assert owners.is_active_free(TASK, "r")
