"""Turns data folders of Kafka into folders of this server, and back: the logs stay, the metadata is written anew.

See docs/decisions/022-folders-of-kafka.md. No Kafka and no server may use the folders.
"""

import base64
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coordinator.log.checkpoints import CLEANER_OFFSETS, LOG_START_OFFSETS, RECOVERY_POINTS, UNRECOVERED
from coordinator.log.config import LogConfig
from coordinator.log.directories import LogDirectories
from coordinator.log.directory import LOCK, LogDirectory
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DiskFileSystem, read_file, write_file
from coordinator.log.last_stop import BOOT_ID
from coordinator.log.meta_properties import FORMAT_PROPERTY, META_PROPERTIES, parse_properties, write_properties
from coordinator.log.names import METADATA_LOG, STRAY_SUFFIX, folder_name, parse_folder_name, renamed_folder
from coordinator.log.partition_log import PartitionLog
from coordinator.log.partition_metadata import PartitionMetadataDamaged, read_topic_id
from coordinator.log.verify import DAMAGED_FOLDER
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.kafka_metadata import TOPIC_RESOURCE, KafkaImage, read_kafka_metadata, write_kafka_snapshot
from coordinator.metadata.kafka_records import (
    KafkaConfig,
    KafkaFeature,
    KafkaMetadataError,
    KafkaPartition,
    KafkaProducerIds,
    KafkaQuota,
    KafkaRecord,
    KafkaTopic,
)
from coordinator.metadata.records import LeaderEpochRecord, MetadataRecord, ProducerIdsRecord, QuotaRecord, TopicRecord
from coordinator.metadata.store import MetadataStore

METADATA_FOLDER: Final = folder_name(METADATA_LOG, 0)
NEW_FOLDER: Final = "metadata-to-be"
"""Where the new metadata log is made before it gets its name."""
FEATURES: Final = (
    KafkaFeature("metadata.version", 25),  # 4.0-IV3, the first of which Kafka 4 knows all; later ones upgrade it
    KafkaFeature("group.version", 1),
    KafkaFeature("transaction.version", 2),
)

THIS_IMPORT: Final = "import-kafka"
"""In place of the id of the boot: the system has kept what a Kafka wrote that was killed. What it has not kept is
damage, which is read around."""
FILES_OPEN: Final = 64
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
INT32_MAX: Final = 2**31 - 1

Accept = Callable[[str, Mapping[str, str]], tuple[dict[str, str], list[str]]]
"""Topic and its configs → those that this server can have, and the names of the others."""


@dataclass(slots=True)
class Imported:
    """What an import has found."""

    topics: int = 0
    partitions: int = 0
    quotas: int = 0
    left_out: list[str] = field(default_factory=list)
    """Configs that this server does not have: `topic: name=value`."""


def import_kafka(roots: Sequence[Path], accept: Accept, now_ms: int) -> Imported:
    """Let this server use what Kafka has in `roots`, all its log.dirs.

    Raises:
        DataDirectoryError: these are not all folders of one node of Kafka, or they are in use.
        KafkaMetadataError: Kafka's metadata log is damaged.
        OSError: a file cannot be read or written.
    """
    fs = DiskFileSystem()
    with _locked(roots, fs):
        all_properties = {root: _properties(root, fs) for root in roots}
        for root, properties in all_properties.items():
            if FORMAT_PROPERTY in properties:
                raise DataDirectoryError(f"{root} is a folder of this server, not of Kafka")
        node_id = _one_node(all_properties)
        metadata_root = _metadata_root(roots)
        kafka = read_kafka_metadata(fs, metadata_root / METADATA_FOLDER)
        directory_ids = {_id_bytes(properties["directory.id"]) for properties in all_properties.values()}
        _check_partitions(kafka, roots, node_id, directory_ids, fs)
        imported = Imported()
        records = [LeaderEpochRecord(_leader_epoch(roots)), *_our_records(kafka, accept, imported)]
        _write_our_metadata(fs, metadata_root, records, now_ms)
        _replace_metadata(fs, metadata_root)
        for root, properties in all_properties.items():
            _remove_stale_files(fs, root)
            write_file(fs, root / BOOT_ID, THIS_IMPORT.encode("ascii"))
            write_properties(fs, root, properties, is_ours=True)
    for root in roots:
        _recover(root, node_id)
    return imported


