"""Mutants of the bounds: slices, portions, elements, what waits is counted, what an address may have."""

from typing import Final

from tests.mutations.mutant import Mutant

SLICES: Final = "coordinator/runtime/slices.py"
FETCH: Final = "coordinator/broker/fetch.py"
NOTIFIER: Final = "coordinator/broker/append_notifier.py"
PARTITIONS: Final = "coordinator/broker/partitions.py"
LOG_HOMES: Final = "coordinator/log/data_dirs/log_homes.py"
ASSIGNMENT: Final = "coordinator/broker/directory_assignment.py"
TOPICS: Final = "coordinator/broker/topics.py"
LIMITS: Final = "coordinator/core/address_limits.py"
MEMBERS: Final = "coordinator/core/classic/members.py"
RUNTIME: Final = "coordinator/runtime/coordinator_runtime.py"
SHARD: Final = "coordinator/runtime/shard.py"
GROUPS: Final = "coordinator/server/handlers/groups.py"
PORTIONS: Final = "coordinator/server/handlers/portions.py"

MUTANTS: Final = (
    Mutant(
        "long work is done in one turn",
        SLICES,
        "if seconds() >= until:\n                return self._steps is None",
        "if False:\n                return self._steps is None",
    ),
    Mutant(
        "new work waits for the work that goes on",
        SLICES,
        "        if self._new.by_source:\n",
        "        if self._new.by_source or self._begun.by_source:\n",
    ),
    Mutant(
        "new work begins before new work that waits",
        SLICES,
        "        if self._new.by_source:\n",
        "        if False:\n",
    ),
    Mutant(
        "all new work of an iteration is begun",
        SLICES,
        "return now < self._new_until",
        "return True",
    ),
    Mutant(
        "work that goes on is ended before the next",
        SLICES,
        "        queue.append(work)\n",
        "        queue.appendleft(work)\n",
    ),
    Mutant(
        "connections have turns, not addresses",
        SLICES,
        "            self.by_source.move_to_end(source)\n",
        "            pass\n",
    ),
    Mutant(
        "own work has no share of the time",
        SLICES,
        "        if self._own.by_source:\n",
        "        if self._own.by_source and not self._begun.by_source:\n",
    ),
    Mutant(
        "own work has all of the time",
        SLICES,
        "until - TURN_SECONDS / 2 if self._begun.by_source or self._suspended else until",
        "until",
    ),
    Mutant(
        "work under way holds what it wants",
        SLICES,
        "                if held_bytes > held_bytes_max:\n",
        "                if False:\n",
    ),
    Mutant(
        "suspended work is forgotten",
        SLICES,
        "            while self._suspended and self._held.has_room:\n",
        "            while False:\n",
    ),
    Mutant(
        "cancelled work goes on", SLICES, "        steps, self._steps = self._steps, None\n", "        steps = None\n"
    ),
    Mutant(
        "a fetch that waits does not count what comes",
        FETCH,
        "delayed.available_bytes += delayed.available[log].update(log)",
        "delayed.available[log].update(log)",
    ),
    Mutant(
        "a fetch that waits counts more than its partition gives",
        FETCH,
        "min(served_bytes - self.skipped_bytes, self.at_most_bytes)",
        "(served_bytes - self.skipped_bytes)",
    ),
    Mutant("a fetch waits for a topic that is deleted", FETCH, "if is_deleted or delayed", "if delayed"),
    Mutant(
        "a listener that was removed meanwhile is told",
        NOTIFIER,
        "                if listener in self._listeners.get(log, ()):\n                    listener(log)\n",
        "                listener(log)\n",
    ),
    Mutant(
        "a new topic gets the log of a deleted one",
        PARTITIONS,
        "if deletion is not None and partition in deletion.waiting:",
        "if False:",
    ),
    Mutant(
        "the metadata log may be set aside",
        LOG_HOMES,
        "if key[0] == METADATA_LOG or self._set_aside(directory, *key):",
        "if self._set_aside(directory, *key):",
    ),
    Mutant("a partition may be in two directories", LOG_HOMES, "if other is not directory:", "if False:"),
    Mutant(
        "what is in a missing directory is created again, empty",
        ASSIGNMENT,
        "if each and each not in known",
        "if False",
    ),
    Mutant(
        "what is in a failed directory is led",
        ASSIGNMENT,
        "found.directory_id(partition) in self._offline",
        "False",
    ),
    Mutant(
        "topics of one request may collide",
        TOPICS,
        "image.names_by_collision_key.get(key) or plan.names_by_collision_key.get(key)",
        "image.names_by_collision_key.get(key)",
    ),
    Mutant(
        "topics of one request have no bound together",
        TOPICS,
        "image.partitions + plan.partitions + count",
        "image.partitions + count",
    ),
    Mutant(
        "new partitions are counted twice",
        TOPICS,
        "self._store.latest_image.partitions - topic.partitions + partitions",
        "self._store.latest_image.partitions + partitions",
    ),
    Mutant("a removed group counts still", LIMITS, "            self._counts[client_host] -= 1\n", ""),
    Mutant(
        "the newest pending member is given up",
        LIMITS,
        "append(pending.popitem(last=False)[0])",
        "append(pending.popitem()[0])",
    ),
    Mutant(
        "a member that has joined is given up",
        MEMBERS,
        "if group is None or member_id not in group.classic.pending_members:",
        "if group is None:",
    ),
    Mutant(
        "a turn handles all that is queued", SHARD, "while self._queue and used < operations_max:", "while self._queue:"
    ),
    Mutant(
        "an operation over all groups counts as one",
        SHARD,
        "used += self.machine.key_count // KEYS_PER_OPERATION",
        "used += 0",
    ),
    Mutant(
        "what a turn leaves is forgotten",
        RUNTIME,
        "                    self._dirty[shard.partition] = shard  # there may be more in its queue\n",
        "                    pass\n",
    ),
    Mutant(
        "nothing goes on after a full turn",
        RUNTIME,
        "            self._dirty = {**deferred, **self._dirty}\n            self._request_iteration()\n",
        "            self._dirty = {**deferred, **self._dirty}\n",
    ),
    Mutant(
        "a request about many groups ends after a portion",
        PORTIONS,
        "        self.begin()\n\n    def send_error_response",
        "\n    def send_error_response",
    ),
    Mutant(
        "a response about many groups may be of any size",
        PORTIONS,
        "if self._response_bytes > self._node.config[SOCKET_REQUEST_MAX_BYTES]:",
        "if False:",
    ),
    Mutant(
        "a new topic gets the open log of a deleted one",
        PARTITIONS,
        "deletion.waiting[partition] = self._logs.pop((topic.name, partition), None)",
        "deletion.waiting[partition] = self._logs.get((topic.name, partition), None)",
    ),
)
