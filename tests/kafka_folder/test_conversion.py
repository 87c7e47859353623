"""Folders of Kafka become folders of this server, and back, without a Kafka; `make folder-swap` has one."""

import errno
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from _wire.records import build_batch
from coordinator.kafka_folder.change import METADATA_FOLDER, NEW_FOLDER
from coordinator.kafka_folder.conversion import Acceptance, export_kafka, import_kafka
from coordinator.kafka_folder.metadata_log import SNAPSHOT_FOOTER, read_kafka_metadata
from coordinator.kafka_folder.records import (
    KafkaAcl,
    KafkaConfig,
    KafkaMetadataError,
    KafkaPartition,
    KafkaProducerIds,
    KafkaQuota,
    KafkaRecord,
    KafkaRemovedAcl,
    KafkaRemovedScramCredential,
    KafkaScramCredential,
    KafkaTopic,
    encode_kafka_record,
)
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import read_checkpoint
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.meta_properties import parse_properties
from coordinator.log.errors import DataDirectoryError, LogError
from coordinator.log.files import DiskFileSystem, OpenFile
from coordinator.log.names import METADATA_LOG
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.verify import Verifier
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import QuotaRecord
from coordinator.metadata.store import MetadataError, MetadataStore
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism
from tests.log.batches import everything, filled

NOW_MS = 1_700_000_000_000
ID = bytes(range(16))
PROPERTIES = "#\n#Sun Nov 22 17:41:07 UTC 2026\nnode.id=1\ndirectory.id=QjnXx8GqmUeMQn7OpwoyPg\nversion=1\n"
RECORDS: list[KafkaRecord] = [
    KafkaTopic("orders", ID),
    KafkaPartition(ID, 0, (1,)),
    KafkaPartition(ID, 1, (1,)),
    KafkaConfig(2, "orders", "retention.ms", "5000"),
    KafkaConfig(2, "orders", "unknown.config", "1"),
    KafkaConfig(32, "billing", "consumer.heartbeat.interval.ms", "6000"),
    KafkaConfig(32, "billing", "consumer.session.timeout.ms", "50000"),
    KafkaConfig(32, "billing", "consumer.session.timeout.ms", None),
    KafkaConfig(32, "billing", "unknown.config", "2"),
    KafkaConfig(32, "gone", "consumer.heartbeat.interval.ms", "6000"),
    KafkaConfig(32, "gone", "consumer.heartbeat.interval.ms", None),
    KafkaConfig(4, "", "log.retention.ms", "7000"),
    KafkaConfig(4, "1", "num.io.threads", "9"),
    KafkaConfig(4, "1", "unknown.config", "secret"),
    KafkaConfig(4, "1", "message.max.bytes", "9"),
    KafkaConfig(4, "1", "message.max.bytes", None),
    KafkaQuota((("user", "alice"),), "producer_byte_rate", 1000.0),
    KafkaAcl(ID, 2, "orders", 3, "User:alice", "*", 3, 3),
    KafkaAcl(ID[::-1], 3, "bill", 4, "User:*", "10.0.0.1", 2, 2),
    KafkaAcl(ID[:8] * 2, 2, "orders", 3, "User:bob", "*", 3, 3),
    KafkaRemovedAcl(ID[:8] * 2),
    KafkaScramCredential("alice", 1, b"salt", b"stored", b"server", 4096),
    KafkaScramCredential("alice", 2, b"salt", b"stored", b"server", 8192),
    KafkaScramCredential("bob", 1, b"salt", b"stored", b"server", 4096),
    KafkaScramCredential("carol", 9, b"salt", b"stored", b"server", 4096),
    KafkaRemovedScramCredential("bob", 1),
    KafkaProducerIds(4000),
]
ACLS = {
    (2, "orders", 3, "User:alice", "*", 3, 3): ID.hex(),
    (3, "bill", 4, "User:*", "10.0.0.1", 2, 2): ID[::-1].hex(),
}
CREDENTIALS = {
    ScramMechanism.SCRAM_SHA_256: ScramCredential(b"salt", b"stored", b"server", 4096),
    ScramMechanism.SCRAM_SHA_512: ScramCredential(b"salt", b"stored", b"server", 8192),
}
BROKER_CONFIGS = {"": {"log.retention.ms": "7000"}, "1": {"num.io.threads": "9"}}
GROUP_CONFIGS = {"billing": {"consumer.heartbeat.interval.ms": "6000"}}


