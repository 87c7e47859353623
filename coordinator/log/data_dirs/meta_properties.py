"""`meta.properties`: the cluster and node of a log directory, and its id (MetaProperties.java, KIP-858)."""

import base64
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from _wire.checksums import checksum
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem, read_file, write_file_atomically
from coordinator.logger import logger

META_PROPERTIES: Final = "meta.properties"
META_VERSION = "1"
FORMAT_PROPERTY = "coordinator.format.version"
FORMAT_VERSION = "3"
"""The version of the format of this server. META_VERSION is the version of Kafka's meta.properties.

Version 3 (0.3.0): the audit has events about the coordinator itself, and the metadata log and groups have records that
0.2.0 does not know. Version 2: groups are stored in the same partitions as on Kafka. Version 1 did not have this
property.
"""
OLDER_FORMATS: Final = frozenset({"2"})
"""What this version reads as it is. A start writes FORMAT_VERSION: from then on older versions refuse the folder."""
NODE_ID: Final = re.compile("[0-9]{1,10}")
CHECKSUM_PROPERTY = "coordinator.checksum"
IMPORT: Final = "import-kafka"
EXPORT: Final = "export-kafka"
RESTORE: Final = "restore"
"""What changes a whole folder. Until it has ended, its name is the `version` of `meta.properties`, which neither Kafka
nor this server accepts."""
COMMANDS: Final = {IMPORT: f"log {IMPORT}", EXPORT: f"log {EXPORT}", RESTORE: RESTORE}


def random_id() -> str:
    """Return a new id in Kafka's form: a random UUID in URL-safe base64, without padding."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")


def load_properties(fs: FileSystem, root: Path, node_id: int, cluster_id: str | None) -> dict[str, str]:
    path = root / META_PROPERTIES
    if not fs.exists(path):
        properties = {
            "cluster.id": cluster_id or random_id(),
            "directory.id": random_id(),
            "node.id": str(node_id),
            "version": META_VERSION,
        }
        return write_properties(fs, root, properties, is_ours=True)
    properties = parse_properties(path, read_file(fs, path))
    if properties["node.id"] != str(node_id):
        raise DataDirectoryError(
            f"data directory {root} belongs to node {properties['node.id']}, not to node {node_id} ({path})"
        )
    if cluster_id is not None and properties["cluster.id"] != cluster_id:
        raise DataDirectoryError(
            f"data directory {root} belongs to cluster {properties['cluster.id']}, not to {cluster_id}"
        )
    found = properties.get(FORMAT_PROPERTY)
    if found in OLDER_FORMATS:
        logger.info("data folder upgraded", directory=str(root), format_before=found, format=FORMAT_VERSION)
        return write_properties(fs, root, properties, is_ours=True)
    if found != FORMAT_VERSION:
        raise DataDirectoryError(
            f"data directory {root} was written by another version of this server or by Kafka (in {path},"
            f" {FORMAT_PROPERTY} is {properties.get(FORMAT_PROPERTY, 'missing')}, not {FORMAT_VERSION}); use an empty"
            " data directory, or `coordinator log import-kafka`"
        )
    return properties


def write_properties(fs: FileSystem, root: Path, properties: Mapping[str, str], *, is_ours: bool) -> dict[str, str]:
    """Replace the file: that of a directory of this server, or of Kafka; return what is in it.

    Raises:
        OSError: it cannot be written.
    """
    written = {name: value for name, value in properties.items() if name not in (FORMAT_PROPERTY, CHECKSUM_PROPERTY)}
    if is_ours:
        written[FORMAT_PROPERTY] = FORMAT_VERSION
        written[CHECKSUM_PROPERTY] = _properties_checksum(written)
    text = "#\n" + "".join(f"{name}={value}\n" for name, value in written.items())
    write_file_atomically(fs, root / META_PROPERTIES, text.encode("utf-8"))
    return written


def _properties_checksum(properties: Mapping[str, str]) -> str:
    """CRC-32C of all properties but itself; a file of an older version, or one that was edited, may have none."""
    lines = [f"{name}={value}\n" for name, value in sorted(properties.items()) if name != CHECKSUM_PROPERTY]
    return str(checksum("".join(lines).encode("utf-8")))


def parse_properties(path: Path, data: bytes, *, unfinished: str | None = None) -> dict[str, str]:
    """Parse a Java properties file, in the subset of the syntax that Kafka writes to meta.properties.

    `unfinished` is IMPORT, EXPORT or RESTORE, if a folder is accepted on which this command has not ended.

    Raises:
        DataDirectoryError: it is damaged, or of another version.
    """
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    version = properties.get("version", "")
    if version in COMMANDS and version != unfinished:
        raise DataDirectoryError(
            f"`coordinator {COMMANDS[version]}` was interrupted on {path.parent}:"
            " run it again with the same directories"
        )
    if version == "0" and "broker.id" in properties:
        raise DataDirectoryError(f"{path} has version 0: it is of a Kafka with ZooKeeper; migrate that to KRaft first")
    for name in ("version", "cluster.id", "node.id"):
        if not properties.get(name):
            raise DataDirectoryError(f"{path} is damaged: {name} is missing")
    if not NODE_ID.fullmatch(properties["node.id"]):
        raise DataDirectoryError(f"{path} is damaged: node.id is {properties['node.id']!r}, not a number")
    if properties.get(CHECKSUM_PROPERTY) not in (None, _properties_checksum(properties)):
        raise DataDirectoryError(
            f"{path} is damaged: its checksum is wrong (after a change by hand, remove {CHECKSUM_PROPERTY})"
        )
    if version not in (META_VERSION, unfinished):
        raise DataDirectoryError(f"{path} has version {version}; only {META_VERSION} is supported")
    properties.setdefault("directory.id", random_id())
    return properties
