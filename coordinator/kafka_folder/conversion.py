"""Turns data folders of Kafka into folders of this server, and back: the logs stay, the metadata is converted.

See docs/decisions/022-folders-of-kafka.md. No Kafka and no server may use the folders.
"""

import base64
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from coordinator.config.key import INT32_MAX
from coordinator.kafka_folder.change import METADATA_FOLDER, NEW_FOLDER, FolderChange, locked
from coordinator.kafka_folder.metadata_log import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    KafkaImage,
    read_kafka_metadata,
    write_kafka_snapshot,
)
from coordinator.kafka_folder.records import (
    KafkaAcl,
    KafkaConfig,
    KafkaFeature,
    KafkaMetadataError,
    KafkaPartition,
    KafkaProducerIds,
    KafkaQuota,
    KafkaRecord,
    KafkaScramCredential,
    KafkaTopic,
)
from coordinator.log.config import METADATA_LOG_CONFIG, LogConfig
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS, LOG_START_OFFSETS, RECOVERY_POINTS, UNRECOVERED
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.meta_properties import (
    EXPORT,
    IMPORT,
)
from coordinator.log.data_dirs.partition_metadata import PartitionMetadataDamaged, read_topic_id
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DiskFileSystem, read_file, write_file
from coordinator.log.names import METADATA_LOG, parse_folder_name
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.last_stop import BOOT_ID
from coordinator.log.recovery.verify import DAMAGED_FOLDER
from coordinator.metadata.features import HIGHEST_LEVELS, levels
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import (
    AclRecord,
    BrokerConfigsRecord,
    FeatureRecord,
    GroupConfigsRecord,
    LeaderEpochRecord,
    MetadataRecord,
    ProducerIdsRecord,
    QuotaRecord,
    ScramCredentialRecord,
    TopicRecord,
)
from coordinator.metadata.store import MetadataStore
from coordinator.security.sasl.scram_credentials import ScramMechanism

METADATA_VERSION: Final = 25
"""4.0-IV3, the first of which Kafka 4 knows all; later ones upgrade it."""

THIS_IMPORT: Final = "import-kafka"
"""In place of the id of the boot: the system has kept what a Kafka wrote that was killed. What it has not kept is
damage, which is read around."""
FILES_OPEN: Final = 64
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
EPOCH: Final = re.compile(rb"[0-9]{1,10}")

Accept = Callable[[str, Mapping[str, str]], tuple[dict[str, str], list[str]]]
"""Name and configs of a topic, group or broker → those that this server can have, and the names of the others."""


class Acceptance(NamedTuple):
    """Which configs of Kafka are taken over."""

    topic: Accept
    group: Accept
    broker: Accept
    """The name is a node id, or empty for what is set for all brokers."""


class Imported(msgspec.Struct):
    """What an import has found."""

    topics: int = 0
    partitions: int = 0
    quotas: int = 0
    acls: int = 0
    scram_credentials: int = 0
    left_out: list[str] = msgspec.field(default_factory=list)
    """Configs that this server does not have: `topic: name=value`, `group ID: name=value`, or `broker ID: name`."""
    was_interrupted: bool = False
    """Whether this was the end of an import that was interrupted; then nothing was counted."""


def import_kafka(roots: Sequence[Path], accept: Acceptance, now_ms: int) -> Imported:
    """Let this server use what Kafka has in `roots`, all its log.dirs, or end an import that was interrupted.

    Raises:
        DataDirectoryError: these are not all folders of one node of Kafka, or they are in use.
        InvalidTopicName: a topic of Kafka has a name that none may have.
        KafkaMetadataError: Kafka's metadata log is damaged.
        OSError: a file cannot be read or written.
    """
    change = FolderChange.of(roots, IMPORT)
    with locked(roots):
        imported = Imported(was_interrupted=change.was_interrupted)
        if not imported.was_interrupted:
            for root in filter(change.is_changed, roots):
                raise DataDirectoryError(f"{root} is a folder of this server, not of Kafka")
            _make_our_metadata(change, accept, imported, now_ms)
            change.mark()
        change.finish(lambda root: _recover(change, root))
    return imported