def accept(topic: str, configs: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    accepted = {name: value for name, value in configs.items() if name != "unknown.config"}
    return accepted, [name for name in configs if name not in accepted]


ACCEPT = Acceptance(accept, accept, accept)


def write_metadata(root: Path, records: list[KafkaRecord]) -> None:
    log = PartitionLog.open(DiskFileSystem(), root, METADATA_LOG, 0, LogConfig())
    for record in records:
        log.append(bytearray(build_batch([(None, encode_kafka_record(record, 1), [])])), 0, NOW_MS)
    log.finish()
    log.close()


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """A folder as Kafka leaves it when it is killed before it stores its first checkpoints."""
    root = tmp_path / "kafka"
    root.mkdir()
    (root / "meta.properties").write_text(PROPERTIES + "cluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n")
    for name in ("cleaner-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        (root / name).touch()
    write_metadata(root, RECORDS)
    for partition in range(2):
        log = PartitionLog.open(DiskFileSystem(), root, "orders", partition, LogConfig(), topic_id=ID)
        filled(log, 3 + partition).close()
    return root


def image_of(root: Path) -> MetadataImage:
    directory = LogDirectory.open(root)
    try:
        return MetadataStore(directory.open_metadata_log(LogConfig()), lambda: bytes(16)).image
    finally:
        directory.close()


def test_a_folder_of_kafka_is_imported_with_topics_configs_quotas_and_producer_ids(kafka):
    imported = import_kafka([kafka], ACCEPT, NOW_MS)
    assert (imported.topics, imported.partitions, imported.quotas) == (1, 2, 1)
    assert imported.left_out == [
        "orders: unknown.config=1",
        "group billing: unknown.config=2",
        "broker 1: unknown.config",
        "user carol: SCRAM mechanism 9",
    ]
    assert imported.scram_credentials == 2
    image = image_of(kafka)
    topic = image.topics["orders"]
    assert (topic.topic_id, topic.partitions, topic.configs) == (ID, 2, {"retention.ms": "5000"})
    assert image.group_configs == GROUP_CONFIGS
    assert image.broker_configs == BROKER_CONFIGS
    assert image.next_producer_id == 4000
    assert imported.acls == 2
    assert image.acls == ACLS
    assert image.quotas == {(("user", "alice"),): {"producer_byte_rate": 1000.0}}
    assert image.scram_credentials == {"alice": CREDENTIALS}
    directory = LogDirectory.open(kafka)
    assert directory.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert directory.belongs_to("orders", 1, ID)
    assert [len(everything(directory.open_log("orders", n, LogConfig()))) for n in range(2)] == [3, 4]
    directory.close()
    (aside,) = kafka.glob("__cluster_metadata-0.*-stray")
    assert read_kafka_metadata(DiskFileSystem(), aside).topics == {ID: "orders"}


@pytest.mark.parametrize("clean", [True, False])
def test_gaps_that_kafkas_cleaner_has_left_between_segments_are_kept_also_when_the_power_fails_later(kafka, clean):
    small = LogConfig(segment_bytes=400)
    log = PartitionLog.open(DiskFileSystem(), kafka, "orders", 0, small)
    filled(log, 40)
    log.finish()
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    for suffix in ("log", "index", "timeindex"):
        (kafka / "orders-0" / f"{bases[1]:020}.{suffix}").unlink()
    if clean:
        (kafka / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')
        (kafka / "recovery-point-offset-checkpoint").write_text("0\n2\norders 0 43\norders 1 4\n")
    with (kafka / "orders-1" / f"{0:020}.log").open("ab") as torn:
        torn.write(b"torn")
    import_kafka([kafka], ACCEPT, NOW_MS)
    for boot in ("one", "another"):  # the second start is one after a power failure
        directory = LogDirectory.open(kafka, boot_id=boot)
        log = directory.open_log("orders", 0, small)
        assert [segment.base_offset for segment in log.segments] == [bases[0], *bases[2:]]
        assert log.log_end_offset == 43
        directory.close(clean=False)


def test_the_index_files_that_kafka_makes_too_large_for_an_empty_log_are_cut(kafka):
    PartitionLog.open(DiskFileSystem(), kafka, "orders", 2, LogConfig(), topic_id=ID).close()
    for suffix in ("index", "timeindex"):
        (kafka / "orders-2" / f"{0:020}.{suffix}").write_bytes(bytes(24_000))
    import_kafka([kafka], ACCEPT, NOW_MS)
    assert list(Verifier(DiskFileSystem(), kafka, None).run([("orders", number) for number in range(3)])) == []


def test_the_leader_epoch_is_above_those_of_kafka_and_goes_back_to_it(kafka):
    (kafka / "orders-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n6 2\n")
    (kafka / "orders-1" / "leader-epoch-checkpoint").write_text(f"0\n2\nx 0\n{'9' * 5000} 0\n")
    import_kafka([kafka], ACCEPT, NOW_MS)
    assert image_of(kafka).leader_epoch == 7
    export_kafka([kafka], NOW_MS)
    partitions = read_kafka_metadata(DiskFileSystem(), kafka / METADATA_FOLDER).partitions[ID]
    assert {partition.leader_epoch for partition in partitions.values()} == {7}


def test_a_folder_goes_to_kafka_and_back(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    before = image_of(kafka)
    assert export_kafka([kafka], NOW_MS) == 1
    properties = parse_properties(kafka / "meta.properties", (kafka / "meta.properties").read_bytes())
    assert set(properties) == {"cluster.id", "node.id", "version", "directory.id"}
    with pytest.raises(DataDirectoryError, match="import-kafka"):
        LogDirectory.open(kafka)
    image = read_kafka_metadata(DiskFileSystem(), kafka / METADATA_FOLDER)
    assert image.configs == {"orders": {"retention.ms": "5000"}}
    assert image.group_configs == GROUP_CONFIGS
    assert image.broker_configs == BROKER_CONFIGS
    assert not (kafka / ".boot-id").exists()
    import_kafka([kafka], ACCEPT, NOW_MS)
    after = image_of(kafka)
    assert (after.topics, after.quotas, after.next_producer_id) == (before.topics, before.quotas, 4000)
    assert after.acls == before.acls == ACLS
    assert after.scram_credentials == before.scram_credentials == {"alice": CREDENTIALS}
    assert after.group_configs == GROUP_CONFIGS
    assert after.broker_configs == BROKER_CONFIGS


def test_the_records_after_a_snapshot_count_and_those_before_it_do_not(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    export_kafka([kafka], NOW_MS)
    folder = kafka / METADATA_FOLDER
    (snapshot,) = folder.glob("*.checkpoint")
    end = int(snapshot.name.partition("-")[0])
    old = build_batch([(None, encode_kafka_record(KafkaTopic("old", bytes(16)), 1), [])])
    new = build_batch([(None, encode_kafka_record(KafkaTopic("new", b"\x01" * 16), 1), [])], base_offset=end)
    (folder / f"{0:020}.log").write_bytes(old + new + new[:20])
    assert sorted(read_kafka_metadata(DiskFileSystem(), folder).topics.values()) == ["new", "orders"]
    data = bytearray(snapshot.read_bytes())
    data[len(data) // 2] ^= 1
    snapshot.write_bytes(data)
    with pytest.raises(KafkaMetadataError):
        read_kafka_metadata(DiskFileSystem(), folder)
    snapshot.write_bytes(data[:-5])
    with pytest.raises(KafkaMetadataError):
        read_kafka_metadata(DiskFileSystem(), folder)


def test_metadata_of_which_a_part_is_missing_is_an_error(kafka):
    """Topics would be missing, and their partitions be set aside at the first start."""
    fs, folder = DiskFileSystem(), kafka / METADATA_FOLDER
    log = folder / f"{0:020}.log"
    batches = [
        build_batch([(None, encode_kafka_record(record, 1), [])], base_offset=offset)
        for offset, record in enumerate(RECORDS)
    ]
    log.write_bytes(b"".join(batches[:2] + batches[3:]))
    with pytest.raises(KafkaMetadataError, match="the records from offset 2 to 2 are missing"):
        read_kafka_metadata(fs, folder)
    log.rename(folder / f"{1:020}.log").write_bytes(b"".join(batches[1:]))
    with pytest.raises(KafkaMetadataError, match="the records from offset 0 to 0 are missing"):
        read_kafka_metadata(fs, folder)
    for content in (b"", b"a" * 100):
        (folder / f"{1:020}.log").write_bytes(content)
        with pytest.raises(KafkaMetadataError, match="__cluster_metadata-0 cannot be read: it has no records"):
            import_kafka([kafka], ACCEPT, NOW_MS)


def test_a_snapshot_without_its_end_is_an_error(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    export_kafka([kafka], NOW_MS)
    (snapshot,) = (kafka / METADATA_FOLDER).glob("*.checkpoint")
    data = snapshot.read_bytes()
    footer_bytes = len(build_batch([(SNAPSHOT_FOOTER, struct.pack(">hb", 0, 0), [])], is_control=True))
    for end in (0, len(data) - footer_bytes):
        snapshot.write_bytes(data[:end])
        with pytest.raises(KafkaMetadataError, match=rf"the snapshot {snapshot.name} is incomplete"):
            read_kafka_metadata(DiskFileSystem(), kafka / METADATA_FOLDER)


def test_the_level_of_transaction_version_goes_to_kafka_and_back(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    assert image_of(kafka).feature_levels == {}
    directory = LogDirectory.open(kafka)
    store = MetadataStore(directory.open_metadata_log(LogConfig()), lambda: bytes(16))
    store.change_features({"transaction.version": 1}, NOW_MS)
    directory.close()
    export_kafka([kafka], NOW_MS)
    assert read_kafka_metadata(DiskFileSystem(), kafka / METADATA_FOLDER).features["transaction.version"] == 1
    import_kafka([kafka], ACCEPT, NOW_MS)
    assert image_of(kafka).feature_levels == {"transaction.version": 1}


def test_several_directories_are_imported_and_exported_together(kafka, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    text = (kafka / "meta.properties").read_text()
    (other / "meta.properties").write_text(text.replace("QjnXx8GqmUeMQn7OpwoyPg", "O5lr9VmoDkOLvRMUnr2drA"))
    (kafka / "orders-1").rename(other / "orders-1")
    with pytest.raises(DataDirectoryError, match=r"orders-1 is in none of the folders: name all of log\.dirs"):
        import_kafka([kafka], ACCEPT, NOW_MS)
    import_kafka([other, kafka], ACCEPT, NOW_MS)
    export_kafka([other, kafka], NOW_MS)
    partitions = read_kafka_metadata(DiskFileSystem(), kafka / METADATA_FOLDER).partitions[ID]
    assert [partitions[n].directories[0].hex() for n in range(2)] == [
        "4239d7c7c1aa99478c427ecea70a323e",
        "3b996bf559a80e438bbd131 49ebd9dac".replace(" ", ""),
    ]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (KafkaPartition(ID, 0, (2, 3)), "orders-0 is on other nodes only"),
        (KafkaPartition(ID, 5, (1,)), "has no partition 0 to 2 of topic orders"),
        (KafkaPartition(ID, 2, (1,)), "orders-2 is in none of the folders"),
        (KafkaPartition(ID, 2, (1,), (ID,)), "orders-2 is in none of the folders"),
    ],
)
def test_partitions_that_are_not_here_are_an_error_and_nothing_is_changed(kafka, record, said):
    log = kafka / METADATA_FOLDER / f"{0:020}.log"
    log.write_bytes(
        log.read_bytes() + build_batch([(None, encode_kafka_record(record, 1), [])], base_offset=len(RECORDS))
    )
    before = {path: path.read_bytes() for path in kafka.rglob("*") if path.is_file()}
    with pytest.raises(DataDirectoryError, match=said):
        import_kafka([kafka], ACCEPT, NOW_MS)
    assert {path: path.read_bytes() for path in kafka.rglob("*") if path.is_file() and path.name != ".lock"} == before


def test_a_partition_that_nobody_has_written_needs_no_folder(kafka):
    here = KafkaPartition(ID, 2, (1,), (bytes.fromhex("4239d7c7c1aa99478c427ecea70a323e"),))
    log = kafka / METADATA_FOLDER / f"{0:020}.log"
    batch = build_batch([(None, encode_kafka_record(here, 1), [])], base_offset=len(RECORDS))
    log.write_bytes(log.read_bytes() + batch)
    assert import_kafka([kafka], ACCEPT, NOW_MS).partitions == 3


def test_a_folder_of_another_topic_of_the_same_name_is_an_error(kafka):
    (kafka / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    with pytest.raises(DataDirectoryError, match="orders-0 belongs to another topic of this name"):
        import_kafka([kafka], ACCEPT, NOW_MS)


def test_an_import_that_was_interrupted_is_begun_again(kafka):
    (kafka / NEW_FOLDER / METADATA_FOLDER).mkdir(parents=True)
    (kafka / NEW_FOLDER / METADATA_FOLDER / f"{0:020}.log").write_bytes(b"half")
    assert import_kafka([kafka], ACCEPT, NOW_MS).topics == 1
    assert not (kafka / NEW_FOLDER).exists()


class FailingFiles(DiskFileSystem):
    """A disk that fails after some files were opened or changed."""

    left = 0
    """How many are opened or changed until then."""

    def _change(self) -> None:
        FailingFiles.left -= 1
        if FailingFiles.left < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def open(self, path: Path) -> OpenFile:
        self._change()
        return super().open(path)

    def rename(self, path: Path, target: Path) -> None:
        self._change()
        super().rename(path, target)

    def remove(self, path: Path) -> None:
        self._change()
        super().remove(path)

    def remove_tree(self, path: Path) -> None:
        self._change()
        super().remove_tree(path)


def owner_of(root: Path) -> str:
    """Whom the folder belongs to: kafka, us, or nobody."""
    try:
        LogDirectory.open(root).close(clean=False)
    except DataDirectoryError as problem:
        return "nobody" if "was interrupted" in str(problem) else "kafka"
    return "us"


@pytest.fixture
def two_folders(kafka: Path, tmp_path: Path) -> Path:
    """`kafka` with its second partition in another folder; their common parent."""
    other = tmp_path / "other"
    other.mkdir()
    text = (kafka / "meta.properties").read_text()
    (other / "meta.properties").write_text(text.replace("QjnXx8GqmUeMQn7OpwoyPg", "O5lr9VmoDkOLvRMUnr2drA"))
    (kafka / "orders-1").rename(other / "orders-1")
    return tmp_path


def interrupted(
    monkeypatch: pytest.MonkeyPatch, folders: Path, copy: Path, changes: int, command: Callable[[list[Path]], object]
) -> list[Path] | None:
    """Copy the folders, and let the disk fail after so many changes; None if the command has ended before."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    roots = [copy / "kafka", copy / "other"]
    for root in roots:
        shutil.copytree(folders / root.name, root)
    FailingFiles.left = changes
    with monkeypatch.context() as patched:
        patched.setattr("coordinator.kafka_folder.change.DiskFileSystem", FailingFiles)
        patched.setattr("coordinator.kafka_folder.conversion.DiskFileSystem", FailingFiles)
        try:
            command(roots)
        except (OSError, LogError, MetadataError):
            return roots
    return None


def test_an_import_that_ends_anywhere_leaves_folders_of_kafka_or_runs_again(monkeypatch, two_folders, tmp_path):
    def run(roots):
        import_kafka(roots, ACCEPT, NOW_MS)

    changes, seen = 0, set()
    while roots := interrupted(monkeypatch, two_folders, tmp_path / "copy", changes, run):
        owners = [owner_of(root) for root in roots]
        seen.add(tuple(owners))
        if owners[0] == "kafka":
            assert "us" not in owners
            assert read_kafka_metadata(DiskFileSystem(), roots[0] / METADATA_FOLDER).topics == {ID: "orders"}
            # Kafka does not start with other folders than those of partitions, and those that have this suffix.
            assert all(each.name.endswith(("-0", "-1", "-stray")) for each in roots[0].iterdir() if each.is_dir())
        run(roots)
        assert image_of(roots[0]).topics["orders"].partitions == 2
        for partition, root in enumerate(roots):
            directory = LogDirectory.open(root)
            assert len(everything(directory.open_log("orders", partition, LogConfig()))) == 3 + partition
            directory.close()
        changes += 1
    assert seen == {("kafka", "kafka"), ("kafka", "nobody"), ("nobody", "nobody"), ("nobody", "us")}


def test_an_export_that_ends_anywhere_leaves_folders_of_this_server_or_runs_again(monkeypatch, two_folders, tmp_path):
    def run(roots):
        export_kafka(roots, NOW_MS)

    import_kafka([two_folders / "kafka", two_folders / "other"], ACCEPT, NOW_MS)
    changes, seen = 0, set()
    while roots := interrupted(monkeypatch, two_folders, tmp_path / "copy", changes, run):
        owners = [owner_of(root) for root in roots]
        seen.add(tuple(owners))
        if owners[0] == "us":
            assert image_of(roots[0]).topics["orders"].partitions == 2
        run(roots)
        assert [owner_of(root) for root in roots] == ["kafka", "kafka"]
        assert len(read_kafka_metadata(DiskFileSystem(), roots[0] / METADATA_FOLDER).partitions[ID]) == 2
        assert not list(tmp_path.glob("copy/*/.boot-id"))
        changes += 1
    assert seen == {("us", "us"), ("us", "nobody"), ("nobody", "nobody"), ("nobody", "kafka")}


def test_each_folder_is_named_once(kafka, tmp_path):
    (tmp_path / "link").symlink_to(kafka)
    with pytest.raises(DataDirectoryError, match="link is named twice"):
        import_kafka([kafka, tmp_path / "link"], ACCEPT, NOW_MS)


def test_a_partition_in_two_folders_is_an_error(two_folders):
    roots = [two_folders / "kafka", two_folders / "other"]
    shutil.copytree(roots[0] / "orders-0", roots[1] / "orders-0")
    with pytest.raises(DataDirectoryError, match=r"a partition is in two folders, .*orders-0 and .*orders-0"):
        import_kafka(roots, ACCEPT, NOW_MS)


def test_a_folder_of_this_server_is_not_imported_and_one_of_kafka_not_exported(kafka):
    with pytest.raises(DataDirectoryError, match="is a folder of Kafka, not of this server"):
        export_kafka([kafka], NOW_MS)
    import_kafka([kafka], ACCEPT, NOW_MS)
    with pytest.raises(DataDirectoryError, match="is a folder of this server, not of Kafka"):
        import_kafka([kafka], ACCEPT, NOW_MS)


def test_a_folder_without_metadata_is_an_error(kafka):
    (kafka / METADATA_FOLDER).rename(kafka / "elsewhere")
    with pytest.raises(DataDirectoryError, match="__cluster_metadata-0 must be in one of the folders; it is in none"):
        import_kafka([kafka], ACCEPT, NOW_MS)


def test_damaged_bytes_that_were_taken_out_are_moved_away_first(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    (kafka / "damaged").mkdir()
    with pytest.raises(DataDirectoryError, match=r"move .*/damaged away"):
        export_kafka([kafka], NOW_MS)


KAFKAS_LOCK = """
import fcntl, sys
with open(sys.argv[1], "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
    sys.stdin.read()
"""
"""What java.nio.channels.FileChannel.tryLock does."""


def test_a_running_kafka_is_noticed_and_notices(kafka):
    command = [sys.executable, "-c", KAFKAS_LOCK, str(kafka / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(DataDirectoryError, match="is in use by another process"):
            import_kafka([kafka], ACCEPT, NOW_MS)
        process.stdin.close()
    import_kafka([kafka], ACCEPT, NOW_MS)
    directory = LogDirectory.open(kafka)
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert "BlockingIOError" in ran.stderr
    directory.close()


def test_a_quota_without_a_bound_goes_to_kafka_and_back(kafka):
    import_kafka([kafka], ACCEPT, NOW_MS)
    directory = LogDirectory.open(kafka)
    store = MetadataStore(directory.open_metadata_log(LogConfig()), lambda: bytes(16))
    store.change_quotas([QuotaRecord({"client-id": None}, "consumer_byte_rate", "inf")], NOW_MS)
    directory.close()
    export_kafka([kafka], NOW_MS)
    assert read_checkpoint(DiskFileSystem(), kafka / "recovery-point-offset-checkpoint")[METADATA_LOG, 0] > 0
    import_kafka([kafka], ACCEPT, NOW_MS)
    assert image_of(kafka).quotas[(("client-id", None),)] == {"consumer_byte_rate": float("inf")}
