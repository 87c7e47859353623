"""The keys of client quotas (QuotaConfig)."""

from coordinator.config.key import INT32_MAX, ConfigKey

QUOTA_WINDOW_NUM = ConfigKey(
    "quota.window.num",
    11,
    "The number of samples over which the rates of client quotas are measured, the current one included.",
    1,
    10_000,
)
QUOTA_WINDOW_SIZE_SECONDS = ConfigKey(
    "quota.window.size.seconds", 1, "The length in seconds of each sample of client quotas.", 1, 86_400
)
CLIENT_QUOTAS_MAX = ConfigKey(
    "client.quotas.max",
    10_000,
    "The maximum number of users, client ids, pairs of both and IP addresses that have quotas. A request that would "
    "give quotas to another one is answered POLICY_VIOLATION. Kafka has no such limit.",
    1,
    INT32_MAX,
)
CONTROLLER_QUOTA_WINDOW_NUM = ConfigKey(
    "controller.quota.window.num",
    11,
    "The number of samples of `controller_mutation_rate`: times their length and the rate, as many partitions may be "
    "created or deleted in a burst.",
    1,
    10_000,
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = ConfigKey(
    "controller.quota.window.size.seconds",
    1,
    "The length in seconds of each sample of `controller_mutation_rate`.",
    1,
    86_400,
)
