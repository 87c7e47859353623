"""Streams groups in swapped folders: the other server knows their topology, their tasks and who is giving some up."""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tests.streams_members import VERSION, StreamsTasks, tasks_of
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "streamed-t"
PARTITIONS: Final = 4
GROUP: Final = "counting"
CHANGELOG: Final = f"{GROUP}-store-changelog"
SECONDS: Final = 60
TIMEOUT_MS: Final = 600_000
LOADING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class StreamedGroup:
    """Two members of two processes. The first one has been asked to give up some of its tasks."""

    def __init__(self) -> None:
        self._first, self._second = (StreamsTasks(GROUP, member_id) for member_id in ("first", "second"))
        self._described: Any = None

    def fill(self, bootstrap: str) -> None:
        with WireClient(bootstrap) as client:
            client.create_topic(TOPIC, PARTITIONS)
            wait_for(lambda: self._has_all(client), SECONDS, "the tasks of the streams group")
            self._beat(client, self._second, self._joining(self._second))
            self._beat(client, self._first, self._first.whole())
            assert self._first.active_tasks() != self._first.assigned_active_tasks(), "nothing is to be given up"
            self._described = described(client)

    def differences(self, bootstrap: str) -> list[str]:
        """What the other server says otherwise, and what goes wrong when the members go on there."""
        with WireClient(bootstrap) as client:
            wait_for(lambda: _group(client).error_code not in LOADING, SECONDS, "the streams group is loaded")
            after = described(client)
            problems = [] if after == self._described else [f"streams group: {self._described} became {after}"]
            self._first.take()
            for member in (self._first, self._second, self._first):
                self._beat(client, member, member.whole())
                member.take()
            has = [len(member.active_tasks()) for member in (self._first, self._second)]
            if has != [PARTITIONS // 2] * 2:
                problems.append(f"streams group: after the members went on they have {has} tasks")
        return problems

    def _joining(self, member: StreamsTasks) -> Any:
        return member.joining([TOPIC], [CHANGELOG], TIMEOUT_MS)

    def _has_all(self, client: WireClient) -> bool:
        client.request(FindCoordinatorRequest(key=GROUP), 3)  # Kafka makes the topic of the groups then
        answer = client.request(self._joining(self._first), VERSION)
        if answer.error_code == 0:
            self._first.read(answer)
            self._first.take()
        if len(self._first.active_tasks()) == PARTITIONS:
            return True
        self._first.lose()
        return False

    def _beat(self, client: WireClient, member: StreamsTasks, request: Any) -> None:
        answer = client.request(request, VERSION)
        assert answer.error_code == 0, f"{member.member_id}: {ErrorCode(answer.error_code).name} {answer.error_message}"
        member.read(answer)


def described(client: WireClient) -> Any:
    """State, epochs, topology, and of each member its epoch, process and both assignments."""
    group = _group(client)
    topology = [
        (part.subtopology_id, list(part.source_topics), [topic.name for topic in part.state_changelog_topics])
        for part in group.topology.subtopologies
    ]
    members = sorted(
        (
            member.member_id,
            member.member_epoch,
            member.process_id,
            member.topology_epoch,
            *(_tasks(assigned) for assigned in (member.assignment, member.target_assignment)),
        )
        for member in group.members
    )
    return group.group_state, group.group_epoch, group.assignment_epoch, topology, members


def _tasks(assigned: Any) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    return sorted(tasks_of(assigned.active_tasks)), sorted(tasks_of(assigned.standby_tasks))


def _group(client: WireClient) -> Any:
    (group,) = client.request(StreamsGroupDescribeRequest(group_ids=[GROUP]), VERSION).groups
    return group
