"""The metadata log: what it adds up to, over restarts and damage."""

import math
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.records import build_batch
from coordinator.log.config import METADATA_LOG_CONFIG
from coordinator.log.errors import LogAppendError, LogFlushError
from coordinator.log.names import METADATA_LOG
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.records import AclBinding, QuotaRecord
from coordinator.metadata.store import ChangeTooLarge, MetadataError, MetadataStore
from tests.metadata.held_threads import HeldThreads
from tests.model.memory_files import MemoryFileSystem

NOW_MS: Final = 1_700_000_000_000
ROOT: Final = Path("/data")
NAMES: Final = st.sampled_from(["a", "b", "c"])


class Disk:
    """A metadata log in memory; `start` is a new start after a kill."""

    def __init__(self) -> None:
        self.files = MemoryFileSystem()
        self._ids = count(1)

    def start(self, *, clean: bool = False) -> MetadataStore:
        return MetadataStore(self.open_log(clean=clean), lambda: next(self._ids).to_bytes(16, "big"))

    def open_log(self, *, clean: bool = False) -> PartitionLog:
        return PartitionLog.open(self.files, ROOT, METADATA_LOG, 0, METADATA_LOG_CONFIG, clean=clean)

    @property
    def content(self) -> bytearray:
        """The bytes of the log itself."""
        (path,) = (path for path in self.files.paths() if path.suffix == ".log")
        return self.files.content(path)


def unexpected(problem: LogFlushError) -> None:
    raise problem


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_an_empty_log_is_an_empty_image(disk):
    image = disk.start().image
    assert (image.topics, image.topics_by_id, image.next_producer_id) == ({}, {}, 0)


def test_quotas_survive_a_restart(disk):
    store = disk.start()
    client, both = {"client-id": "a"}, {"client-id": None, "user": "u"}
    store.change_quotas([QuotaRecord(client, "producer_byte_rate", "5.0"), QuotaRecord(both, "x", "inf")], NOW_MS)
    store.change_quotas([QuotaRecord(client, "consumer_byte_rate", "6.0")], NOW_MS)
    store.change_quotas([QuotaRecord(client, "producer_byte_rate", None)], NOW_MS)
    image = disk.start().image
    assert image.quotas == store.image.quotas
    assert image.quotas == {
        (("client-id", "a"),): {"consumer_byte_rate": 6.0},
        (("client-id", None), ("user", "u")): {"x": math.inf},
    }


def test_an_entity_without_quotas_is_gone(disk):
    store = disk.start()
    for value in ("5.0", None, None):
        store.change_quotas([QuotaRecord({"client-id": "a"}, "producer_byte_rate", value)], NOW_MS)
    assert store.image.quotas == {} == disk.start().image.quotas


def acls_of(count: int, name: str = "t") -> list[AclBinding]:
    return [(2, f"{name}{number}", 3, "User:u", "*", 3, 3) for number in range(count)]


@given(st.floats(0, 1), st.sampled_from([1, 5_000]))
def test_a_crash_leaves_all_acls_of_a_change_or_none(part, count):
    disk = Disk()
    store = disk.start()
    store.change_acls([store.created_acl(acl) for acl in acls_of(3, "before")], NOW_MS)
    held = HeldThreads()
    store.commit_in(held.as_threads, None, unexpected)
    store.change_acls([store.created_acl(acl) for acl in acls_of(count)], NOW_MS)
    assert len(store.latest_image.acls) == 3 + count
    disk.files.lose_power(lambda size: int(size * part))
    assert len(disk.start().image.acls) == (3 + count if part == 1 else 3)


def test_acls_that_do_not_fit_into_a_batch_change_nothing(disk):
    store = disk.start()
    large = [store.created_acl(acl) for acl in acls_of(9_000, "x" * 1_000)]
    with pytest.raises(ChangeTooLarge):
        store.change_acls(large, NOW_MS)
    assert store.log.log_end_offset == 0
    assert store.latest_image.acls == {}
    store.change_acls(large[:6_000], NOW_MS)
    assert len(list(store.log.batches(0))) == 1
    store.change_acls([store.deleted_acl(acl) for acl in list(store.image.acls)[1:]], NOW_MS)
    assert len(list(store.log.batches(0))) == 2
    assert list(disk.start().image.acls) == acls_of(1, "x" * 1_000)


def test_a_quota_that_is_no_number_cannot_be_read(disk):
    with pytest.raises(ValueError, match="could not convert"):
        disk.start().change_quotas([QuotaRecord({"client-id": "a"}, "producer_byte_rate", "many")], NOW_MS)
    with pytest.raises(MetadataError, match="offset 0: could not convert"):
        disk.start()


