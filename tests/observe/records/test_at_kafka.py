"""Records and polls of real groups on real Kafkas."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from coordinator.client.group_description import NoSuchGroup
from coordinator.observe.errors import MayNotDescribeGroup, MayNotReadOffsets, NoOffsetsTopic, NoRight
from coordinator.observe.poll import PresentGroup, list_present, poll_group, poll_groups
from coordinator.observe.records.following import OffsetsFollower
from coordinator.observe.records.listing import list_groups_of_records
from coordinator.observe.records.offsets_topic import PAUSE_SECONDS, OffsetsTopic
from coordinator.observe.records.reader import OffsetsReading, read_offsets_partition
from coordinator.observe.records.stored import (
    ClassicGroup,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    TargetEpoch,
)
from coordinator.observe.records.stored_groups import ListedByRecords
from coordinator.observe.topic_ids import TopicIds
from coordinator.pipeline.java import require_java
from tests.differential.kafka import VERSION, KafkaMissing, RunningKafka, kafka_jars
from tests.e2e.members import Member, steady, stop_all
from tests.front.quota_client import QuotaClient
from tests.pipeline.rdkafka_member import RdkafkaMember
from tests.waiting import wait_for

pytestmark = [pytest.mark.realtime, pytest.mark.nightly, pytest.mark.timeout(240)]

TOPIC: Final = "orders"
PARTITIONS: Final = 4
SHARE_CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SHARE_STATE: Final = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Everybody may do everything with what has no ACL."""


@pytest.fixture(scope="module", params=[VERSION, "3.9.1"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningKafka]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        **AUTHORIZER,
        **SHARE_STATE,
    }
    try:
        running = RunningKafka(tmp_path_factory.mktemp("kafka"), settings, {}, version=request.param)
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        with pytest.raises(NoOffsetsTopic):
            read_offsets_partition(running.bootstrap, "nobody")
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            future.result()
        yield running


def classic(bootstrap: str, group_id: str) -> list[ClassicGroup]:
    with read_offsets_partition(bootstrap, group_id) as reading:
        found = [each for _, each in reading if isinstance(each, ClassicGroup)]
        assert (reading.notes, reading.undecoded) == ([], {})
    return found


def test_generations_of_a_classic_group(kafka: RunningKafka):
    """Each that became stable has its record, with who was in it."""
    first = Member(kafka.bootstrap, TOPIC, "classic", client_id="pod-1")
    members = [first]
    try:
        alone = steady(members, PARTITIONS, "one member")
        members.append(Member(kafka.bootstrap, TOPIC, "classic", client_id="pod-2", instance_id="two"))
        both = steady(members, PARTITIONS, "two members")
        found = {each.generation_id: each for each in classic(kafka.bootstrap, "classic")}
        present = poll_group(kafka.bootstrap, "classic")
    finally:
        stop_all(members)
    assert [member.client_id for member in found[alone].members] == ["pod-1"]
    assert sorted(member.client_id for member in found[both].members) == ["pod-1", "pod-2"]
    owned = {member.client_id: member.partitions[TOPIC] for member in found[both].members}
    assert sorted(owned["pod-1"] + owned["pod-2"]) == [0, 1, 2, 3]
    assert (present.type, present.state, present.epoch, present.place.name) == (
        "classic",
        "Stable",
        None,
        "DescribeGroups",
    )
    assert {member.client_id: member.partitions for member in present.members} == {
        client_id: {TOPIC: partitions} for client_id, partitions in owned.items()
    }
    assert {member.group_instance_id for member in present.members} == {None, "two"}


