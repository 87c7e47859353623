"""Mutants of client quotas: what is measured, who is throttled, and what happens to a muted connection."""

from typing import Final

from tests.mutations.mutant import Mutant

RATES: Final = "coordinator/quotas/rates.py"
LIMITS: Final = "coordinator/quotas/limits.py"
USAGE: Final = "coordinator/quotas/usage.py"
ALTERATION: Final = "coordinator/quotas/alteration.py"
MATCHING: Final = "coordinator/quotas/matching.py"
THROTTLING: Final = "coordinator/server/throttling.py"
CONNECTION: Final = "coordinator/server/connection.pyx"
TOPICS: Final = "coordinator/server/handlers/topics.py"
SESSIONS: Final = "coordinator/groups/sessions.pyx"

RATE_MUTANTS: Final = (
    Mutant(
        "a burst counts against the moment that it took",
        RATES,
        "        missing = count - 1 - elapsed_ms // sample_ms\n",
        "        missing = 0\n",
    ),
    Mutant(
        "a sample leaves the rate by the time of its first record",
        RATES,
        "now_ms - samples[0].last_ms >= count * sample_ms",
        "now_ms - samples[0].begun_ms >= count * sample_ms",
    ),
    Mutant(
        "a bucket is empty at first",
        RATES,
        "            self._tokens = burst\n",
        "            self._tokens = 0.0\n",
    ),
    Mutant(
        "a bucket holds any number of tokens",
        RATES,
        "            self._tokens = min(burst, self._tokens + limit * (now_ms - self._last_ms) / 1000)\n",
        "            self._tokens = self._tokens + limit * (now_ms - self._last_ms) / 1000\n",
    ),
)

RULE_MUTANTS: Final = (
    Mutant(
        "a quota of a user counts for each client id",
        LIMITS,
        '    by_user = (ANONYMOUS, "")\n',
        "    by_user = (ANONYMOUS, client_id)\n",
    ),
    Mutant(
        "a client without a client id has the default of client ids",
        LIMITS,
        "    if not client_id:\n",
        "    if False:\n",
    ),
    Mutant(
        "long client ids are remembered as they are",
        LIMITS,
        "    short = client_id if len(client_id) <= NAME_LENGTH_MAX else",
        "    short = client_id if True else",
    ),
    Mutant(
        "any number of clients is remembered",
        USAGE,
        "        if len(self._meters) > CLIENTS_MAX:\n",
        "        if False:\n",
    ),
    Mutant(
        "clients are remembered in the order in which they came",
        USAGE,
        "        found = self._meters.pop(shared_by, None)\n",
        "        found = self._meters.get(shared_by)\n",
    ),
    Mutant(
        "clients are never forgotten",
        USAGE,
        "            if now_ms - used_ms < UNUSED_MS_MAX:\n",
        "            if True:\n",
    ),
    Mutant(
        "requests are throttled for any time",
        USAGE,
        "        return throttle_ms if self._throttle_ms_max is None else min(throttle_ms, self._throttle_ms_max)\n",
        "        return throttle_ms\n",
    ),
    Mutant(
        "a strict quota of mutations allows everything",
        USAGE,
        "            if throttle_ms:\n                return False, throttle_ms\n",
        "            if throttle_ms:\n                return True, throttle_ms\n",
    ),
    Mutant(
        "quotas below zero are taken",
        ALTERATION,
        "    if value <= 0 or math.isnan(value):\n",
        "    if math.isnan(value):\n",
    ),
    Mutant(
        "any number of entities has quotas",
        ALTERATION,
        "        self._new_entities += 1\n",
        "",
    ),
    Mutant(
        "an entity that comes again is changed again",
        ALTERATION,
        "        if entity in self.problems or len(set(keys)) < len(keys):\n",
        "        if len(set(keys)) < len(keys):\n",
    ),
    Mutant(
        "a strict filter finds entities with other types beside",
        MATCHING,
        "        if strict and (names.keys() != wanted.keys() or not wanted):\n",
        "        if strict and not wanted:\n",
    ),
)

THROTTLING_MUTANTS: Final = (
    Mutant(
        "a throttled connection is not muted",
        CONNECTION,
        "            if throttle_time_ms > 0:\n",
        "            if False:\n",
    ),
    Mutant(
        "a connection is muted for ever",
        THROTTLING,
        "            key.connection.unmute()\n",
        "            pass\n",
    ),
    Mutant(
        "a request that the server does not read counts as stalled",
        CONNECTION,
        "        if self.reading_stopped or not self.splitter.has_begun():\n",
        "        if not self.splitter.has_begun():\n",
    ),
    Mutant(
        "heartbeats are never measured",
        SESSIONS,
        "        if self.leaves_heartbeats:\n",
        "        if False:\n",
    ),
    Mutant(
        "quotas do not hold after a restart",
        THROTTLING,
        "        self.usage = QuotaUsage(config)\n        self.load()\n",
        "        self.usage = QuotaUsage(config)\n",
    ),
    Mutant(
        "a fetch that is not sent counts",
        THROTTLING,
        "            self._usage.consumer.unrecord(client_id, response_bytes, now_ms)\n",
        "            pass\n",
    ),
    Mutant(
        "a throttled fetch is answered with its records",
        THROTTLING,
        "            if isinstance(response, FetchResponse):\n",
        "            if False:\n",
    ),
    Mutant(
        "a fetch may read more than can ever be sent",
        THROTTLING,
        "        if bytes_max is not None:\n",
        "        if False:\n",
    ),
    Mutant(
        "a producer without acknowledgements is not throttled",
        THROTTLING,
        "        if self.throttle_time_ms < 0:\n",
        "        if False:\n",
    ),
    Mutant(
        "the time of a producer without acknowledgements counts",
        THROTTLING,
        "            self.throttle_time_ms = self._bandwidth_throttle_time(0, self._now_ms())\n",
        "            self.throttle_time_ms = self._throttle_time(0)\n",
    ),
    Mutant(
        "the time of sliced work does not count",
        THROTTLING,
        "                self._running_ns = self._running_ns or perf_counter_ns()\n                try:\n",
        "                try:\n",
    ),
    Mutant(
        "a connection that was not accepted counts",
        THROTTLING,
        "            self.usage.connection.unrecord(address, 1, now_ms)\n",
        "            pass\n",
    ),
    Mutant(
        "all partitions of an enlarged topic count",
        TOPICS,
        "            count_mutations(more)\n",
        "            count_mutations(wanted.count)\n",
    ),
    Mutant(
        "a deleted topic counts once",
        TOPICS,
        "            count_mutations(image.partition_count(name))\n",
        "            count_mutations(1)\n",
    ),
    Mutant(
        "old clients are told an error that they do not know",
        TOPICS,
        "CREATE_STRICT_SINCE: Final = 6\n",
        "CREATE_STRICT_SINCE: Final = 5\n",
    ),
)

MUTANTS: Final = (*RATE_MUTANTS, *RULE_MUTANTS, *THROTTLING_MUTANTS)
