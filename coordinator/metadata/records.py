"""The records of the metadata log: JSON objects with their type in `kind`."""

from collections.abc import Mapping

import msgspec


class TopicRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="topic"):
    """A topic was created. `topic_id` is 32 hex digits (KIP-516)."""

    name: str
    topic_id: str
    partitions: int
    configs: dict[str, str] = {}


class PartitionsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="partitions"):
    """A topic got more partitions (KIP-195). `partitions` is their number now."""

    name: str
    partitions: int


class TopicConfigsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="topic_configs"):
    """The configs of a topic were changed (KIP-133, KIP-339). `configs` are all that it has now."""

    name: str
    configs: dict[str, str]


class RemoveTopicRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="remove_topic"):
    """A topic was deleted."""

    name: str


class ProducerIdsRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="producer_ids"):
    """Producer ids below `next_producer_id` may be in use (KIP-730)."""

    next_producer_id: int


class QuotaRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="quota"):
    """A quota of clients was set or removed (KIP-546).

    `entity` is "user", "client-id" or "ip" → name, or null for the default. `value` is a number as text, because JSON
    has no infinity; null if the quota was removed.
    """

    entity: Mapping[str, str | None]
    key: str
    value: str | None


class FeatureRecord(msgspec.Struct, frozen=True, tag_field="kind", tag="feature"):
    """The cluster uses another level of a feature (KIP-584). `epoch` counts the changes of all features."""

    name: str
    level: int
    epoch: int


MetadataRecord = (
    TopicRecord
    | PartitionsRecord
    | TopicConfigsRecord
    | RemoveTopicRecord
    | ProducerIdsRecord
    | QuotaRecord
    | FeatureRecord
)

encode_record = msgspec.json.Encoder().encode
decode_record = msgspec.json.Decoder(MetadataRecord).decode