def test_commits_in_transactions_too(kafka: RunningKafka):
    """One that is committed and one that is aborted."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "transactional"})
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "observed"})
    producer.init_transactions(60)
    for offset, end in ((5, producer.commit_transaction), (9, producer.abort_transaction)):
        producer.begin_transaction()
        offsets = [TopicPartition(TOPIC, 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 60)
        end(60)
    consumer.close()

    def ended() -> OffsetsReading | None:
        """The markers are written soon after."""
        with read_offsets_partition(kafka.bootstrap, "transactional", offsets_max=10) as reading:
            assert [each for _, each in reading if isinstance(each, ClassicGroup) and each.members] == []
        return reading if reading.scanned.markers >= 2 else None

    reading = wait_for(ended, 20, "the ends of the transactions")
    assert reading is not None
    assert (reading.commits.commits, reading.scanned.aborted, reading.scanned.pending) == (1, 1, 0)
    assert {at: offset for at, (offset, _) in reading.committed_offsets.items()} == {(TOPIC, 0): 5}


def test_a_consumer_group(kafka: RunningKafka, tmp_path: Path, request: pytest.FixtureRequest):
    if request.node.callspec.params["kafka"] != VERSION:
        pytest.skip("3.9 has an early version of the protocol, which librdkafka does not speak")
    settings = {"client.id": "pod-1", "group.protocol": "consumer"}
    with RdkafkaMember(tmp_path, kafka.bootstrap, "modern", [TOPIC], **settings) as member:
        member_id = member.holds(PARTITIONS)["member_id"]
        present = poll_group(kafka.bootstrap, "modern")
        (polled,) = poll_groups(kafka.bootstrap, {"modern"})
        with read_offsets_partition(kafka.bootstrap, "modern") as reading:
            records = [each for _, each in reading]
        listing = list_groups_of_records(kafka.bootstrap)
    assert reading.notes == []
    kinds = [type(record) for record in records]
    assert kinds[:2] == [ConsumerMember, GroupEpoch]
    assert {TargetEpoch, CurrentAssignment} <= set(kinds)
    (held,) = (record for record in records if isinstance(record, CurrentAssignment) and record.is_settled)
    with TopicIds(kafka.bootstrap) as name_of:
        assert {name_of(topic_id): partitions for topic_id, partitions in held.partitions.items()} == {
            TOPIC: [0, 1, 2, 3]
        }
        assert name_of("00" * 15 + "77") == "00" * 15 + "77"
    assert (present.type, present.state, present.epoch, present.place.name) == (
        "consumer",
        "Stable",
        held.epoch,
        "ConsumerGroupDescribe",
    )
    assert [(each.member_id, each.partitions) for each in present.members] == [(member_id, {TOPIC: [0, 1, 2, 3]})]
    assert (polled.epoch, polled.members) == (present.epoch, present.members)
    (listed,) = (group for group in listing.groups if group.group_id == "modern")
    assert (listed.type, listed.state, listed.generation, listed.members) == ("consumer", "Stable", held.epoch, 1)


def test_a_share_group(kafka: RunningKafka, request: pytest.FixtureRequest):
    """Its records are counted, and what they have in common with others is read."""
    if request.node.callspec.params["kafka"] != VERSION:
        pytest.skip("3.9 has no share groups")
    command = [str(require_java()), "-cp", f"{kafka_jars()}/*", SHARE_CONSUMER]
    command += ["--bootstrap-server", kafka.bootstrap, "--topic", TOPIC, "--group", "shared"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as consumer:
        try:
            listed = wait_for(lambda: with_a_member(kafka.bootstrap, "shared"), 60, "a member of the share group")
            wait_for(lambda: owned(poll_group(kafka.bootstrap, "shared")), 60, "it to have partitions")
            present = poll_group(kafka.bootstrap, "shared")
            (among_all,) = poll_groups(kafka.bootstrap, {"shared"})
        finally:
            consumer.kill()
    assert listed is not None
    assert (listed.type, listed.state) == (present.type, present.state) == ("share", "Stable")
    assert (present.is_described, present.place.name) == (True, "ShareGroupDescribe")
    assert present.epoch is not None and owned(present) == PARTITIONS
    assert (among_all.type, among_all.state, among_all.members) == ("share", "Stable", present.members)
    with read_offsets_partition(kafka.bootstrap, "shared") as reading:
        assert list(reading) == []
    assert {10, 11} <= reading.undecoded.keys()
    assert reading.notes == []


def owned(group: PresentGroup) -> int:
    """The partitions of its members."""
    return sum(len(indexes) for member in group.members for indexes in (member.partitions or {}).values())


def with_a_member(bootstrap: str, group_id: str) -> ListedByRecords | None:
    groups = list_groups_of_records(bootstrap).groups
    return next((group for group in groups if group.group_id == group_id and group.members), None)


def test_a_quota_slows_it_down(kafka: RunningKafka):
    """A client beyond its quota is told to wait. Here it does not: the broker mutes it then, as long."""
    pauses: list[float] = []
    member = Member(kafka.bootstrap, TOPIC, "slow", client_id="pod-1")
    try:
        steady([member], PARTITIONS, "one member")
    finally:
        member.stop()
    expected = classic(kafka.bootstrap, "slow")
    with QuotaClient(kafka.bootstrap) as client:
        client.set("coordinator-observe", consumer_byte_rate=500.0)
        try:
            wait_for(
                lambda: read_slowly(kafka.bootstrap, pauses.append) == expected and bool(pauses),
                60,
                "the quota to hold",
            )
        finally:
            client.set("coordinator-observe", consumer_byte_rate=None)
    assert max(pauses) > PAUSE_SECONDS[0]


def read_slowly(bootstrap: str, pause: Callable[[float], object]) -> list[object]:
    topic = OffsetsTopic(bootstrap, pause=pause)
    reading = OffsetsReading(topic, "slow")
    return [each for _, each in reading]


def test_a_group_is_followed(kafka: RunningKafka):
    with OffsetsFollower(kafka.bootstrap, groups={"followed"}, wait_ms=100) as following:
        followed = following.follow(following.ends())
        member = Member(kafka.bootstrap, TOPIC, "followed", client_id="pod-1")
        try:
            steady([member], PARTITIONS, "one member")
        finally:
            member.stop()

        found: list[ClassicGroup] = []

        def has_emptied() -> bool:
            found.extend(each for _, each in next(followed).records if isinstance(each, ClassicGroup))
            return bool(found) and found[-1].generation_id > 1 and not found[-1].members

        wait_for(has_emptied, 30, "the record of the empty group")
    assert found == classic(kafka.bootstrap, "followed")


def test_no_such_group(kafka: RunningKafka):
    with pytest.raises(NoSuchGroup):
        poll_group(kafka.bootstrap, "nobody")
    with read_offsets_partition(kafka.bootstrap, "nobody") as reading:
        assert list(reading) == []


def deny(bootstrap: str, kind: ResourceType, name: str, operation: AclOperation, who: str = "User:somebody") -> None:
    """Give a right to somebody else: others have none then. Waits until it is known."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    allowed = AclPermissionType.ALLOW
    binding = AclBinding(kind, name, ResourcePatternType.LITERAL, who, "*", operation, allowed)
    for future in admin.create_acls([binding]).values():
        future.result()