def _make_our_metadata(change: FolderChange, accept: Acceptance, imported: Imported, now_ms: int) -> None:
    kafka = read_kafka_metadata(change.fs, change.metadata_root / METADATA_FOLDER)
    _check_partitions(kafka, change)
    change.remove_marks()
    records = [LeaderEpochRecord(_leader_epoch(change.roots)), *_our_records(kafka, accept, imported)]
    change.discard_new_metadata()  # of an import that was interrupted
    try:
        _write_our_metadata(change.fs, change.metadata_root / NEW_FOLDER, records, now_ms)
    except BaseException:
        change.discard_new_metadata()
        raise


class _HeldLock:
    """The lock of a folder, which somebody else releases."""

    def release(self) -> None:
        """Nothing is released."""


def _recover(change: FolderChange, root: Path) -> None:
    """Recover the logs of a Kafka that was killed, and flush them, so that what was in them is never in doubt.

    Kafka's cleaner leaves offsets out between segments, and that of this server does not. Above the recovery point,
    such a gap would be taken for records that were lost with the power, and what follows it would be removed.
    """
    fs, this_import = change.fs, THIS_IMPORT.encode("ascii")
    if not fs.exists(root / BOOT_ID) or read_file(fs, root / BOOT_ID) != this_import:
        _remove_stale_files(fs, root)
        write_file(fs, root / BOOT_ID, this_import)
    directory = LogDirectory(fs, root, _HeldLock(), change.properties[root], THIS_IMPORT)
    try:
        logs = [(*key, LogConfig()) for key in directory.stored_partitions() if key[0] != METADATA_LOG]
        # Empty ones, too: Kafka makes their index files larger than needed, and cuts them when it stops.
        directory.recover(DiskFileSystem(FILES_OPEN), [log for log in logs if directory.needs_recovery(*log[:2])])
        directory.log_recovery()
    except BaseException:
        directory.close(clean=False)
        raise
    directory.close()


def export_kafka(roots: Sequence[Path], now_ms: int) -> int | None:
    """Let Kafka use what this server has in `roots`, all its log.dirs; return the number of topics.

    None: an export that was interrupted has ended.

    Raises:
        DataDirectoryError: these are not all folders of one server, or they are in use.
        MetadataError: the metadata log is damaged.
        OSError: a file cannot be read or written.
    """
    change = FolderChange.of(roots, EXPORT)
    count = None
    if not change.was_interrupted:
        for root in filter(change.is_changed, roots):
            raise DataDirectoryError(f"{root} is a folder of Kafka, not of this server")
        count = _make_kafkas_metadata(change, now_ms)
    with locked(roots):
        if count is not None:
            change.mark()
        change.finish(lambda root: _remove_stale_files(change.fs, root))
    return count


def _make_kafkas_metadata(change: FolderChange, now_ms: int) -> int:
    """Return the number of topics."""
    for root in change.roots:
        if (root / DAMAGED_FOLDER).exists():
            raise DataDirectoryError(f"move {root / DAMAGED_FOLDER} away: Kafka accepts no folders but partitions")
    with locked(change.roots):
        change.remove_marks()
    directories = LogDirectories.open(change.roots, change.metadata_root, node_id=change.node_id, fs=change.fs)
    try:
        directories.find_homes(lambda directory, topic, partition: False)
        image = MetadataStore(directories.open_metadata_log(METADATA_LOG_CONFIG), lambda: uuid.uuid4().bytes).image
        online = {directory.directory_id for directory in directories.online}
        missing = [key for key in image.log_directories if key not in online and image.partitions_by_directory[key]]
        if missing:
            named = ", ".join(image.log_directories[key] for key in missing)
            raise DataDirectoryError(f"name all log directories: {named} has partitions, too")
        records = list(_kafka_records(image, directories))
        change.discard_new_metadata()  # of an export that was interrupted
        folder = change.metadata_root / NEW_FOLDER / METADATA_FOLDER
        write_kafka_snapshot(change.fs, folder, records, change.node_id, now_ms)
    finally:
        directories.close_unused()
    return len(image.topics)


