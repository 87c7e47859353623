"""The keys of the audit. Kafka has none of them."""

from coordinator.config.key import ConfigKey

GROUP_AUDIT_OFFSETS_INTERVAL_MS = ConfigKey(
    "group.audit.offsets.interval.ms",
    60_000,
    "The interval in ms at which the offset commits of each group are written to the audit topic. "
    "Kafka has no such setting.",
    1000,
    24 * 3600 * 1000,
)
GROUP_AUDIT_RECORDS_INTERVAL_MS = ConfigKey(
    "group.audit.records.interval.ms",
    60_000,
    "The interval in ms at which the audit topic is told what became of the records of each share group: delivered "
    "again, rejected, archived. Kafka has no such setting.",
    1000,
    24 * 3600 * 1000,
)
GROUP_AUDIT_LINGER_MS = ConfigKey(
    "group.audit.linger.ms",
    5,
    "How long events that change nothing in __consumer_offsets wait for others, in ms, so that they share a compressed "
    "batch of the audit topic, which takes 10 to 20 % fewer bytes. A kill within that time loses them: "
    "changes of groups are lost with them, but a request that was rejected is then not reported. "
    "0: each is written at once. Kafka has no such setting.",
    0,
    1000,
)
AUDIT_COMPRESSION_TYPE = ConfigKey(
    "audit.compression.type",
    "lz4",
    "The compression of the batches in __group_audit: none, gzip, snappy, lz4, zstd. A single small event is never "
    "compressed. Kafka has no such setting.",
    one_of=("none", "gzip", "snappy", "lz4", "zstd"),
)
AUDIT_CHAIN = ConfigKey(
    "audit.chain",
    False,
    "Whether each record of __group_audit carries the hash of the one before it, so that `coordinator audit verify` "
    "finds the first event that was changed, left out or moved. Kafka has no such setting.",
)