P = TypeVar("P", bound=NoRight)


def refused(act: Callable[[], object], kind: type[P]) -> P:
    """Do it until it is refused: it takes a moment until a broker knows of an ACL."""

    def problem() -> P | None:
        try:
            act()
        except kind as found:
            return found
        return None

    found = wait_for(problem, 20, f"{kind.__name__}")
    assert found is not None
    return found


def test_rights_that_are_missing(kafka: RunningKafka):
    """The last test: rights are not given back."""
    member = Member(kafka.bootstrap, TOPIC, "secret")
    try:
        steady([member], PARTITIONS, "one member")
    finally:
        member.stop()
    assert list_present(kafka.bootstrap).missing == []

    deny(kafka.bootstrap, ResourceType.GROUP, "secret", AclOperation.READ)
    hidden = refused(lambda: poll_group(kafka.bootstrap, "secret"), MayNotDescribeGroup)
    assert hidden.give == "DESCRIBE on group secret"

    deny(kafka.bootstrap, ResourceType.TOPIC, "__consumer_offsets", AclOperation.READ)
    problem = refused(lambda: list(read_offsets_partition(kafka.bootstrap, "secret")), MayNotReadOffsets)
    assert problem.give == "READ on topic __consumer_offsets"
    with pytest.raises(MayNotReadOffsets):
        list_groups_of_records(kafka.bootstrap)
    with pytest.raises(MayNotReadOffsets):
        OffsetsFollower(kafka.bootstrap)

    deny(kafka.bootstrap, ResourceType.BROKER, "kafka-cluster", AclOperation.CLUSTER_ACTION, "User:ANONYMOUS")
    wait_for(lambda: list_present(kafka.bootstrap).missing == ["DESCRIBE on the cluster"], 20, "the right to be missed")
    assert "secret" not in {group.group_id for group in list_present(kafka.bootstrap).groups}