# ------------------------------------------------------------------------------------------------------------- folders


def _remove_stale_files(fs: DiskFileSystem, root: Path) -> None:
    """Remove what this server noted of its own stops, and the checkpoint files that Kafka has made but not written."""
    for name in (BOOT_ID, UNRECOVERED):
        if fs.exists(root / name):
            fs.remove(root / name)
    for name in (CLEANER_OFFSETS, RECOVERY_POINTS, LOG_START_OFFSETS):
        if fs.exists(root / name) and not read_file(fs, root / name):
            fs.remove(root / name)


# --------------------------------------------------------------------------------------------------------- from Kafka


def _check_partitions(kafka: KafkaImage, change: FolderChange) -> None:
    """Check that all partitions are here, each once and with the id of its topic.

    One that has no folder must belong to one of these directories; then nobody has written to it.

    Raises:
        DataDirectoryError: one is not.
    """
    fs, node_id = change.fs, change.node_id
    directory_ids = {_id_bytes(entries["directory.id"]) for entries in change.properties.values()}
    stored: dict[tuple[str, int], Path] = {}
    for folder in (root / name for root in change.roots for name in fs.names(root)):
        key = parse_folder_name(folder.name)
        if key is not None and stored.setdefault(key, folder) != folder:
            raise DataDirectoryError(
                f"a partition is in two folders, {stored[key]} and {folder}: move one of them away"
            )
    for topic_id, name in kafka.topics.items():
        partitions = kafka.partitions.get(topic_id, {})
        if sorted(partitions) != list(range(len(partitions))):
            raise DataDirectoryError(f"Kafka's metadata has no partition 0 to {len(partitions) - 1} of topic {name}")
        for index, partition in sorted(partitions.items()):
            if node_id not in partition.replicas:
                raise DataDirectoryError(f"partition {name}-{index} is on other nodes only: {partition.replicas}")
            found_in = stored.get((name, index))
            if found_in is None and directory_ids.intersection(partition.directories):
                continue
            if found_in is None:
                raise DataDirectoryError(f"partition {name}-{index} is in none of the folders: name all of log.dirs")
            try:
                found = read_topic_id(fs, found_in)
            except PartitionMetadataDamaged as problem:
                raise DataDirectoryError(f"{found_in} has a damaged topic id: {problem}") from None
            if found not in (None, topic_id):
                raise DataDirectoryError(f"{found_in} belongs to another topic of this name")


def _leader_epoch(roots: Sequence[Path]) -> int:
    """One above the last leader epochs of Kafka: clients, and the coordinator of transactions, accept no lower one."""
    last = 0
    for root in roots:
        for path in root.glob(f"*/{LEADER_EPOCHS}"):
            # A version, the number of lines that follow, and those: an epoch, and where it begins.
            words = path.read_bytes().split()[2::2]
            last = max(last, *(int(word) for word in words if EPOCH.fullmatch(word) and int(word) < INT32_MAX), 0)
    return last + 1