def _recover(root: Path, node_id: int) -> None:
    """Recover the logs of a Kafka that was killed, and flush them, so that what was in them is never in doubt.

    Kafka's cleaner leaves offsets out between segments, and that of this server does not. Above the recovery point,
    such a gap would be taken for records that were lost with the power, and what follows it would be removed.
    """
    directory = LogDirectory.open(root, node_id=node_id, boot_id=THIS_IMPORT)
    try:
        logs = [(*key, LogConfig()) for key in directory.stored_partitions() if key[0] != METADATA_LOG]
        directory.recover(DiskFileSystem(FILES_OPEN), [each for each in logs if directory.unrecovered_bytes(*each[:2])])
        directory.log_recovery()
    except BaseException:
        directory.close(clean=False)
        raise
    directory.close()


def export_kafka(roots: Sequence[Path], now_ms: int) -> int:
    """Let Kafka use what this server has in `roots`, all its log.dirs; return the number of topics.

    Raises:
        DataDirectoryError: these are not all folders of one server, or they are in use.
        MetadataError: the metadata log is damaged.
        OSError: a file cannot be read or written.
    """
    fs = DiskFileSystem()
    all_properties = {root: _properties(root, fs) for root in roots}
    node_id, metadata_root = _one_node(all_properties), _metadata_root(roots)
    for root in roots:
        if (root / DAMAGED_FOLDER).exists():
            raise DataDirectoryError(f"move {root / DAMAGED_FOLDER} away: Kafka accepts no folders but partitions")
    directories = LogDirectories.open(roots, metadata_root, node_id=node_id, fs=fs)
    try:
        directories.find_homes(lambda directory, topic, partition: False)
        image = MetadataStore(directories.open_metadata_log(LogConfig()), lambda: uuid.uuid4().bytes).image
        online = {each.directory_id for each in directories.online}
        missing = [key for key in image.log_directories if key not in online and image.partitions_by_directory[key]]
        if missing:
            named = ", ".join(image.log_directories[key] for key in missing)
            raise DataDirectoryError(f"name all log directories: {named} has partitions, too")
        records = list(_kafka_records(image, directories))
        write_kafka_snapshot(fs, metadata_root / NEW_FOLDER / METADATA_FOLDER, records, node_id, now_ms)
    finally:
        directories.close_unused()
    with _locked(roots, fs):
        _replace_metadata(fs, metadata_root)
        for root, properties in all_properties.items():
            _remove_stale_files(fs, root)
            write_properties(fs, root, properties, is_ours=False)
    return len(image.topics)


# ------------------------------------------------------------------------------------------------------------- folders


@contextmanager
def _locked(roots: Sequence[Path], fs: DiskFileSystem) -> Iterator[None]:
    with ExitStack() as stack:
        for root in roots:
            try:
                stack.callback(fs.lock(root / LOCK).release)
            except BlockingIOError:
                raise DataDirectoryError(f"data directory {root} is in use by another process") from None
        yield


def _properties(root: Path, fs: DiskFileSystem) -> dict[str, str]:
    path = root / META_PROPERTIES
    if not path.exists():
        raise DataDirectoryError(f"{root} is no data folder: it has no {META_PROPERTIES}")
    return parse_properties(path, read_file(fs, path))


def _one_node(all_properties: Mapping[Path, Mapping[str, str]]) -> int:
    owners = {(properties["cluster.id"], properties["node.id"]) for properties in all_properties.values()}
    if len(owners) > 1:
        raise DataDirectoryError("the folders belong to different nodes or clusters")
    ((_, node_id),) = owners
    return int(node_id)


def _metadata_root(roots: Sequence[Path]) -> Path:
    found = [root for root in roots if (root / METADATA_FOLDER).is_dir()]
    if len(found) != 1:
        raise DataDirectoryError(f"{METADATA_FOLDER} must be in one of the folders; it is in {len(found) or 'none'}")
    return found[0]


def _replace_metadata(fs: DiskFileSystem, root: Path) -> None:
    """Set the metadata log aside, under a name that neither Kafka nor this server reads, and put in the new one."""
    aside = root / renamed_folder(METADATA_FOLDER, uuid.uuid4().hex, STRAY_SUFFIX)
    fs.rename(root / METADATA_FOLDER, aside)
    fs.rename(root / NEW_FOLDER / METADATA_FOLDER, root / METADATA_FOLDER)
    fs.remove_tree(root / NEW_FOLDER)
    fs.flush_directory(root)


def _remove_stale_files(fs: DiskFileSystem, root: Path) -> None:
    """Remove what this server noted of its own stops, and the checkpoint files that Kafka has made but not written."""
    for name in (BOOT_ID, UNRECOVERED):
        if fs.exists(root / name):
            fs.remove(root / name)
    for name in (CLEANER_OFFSETS, RECOVERY_POINTS, LOG_START_OFFSETS):
        if fs.exists(root / name) and not read_file(fs, root / name):
            fs.remove(root / name)


