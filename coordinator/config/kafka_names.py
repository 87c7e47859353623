"""The settings that Kafka has: those of 4.3.1, also those that it does not describe, and those that 3.9 still had."""

from typing import Final

from coordinator.config.kafka_broker_configs import kafka_broker_configs

PREFIXES: Final = ("zookeeper.", "password.encoder.", "broker.config.", "sasl.kerberos.", "config.providers.")
OTHERS: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "delegation.token.master.key",
        "eligible.leader.replicas.enable",
        "group.coordinator.new.enable",
        "group.share.enable",
        "group.share.initialize.retry.interval.ms",
        "group.share.max.groups",
        "group.share.persister.class.name",
        "inter.broker.protocol.version",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "metadata.log.segment.min.bytes",
        "offsets.commit.required.acks",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.task.retry.backoff.max.ms",
        "remote.log.manager.task.retry.backoff.ms",
        "remote.log.manager.task.retry.jitter",
        "reserved.broker.max.id",
        "server.max.startup.time.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
        "unclean.leader.election.interval.ms",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    }
)


def is_of_kafka(name: str) -> bool:
    """Whether Kafka 3.9 or 4.3 has a setting of this name."""
    return name in kafka_broker_configs() or name in OTHERS or name.startswith(PREFIXES)