def _our_records(kafka: KafkaImage, accept: Acceptance, imported: Imported) -> Iterator[MetadataRecord]:
    yield ProducerIdsRecord(kafka.next_producer_id)
    for topic_id, name in kafka.topics.items():
        count = len(kafka.partitions.get(topic_id, {}))
        given = kafka.configs.get(name, {})
        configs, left_out = accept.topic(name, given)
        imported.left_out += [f"{name}: {sentence}={given[sentence]}" for sentence in left_out]
        imported.topics += 1
        imported.partitions += count
        yield TopicRecord(name, topic_id.hex(), count, configs)
    for group_id, given in kafka.group_configs.items():
        configs, left_out = accept.group(group_id, given)
        imported.left_out += [f"group {group_id}: {sentence}={given[sentence]}" for sentence in left_out]
        if configs:
            yield GroupConfigsRecord(group_id, configs)
    for node, given in kafka.broker_configs.items():
        configs, left_out = accept.broker(node, given)
        imported.left_out += [f"broker {node or 'default'}: {sentence}" for sentence in left_out]
        if configs:
            yield BrokerConfigsRecord(node, configs)
    for name, highest in HIGHEST_LEVELS.items():
        if (level := kafka.features.get(name, highest)) < highest:
            yield FeatureRecord(name, level, epoch=1)
    for entity, quotas in kafka.quotas.items():
        for key, value in quotas.items():
            imported.quotas += 1
            yield QuotaRecord(dict(entity), key, repr(value))
    for acl in kafka.acls.values():
        imported.acls += 1
        yield AclRecord(
            acl.acl_id.hex(),
            acl.resource_type,
            acl.resource_name,
            acl.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
    for credential in kafka.scram_credentials.values():
        if credential.mechanism not in set(ScramMechanism):
            imported.left_out.append(f"user {credential.name}: SCRAM mechanism {credential.mechanism}")
            continue
        imported.scram_credentials += 1
        yield ScramCredentialRecord(
            credential.name,
            credential.mechanism,
            credential.iterations,
            credential.salt,
            credential.stored_key,
            credential.server_key,
        )


def _write_our_metadata(fs: DiskFileSystem, made: Path, records: list[MetadataRecord], now_ms: int) -> None:
    fs.make_directory(made)
    log = PartitionLog.open(fs, made, METADATA_LOG, 0, METADATA_LOG_CONFIG)
    try:
        store = MetadataStore(log, lambda: uuid.uuid4().bytes)
        store.append_all(records, now_ms)
        log.finish()
    finally:
        log.close()


# ----------------------------------------------------------------------------------------------------------- to Kafka


def _kafka_records(image: MetadataImage, directories: LogDirectories) -> Iterator[KafkaRecord]:
    node_id = directories.metadata.node_id
    for name, level in {"metadata.version": METADATA_VERSION, **levels(image)}.items():
        yield KafkaFeature(name, level)
    for topic in image.topics.values():
        yield KafkaTopic(topic.name, topic.topic_id)
        for index in range(topic.partitions):
            home = directories.home(topic.name, index, topic.directory_id(index)) or directories.online[0]
            yield KafkaPartition(topic.topic_id, index, (node_id,), (_id_bytes(home.directory_id),), image.leader_epoch)
        for name, value in topic.configs.items():
            yield KafkaConfig(TOPIC_RESOURCE, topic.name, name, value)
    for group_id, configs in image.group_configs.items():
        for name, value in configs.items():
            yield KafkaConfig(GROUP_RESOURCE, group_id, name, value)
    for node, configs in image.broker_configs.items():
        for name, value in configs.items():
            yield KafkaConfig(BROKER_RESOURCE, node, name, value)
    for entity, quotas in image.quotas.items():
        for key, quota in quotas.items():
            yield KafkaQuota(entity, key, quota)
    for acl, acl_id in image.acls.items():
        yield KafkaAcl(bytes.fromhex(acl_id), *acl)
    for name, credentials in image.scram_credentials.items():
        for mechanism, credential in credentials.items():
            yield KafkaScramCredential(
                name, mechanism, credential.salt, credential.stored_key, credential.server_key, credential.iterations
            )
    yield KafkaProducerIds(image.next_producer_id)


def _id_bytes(directory_id: str) -> bytes:
    try:
        decoded = base64.urlsafe_b64decode(directory_id + "==")
    except ValueError:
        decoded = b""
    if len(decoded) != 16:
        raise KafkaMetadataError(f"{directory_id} is no directory.id of Kafka")
    return decoded
