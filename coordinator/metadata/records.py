"""The records of the metadata log: JSON objects with their type in `kind`."""

from collections.abc import Mapping
from sys import intern

import msgspec

from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism

AclBinding = tuple[int, str, int, str, str, int, int]
"""Type of the resource, its name, type of the pattern, principal, host, operation, type of the permission."""


class TopicRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="topic"):
    """A topic was created. `topic_id` is 32 hex digits (KIP-516).

    `directories` are the ids of the log directories of its partitions in turn (KIP-858); none if there is only one.
    """

    name: str
    topic_id: str
    partitions: int
    configs: dict[str, str] = {}
    directories: list[str] = []


class PartitionsRecord(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="partitions"):
    """A topic got more partitions (KIP-195). `partitions` is their number now.

    `directories` are those of all partitions, as in TopicRecord.
    """

    name: str
    partitions: int
    directories: list[str] = []


class PartitionDirectoriesRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="partition_directories"):
    """Partitions of a topic were found in other log directories, or given up; `directories` as in TopicRecord.

    An empty id stands for a partition that is in no directory (DirectoryId.UNASSIGNED).
    """

    name: str
    directories: list[str]


class LogDirectoriesRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="log_directories"):
    """The log directories of the node, id → path, if there ever was more than one (KIP-858)."""

    directories: dict[str, str]


class TopicConfigsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="topic_configs"):
    """The configs of a topic were changed (KIP-133, KIP-339). `configs` are all that it has now."""

    name: str
    configs: dict[str, str]


class GroupConfigsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="group_configs"):
    """The configs of a group were changed (KIP-848). `configs` are all that it has now; the group need not exist."""

    name: str
    configs: dict[str, str]


class BrokerConfigsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="broker_configs"):
    """The configs of a broker were changed while it ran (KIP-226). `configs` are all that are set for it now.

    `name` is its node id, or empty for what is set for all brokers of the cluster.
    """

    name: str
    configs: dict[str, str]


class RemoveTopicRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="remove_topic"):
    """A topic was deleted."""

    name: str


class ProducerIdsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="producer_ids"):
    """Producer ids below `next_producer_id` may be in use (KIP-730)."""

    next_producer_id: int


class LeaderEpochRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="leader_epoch"):
    """The leader epoch of all partitions, from here on: above those of a Kafka that led them before (KIP-101)."""

    leader_epoch: int


class QuotaRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="quota"):
    """A quota of clients was set or removed (KIP-546).

    `entity` is "user", "client-id" or "ip" → name, or null for the default. `value` is a number as text, because JSON
    has no infinity; null if the quota was removed.
    """

    entity: Mapping[str, str | None]
    key: str
    value: str | None


class ScramCredentialRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="scram_credential"):
    """A user got a SCRAM credential (KIP-554). `mechanism` is 1 for SHA-256, 2 for SHA-512; bytes are base64.

    No password can be made of it, but passwords can be tried: its repr does not show it.
    """

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"ScramCredentialRecord(name={self.name!r}, mechanism={self.mechanism}, iterations={self.iterations})"


def credential_record(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> ScramCredentialRecord:
    """The record that gives a user this credential."""
    return ScramCredentialRecord(
        user, mechanism, credential.iterations, credential.salt, credential.stored_key, credential.server_key
    )


class RemoveScramCredentialRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="remove_scram_credential"):
    """The SCRAM credential of a user was removed."""

    name: str
    mechanism: int


class FeatureRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="feature"):
    """The cluster uses another level of a feature (KIP-584). `epoch` counts the changes of all features."""

    name: str
    level: int
    epoch: int


class AclRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="acl"):
    """An ACL was created (KIP-801). The numbers are those of the protocol. `acl_id` is 32 hex digits, as in Kafka."""

    acl_id: str
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @property
    def binding(self) -> AclBinding:
        return _binding(self)


class RemoveAclRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="remove_acl"):
    """An ACL was deleted; the fields are those of AclRecord."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @property
    def binding(self) -> AclBinding:
        return _binding(self)


def _binding(record: AclRecord | RemoveAclRecord) -> AclBinding:
    return (
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        intern(record.principal),
        intern(record.host),
        record.operation,
        record.permission_type,
    )


MetadataRecord = (
    TopicRecord
    | PartitionsRecord
    | TopicConfigsRecord
    | GroupConfigsRecord
    | BrokerConfigsRecord
    | RemoveTopicRecord
    | ProducerIdsRecord
    | QuotaRecord
    | PartitionDirectoriesRecord
    | LogDirectoriesRecord
    | LeaderEpochRecord
    | FeatureRecord
    | AclRecord
    | RemoveAclRecord
    | ScramCredentialRecord
    | RemoveScramCredentialRecord
)

encode_record = msgspec.json.Encoder().encode
decode_record = msgspec.json.Decoder(MetadataRecord).decode