# --------------------------------------------------------------------------------------------------------- from Kafka


def _check_partitions(
    kafka: KafkaImage, roots: Sequence[Path], node_id: int, directory_ids: set[bytes], fs: DiskFileSystem
) -> None:
    """Check that all partitions are here, each with the id of its topic.

    One that has no folder must belong to one of the directories with these ids; then nobody has written to it.

    Raises:
        DataDirectoryError: one is not.
    """
    stored = {key: root / name for root in roots for name in fs.names(root) if (key := parse_folder_name(name))}
    for topic_id, name in kafka.topics.items():
        partitions = kafka.partitions.get(topic_id, {})
        if sorted(partitions) != list(range(len(partitions))):
            raise DataDirectoryError(f"Kafka's metadata has no partition 0 to {len(partitions) - 1} of topic {name}")
        for index, partition in sorted(partitions.items()):
            if node_id not in partition.replicas:
                raise DataDirectoryError(f"partition {name}-{index} is on other nodes only: {partition.replicas}")
            folder = stored.get((name, index))
            if folder is None and directory_ids.intersection(partition.directories):
                continue
            if folder is None:
                raise DataDirectoryError(f"partition {name}-{index} is in none of the folders: name all of log.dirs")
            try:
                found = read_topic_id(fs, folder)
            except PartitionMetadataDamaged as problem:
                raise DataDirectoryError(f"{folder} has a damaged topic id: {problem}") from None
            if found not in (None, topic_id):
                raise DataDirectoryError(f"{folder} belongs to another topic of this name")


def _leader_epoch(roots: Sequence[Path]) -> int:
    """One above the last leader epochs of Kafka: clients, and the coordinator of transactions, accept no lower one."""
    last = 0
    for root in roots:
        for path in root.glob(f"*/{LEADER_EPOCHS}"):
            # A version, the number of lines that follow, and those: an epoch, and where it begins.
            words = path.read_bytes().split()[2::2]
            last = max(last, *(int(word) for word in words if word.isdigit() and int(word) < INT32_MAX), 0)
    return last + 1


def _our_records(kafka: KafkaImage, accept: Accept, imported: Imported) -> Iterator[MetadataRecord]:
    yield ProducerIdsRecord(kafka.next_producer_id)
    for topic_id, name in kafka.topics.items():
        count = len(kafka.partitions.get(topic_id, {}))
        given = kafka.configs.get(name, {})
        configs, left_out = accept(name, given)
        imported.left_out += [f"{name}: {each}={given[each]}" for each in left_out]
        imported.topics += 1
        imported.partitions += count
        yield TopicRecord(name, topic_id.hex(), count, configs)
    for entity, quotas in kafka.quotas.items():
        for key, value in quotas.items():
            imported.quotas += 1
            yield QuotaRecord(dict(entity), key, repr(value))


def _write_our_metadata(fs: DiskFileSystem, root: Path, records: list[MetadataRecord], now_ms: int) -> None:
    made = root / NEW_FOLDER
    if made.exists():
        fs.remove_tree(made)  # of an import that was interrupted
    fs.make_directory(made)
    log = PartitionLog.open(fs, made, METADATA_LOG, 0, LogConfig())
    try:
        store = MetadataStore(log, lambda: uuid.uuid4().bytes)
        store.append_all(records, now_ms)
        log.finish()
    finally:
        log.close()


# ----------------------------------------------------------------------------------------------------------- to Kafka


def _kafka_records(image: MetadataImage, directories: LogDirectories) -> Iterator[KafkaRecord]:
    node_id = directories.metadata.node_id
    yield from FEATURES
    for topic in image.topics.values():
        yield KafkaTopic(topic.name, topic.topic_id)
        for index in range(topic.partitions):
            home = directories.home(topic.name, index, topic.directory_id(index)) or directories.online[0]
            yield KafkaPartition(topic.topic_id, index, (node_id,), (_id_bytes(home.directory_id),), image.leader_epoch)
        for name, value in topic.configs.items():
            yield KafkaConfig(TOPIC_RESOURCE, topic.name, name, value)
    for entity, quotas in image.quotas.items():
        for key, quota in quotas.items():
            yield KafkaQuota(entity, key, quota)
    yield KafkaProducerIds(image.next_producer_id)


def _id_bytes(directory_id: str) -> bytes:
    try:
        decoded = base64.urlsafe_b64decode(directory_id + "==")
    except ValueError:
        decoded = b""
    if len(decoded) != 16:
        raise KafkaMetadataError(f"{directory_id} is no directory.id of Kafka")
    return decoded
