"""Mutants of client quotas: what is measured, who is throttled, and what happens to a muted connection."""

from typing import Final

from tests.mutations.mutant import Mutant

RATE_MUTANTS: Final = (
    Mutant(
        "a burst counts against the moment that it took",
        "Rate.measure",
        "missing = count - 1 - elapsed_ms // sample_ms",
        "missing = 0",
    ),
    Mutant(
        "a sample leaves the rate by the time of its first record",
        "Rate.measure",
        "now_ms - samples[0].last_ms >= count * sample_ms",
        "now_ms - samples[0].begun_ms >= count * sample_ms",
    ),
    Mutant(
        "a bucket is empty at first",
        "TokenBucket._refill",
        "self._tokens = burst",
        "self._tokens = 0.0",
    ),
    Mutant(
        "a bucket holds any number of tokens",
        "TokenBucket._refill",
        "self._tokens = min(burst, self._tokens + limit * (now_ms - self._last_ms) / 1000)",
        "self._tokens = self._tokens + limit * (now_ms - self._last_ms) / 1000",
    ),
)

RULE_MUTANTS: Final = (
    Mutant(
        "a quota of a user counts for each client id",
        "_levels",
        'by_user = (user_name, "")',
        "by_user = (user_name, client_id)",
    ),
    Mutant(
        "all users have the quota of one",
        "Charge._client",
        "self._connection.principal.name",
        '"ANONYMOUS"',
    ),
    Mutant(
        "users share the default quota of users",
        "_levels",
        "user_name = _shortened(user_name)",
        'user_name = "all"',
    ),
    Mutant(
        "a client without a client id has the default of client ids",
        "_levels",
        "if not client_id:",
        "if False:",
    ),
    Mutant(
        "long names are remembered as they are",
        "limits._shortened",
        "if len(name) <= NAME_LENGTH_MAX:",
        "if True:",
    ),
    Mutant(
        "any number of clients is remembered",
        "Meters.get",
        "if len(self._meters) > CLIENTS_MAX:",
        "if False:",
    ),
    Mutant(
        "clients are remembered in the order in which they came",
        "Meters.get",
        "found = self._meters.pop(shared_by, None)",
        "found = self._meters.get(shared_by)",
    ),
    Mutant(
        "clients are never forgotten",
        "Meters.expire",
        "if now_ms - used_ms < UNUSED_MS_MAX:",
        "if True:",
    ),
    Mutant(
        "requests are throttled for any time",
        "RateQuota.record",
        "return throttle_ms if self._throttle_ms_max is None else min(throttle_ms, self._throttle_ms_max)",
        "return throttle_ms",
    ),
    Mutant(
        "a strict quota of mutations allows everything",
        "MutationQuota.consume",
        "if throttle_ms:\n    return False, throttle_ms",
        "if throttle_ms:\n    return True, throttle_ms",
    ),
    Mutant(
        "quotas below zero are taken",
        "_check_value",
        "if value <= 0 or math.isnan(value):",
        "if math.isnan(value):",
    ),
    Mutant(
        "any number of entities has quotas",
        "Changes._check_room",
        "self._new_entities += 1",
        "",
    ),
    Mutant(
        "an entity that comes again is changed again",
        "Changes.add",
        "if entity in self.problems or len(set(keys)) < len(keys):",
        "if len(set(keys)) < len(keys):",
    ),
    Mutant(
        "a strict filter finds entities with other types beside",
        "matcher",
        "if strict and (names.keys() != components_by_type.keys() or not components_by_type):",
        "if strict and not components_by_type:",
    ),
)

THROTTLING_MUTANTS: Final = (
    Mutant(
        "a throttled connection is not muted",
        "Connection.finish",
        "if throttle_time_ms > 0:",
        "if False:",
    ),
    Mutant(
        "a connection is muted for ever",
        "Throttling.due",
        "key.connection.unmute()",
        "pass",
    ),
    Mutant(
        "a request that the server does not read counts as stalled",
        "Connection.note_unfinished",
        "if self.reading_stopped or not self.splitter.has_begun():",
        "if not self.splitter.has_begun():",
    ),
    Mutant(
        "heartbeats are never measured",
        "SessionTable.heartbeat",
        "if self.leaves_heartbeats:",
        "if False:",
    ),
    Mutant(
        "quotas do not hold after a restart",
        "Throttling.__init__",
        "self.usage = QuotaUsage(config)\nself.load()",
        "self.usage = QuotaUsage(config)",
    ),
    Mutant(
        "a fetch that is not sent counts",
        "Charge._throttle_time",
        "self._usage.consumer.unrecord(client, response_bytes, now_ms)",
        "pass",
    ),
    Mutant(
        "a throttled fetch is answered with its records",
        "Charge.encode",
        "if isinstance(response, FetchResponse):",
        "if False:",
    ),
    Mutant(
        "a fetch may read more than can ever be sent",
        "Charge._bound",
        "if bytes_max is not None:",
        "if False:",
    ),
    Mutant(
        "a producer without acknowledgements is not throttled",
        "Charge.end",
        "if self.throttle_time_ms < 0:",
        "if False:",
    ),
    Mutant(
        "the time of a producer without acknowledgements counts",
        "Charge.end",
        "self.throttle_time_ms = self._bandwidth_throttle_time(0, self._now_ms())",
        "self.throttle_time_ms = self._throttle_time(0)",
    ),
    Mutant(
        "the time of sliced work does not count",
        "Charge.measured",
        "self._running_ns = self._running_ns or perf_counter_ns()\ntry:",
        "try:",
    ),
    Mutant(
        "a connection that was not accepted counts",
        "Throttling.opened",
        "self.usage.connection.unrecord(address, 1, now_ms)",
        "pass",
    ),
    Mutant(
        "all partitions of an enlarged topic count",
        "TopicHandlers._add_partitions",
        "count_mutations(more)",
        "count_mutations(wanted.count)",
    ),
    Mutant(
        "a deleted topic counts once",
        "TopicHandlers._check_deletion",
        "count_mutations(image.partition_count(name))",
        "count_mutations(1)",
    ),
    Mutant(
        "old clients are told an error that they do not know",
        "CREATE_STRICT_SINCE",
        "CREATE_STRICT_SINCE: Final = 6",
        "CREATE_STRICT_SINCE: Final = 5",
    ),
)

MUTANTS: Final = (*RATE_MUTANTS, *RULE_MUTANTS, *THROTTLING_MUTANTS)