def test_topics_survive_a_restart(disk):
    store = disk.start()
    made = store.create_topic("orders", 3, {"cleanup.policy": "compact"}, NOW_MS)
    store.create_topic("gone", 1, {}, NOW_MS)
    store.remove_topics(["gone"], NOW_MS)
    image = disk.start().image
    assert image.topics == {"orders": made}
    assert image.topics_by_id == {made.topic_id: made}
    assert (made.partitions, made.configs) == (3, {"cleanup.policy": "compact"})


def test_a_recreated_topic_has_another_id(disk):
    store = disk.start()
    first = store.create_topic("orders", 1, {}, NOW_MS)
    store.remove_topics(["orders"], NOW_MS)
    second = store.create_topic("orders", 2, {}, NOW_MS)
    assert first.topic_id != second.topic_id
    assert disk.start().image.topics_by_id == {second.topic_id: second}


def test_partitions_are_those_that_were_created(disk):
    store = disk.start()
    store.create_topic("orders", 2, {}, NOW_MS)
    there = [store.image.has_partition("orders", partition) for partition in (-1, 0, 1, 2)]
    assert there == [False, True, True, False]
    assert not store.image.has_partition("other", 0)


def test_a_record_that_could_not_be_written_has_no_effect(disk):
    store = disk.start()
    disk.files.is_full = True
    with pytest.raises(LogAppendError):
        store.create_topic("orders", 1, {}, NOW_MS)
    assert "orders" not in store.image.topics
    disk.files.is_full = False
    store.create_topic("orders", 1, {}, NOW_MS)
    assert list(disk.start().image.topics) == ["orders"]


@given(st.lists(st.one_of(st.tuples(NAMES, st.integers(1, 5)), st.tuples(NAMES, st.none()), st.just("restart"))))
def test_replaying_any_history_gives_the_same_image(history):
    disk = Disk()
    store = disk.start()
    model: dict[str, int] = {}
    for step in history:
        if step == "restart":
            store = disk.start()
            continue
        name, partitions = step
        if partitions is None:
            if model.pop(name, None):
                store.remove_topics([name], NOW_MS)
        elif name not in model:
            store.create_topic(name, partitions, {}, NOW_MS)
            model[name] = partitions
        elif partitions > model[name]:
            store.add_partitions(name, partitions, NOW_MS)
            model[name] = partitions
    for image in (store.image, disk.start().image):
        assert {topic.name: topic.partitions for topic in image.topics.values()} == model
        assert {topic.name for topic in image.topics_by_id.values()} == model.keys()


# ---- damage


@pytest.mark.parametrize("lost", [1, 20, 60])
def test_a_torn_tail_loses_only_incomplete_records(disk, lost):
    store = disk.start()
    store.create_topic("whole", 1, {}, NOW_MS)
    store.create_topic("torn", 1, {}, NOW_MS)
    del disk.content[-lost:]
    assert list(disk.start().image.topics) == ["whole"]


def test_a_damaged_record_after_a_clean_stop_is_reported_in_one_line(disk):
    """Its beginning is believed; only what comes after the last entry of the index is read by the log itself."""
    store = disk.start()
    for number in range(100):
        store.create_topic(f"topic-{number}", 1, {}, NOW_MS)
    disk.open_log().finish()
    disk.content[100] ^= 0xFF
    with pytest.raises(MetadataError, match=r"^__cluster_metadata cannot be read: .*") as problem:
        disk.start(clean=True)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    "value",
    [
        b"no json",
        b"",
        None,
        b"{}",
        b'{"kind":"from the future"}',
        b'{"kind":"topic","name":"t","topic_id":"no hex","partitions":1}',
        b'{"kind":"topic","name":"t","topic_id":"00"}',
        b'{"kind":"topic","name":"__cluster_metadata","topic_id":"00","partitions":1}',
        b'{"kind":"remove_topic","name":"never made"}',
    ],
)
def test_a_record_that_cannot_be_decoded_is_reported_with_its_offset(disk, value):
    disk.start().create_topic("orders", 1, {}, NOW_MS)
    disk.open_log().append(bytearray(build_batch([(None, value, ())])), 0, NOW_MS)
    with pytest.raises(MetadataError, match=r"^__cluster_metadata offset 1: .+") as problem:
        disk.start()
    assert "\n" not in str(problem.value)
