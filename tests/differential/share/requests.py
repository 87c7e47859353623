"""Random requests about the states and offsets of share groups, and one of the servers that get them."""

import random
from functools import partial
from typing import Any, Final, NamedTuple

from _wire.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    delete_share_group_state,
    describe_share_group_offsets,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.core.share_state.state import SharePartition
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPICS: Final = {"t": 3, "u": 2}
NOWHERE: Final = "none"
GROUPS: Final = ("g", "h")
PREPARING: Final = "preparing"
UNKNOWN_ID: Final = b"\1" * 16
KINDS: Final = {
    "initialize": 1,
    "write": 3,
    "read": 2,
    "delete": 1,
    "summary": 1,
    "alter": 1,
    "forget": 1,
    "describe": 1,
    "describe all": 1,
    "delete group": 1,
    "list": 1,
}
"""Request → how often it is chosen, among the others."""
BATCH_FIELDS: Final = ("first_offset", "last_offset", "delivery_state", "delivery_count")
SECONDS: Final = 60
LEFT_OUT: Final = frozenset({"throttle_time_ms", "error_message"})


class Step(NamedTuple):
    """One request."""

    kind: str
    group_id: str
    topic: str
    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    done: int
    batches: tuple[tuple[int, int, int, int], ...]
    version: int


def random_step(rng: random.Random) -> Step:
    batches = []
    for _ in range(rng.randrange(4)):
        first = rng.randrange(20)
        batches.append((first, first + rng.randrange(6), rng.choice([0, 2, 4]), rng.randrange(1, 4)))
    return Step(
        rng.choices(list(KINDS), list(KINDS.values()))[0],
        rng.choice(GROUPS),
        rng.choice(["t", "t", "u", NOWHERE]),
        rng.choice([0, 0, 1, 2, 3, -1]),
        rng.choice([-1, 0, 1, 2, 3]),
        rng.choice([-1, 0, 1, 2, 3]),
        rng.choice([-1, -1, 0, 3, 7]),
        rng.choice([-1, 0, 4]),
        tuple(batches),
        rng.choice([0, 1]),
    )


class Side:
    """A server, and a client of it."""

    def __init__(self, bootstrap: str) -> None:
        self.client = WireClient(bootstrap)
        self.ids: dict[str, bytes] = {}

    def prepare(self) -> None:
        """Make the topics, and wait until all can be asked."""
        for name, partitions in TOPICS.items():
            self.client.create_topic(name, partitions)
            self.ids[name] = wait_for(partial(self._topic_id, name), SECONDS, f"the topic {name}")
        wait_for(self._is_ready, SECONDS, "the coordinators")

    def _topic_id(self, name: str) -> bytes:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self.client.request(request, 12).topics
        return b"" if topic.error_code else bytes(topic.topic_id)

    def _is_ready(self) -> bool:
        """Both topics of coordinators are made, and all of their partitions are loaded."""
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=list(GROUPS))
        found = {each.error_code for each in self.client.request(find, 4).coordinators}
        key = SharePartition(PREPARING, self.ids["t"], 0).key
        self.client.request(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6)
        module = initialize_share_group_state
        states = [module.StatePartition(partition=each, state_epoch=0, start_offset=-1) for each in range(TOPICS["t"])]
        errors = set()
        for number in range(10):
            topics = [module.StateTopic(topic_id=self.ids["t"], partitions=states)]
            request = module.InitializeShareGroupStateRequest(group_id=f"{PREPARING}{number}", topics=topics)
            (result,) = self.client.request(request, 0).results
            errors |= {partition.error_code for partition in result.partitions}
        return found == errors == {0} and self.client.request(ListGroupsRequest(), 5).error_code == 0

    def ask(self, step: Step) -> Any:
        """The answer, with topics by name, lists in order, and no words."""
        return self.plain(self.client.request(*self._request(step)))

    def _request(self, step: Step) -> tuple[Any, int]:
        existing = max(step.partition, 0) % 2
        named = {"topic_name": step.topic}
        match step.kind:
            case "alter":
                altering = alter_share_group_offsets
                partition = altering.RequestPartition(partition_index=existing, start_offset=step.start_offset)
                topics: Any = [altering.RequestTopic(**named, partitions=[partition])]
                return altering.AlterShareGroupOffsetsRequest(group_id=step.group_id, topics=topics), 0
            case "forget":
                deleting = delete_share_group_offsets
                topics = [deleting.RequestTopic(**named)]
                return deleting.DeleteShareGroupOffsetsRequest(group_id=step.group_id, topics=topics), 0
            case "describe" | "describe all":
                describing = describe_share_group_offsets
                topics = [describing.RequestTopic(**named, partitions=[existing])] if step.kind == "describe" else None
                groups = [describing.RequestGroup(group_id=step.group_id, topics=topics)]
                return describing.DescribeShareGroupOffsetsRequest(groups=groups), step.version
            case "delete group":
                return DeleteGroupsRequest(groups_names=[step.group_id]), 2
            case "list":
                return ListGroupsRequest(), 5
        return self._about_state(step)

    def _about_state(self, step: Step) -> tuple[Any, int]:
        module: Any
        asked: dict[str, Any] = {}
        version = 0
        match step.kind:
            case "initialize":
                module, name = initialize_share_group_state, "InitializeShareGroupStateRequest"
                asked = {"state_epoch": step.state_epoch, "start_offset": step.start_offset}
            case "write":
                module, name, version = write_share_group_state, "WriteShareGroupStateRequest", step.version
                asked = {
                    "state_epoch": step.state_epoch,
                    "leader_epoch": step.leader_epoch,
                    "start_offset": step.start_offset,
                    "delivery_complete_count": step.done,
                    "state_batches": [
                        module.StateBatch(**dict(zip(BATCH_FIELDS, batch, strict=True))) for batch in step.batches
                    ],
                }
            case "read":
                module, name = read_share_group_state, "ReadShareGroupStateRequest"
                asked = {"leader_epoch": step.leader_epoch}
            case "delete":
                module, name = delete_share_group_state, "DeleteShareGroupStateRequest"
            case _:
                module, name = read_share_group_state_summary, "ReadShareGroupStateSummaryRequest"
                asked, version = {"leader_epoch": step.leader_epoch}, step.version
        partition = module.StatePartition(partition=step.partition, **asked)
        topic = module.StateTopic(topic_id=self.ids.get(step.topic, UNKNOWN_ID), partitions=[partition])
        return getattr(module, name)(group_id=step.group_id, topics=[topic]), version

    def plain(self, value: Any) -> Any:
        """As plain Python values, so that both servers' can be compared."""
        if isinstance(value, bytes):
            return {topic_id: name for name, topic_id in self.ids.items()}.get(value, value.hex())
        if isinstance(value, (list, tuple)):
            return sorted((self.plain(each) for each in value), key=repr)
        if hasattr(value, "FIELDS"):
            return {name: self.plain(getattr(value, name)) for name in value.FIELDS if name not in LEFT_OUT}
        return int(value) if isinstance(value, int) else value
