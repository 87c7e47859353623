"""Mutants of the bounds: slices, portions, elements, what waits is counted, what an address may have."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "long work is done in one turn",
        "SlicedWork.run",
        "if seconds() >= until:\n    return self._steps is None",
        "if False:\n    return self._steps is None",
    ),
    Mutant(
        "new work waits for the work that goes on",
        "Slices.has_time",
        "if self._new.by_source:",
        "if self._new.by_source or self._begun.by_source:",
    ),
    Mutant(
        "new work begins before new work that waits",
        "Slices.has_time",
        "if self._new.by_source:",
        "if False:",
    ),
    Mutant(
        "all new work of an iteration is begun",
        "Slices.has_time",
        "return now < self._new_until",
        "return True",
    ),
    Mutant(
        "work that goes on is ended before the next",
        "_Rotation.add",
        "queue.append(work)",
        "queue.appendleft(work)",
    ),
    Mutant(
        "connections have turns, not addresses",
        "_Rotation.pop",
        "self.by_source.move_to_end(source)",
        "pass",
    ),
    Mutant(
        "own work has no share of the time",
        "Slices._turn",
        "if self._own.by_source:",
        "if self._own.by_source and not self._begun.by_source:",
    ),
    Mutant(
        "own work has all of the time",
        "Slices._turn",
        "until - TURN_SECONDS / 2 if self._begun.by_source or self._suspended else until",
        "until",
    ),
    Mutant(
        "work under way holds what it wants",
        "SlicedWork.run",
        "if held_bytes > held_bytes_max:",
        "if False:",
    ),
    Mutant(
        "suspended work is forgotten",
        "Slices._resume_suspended",
        "while self._suspended and self._held.has_room:",
        "while False:",
    ),
    Mutant(
        "cancelled work goes on",
        "SlicedWork.cancel",
        "steps, self._steps = self._steps, None",
        "steps = None",
    ),
    Mutant(
        "a fetch that waits does not count what comes",
        "FetchService._log_changed",
        "delayed.available_bytes += delayed.available[log].update(log)",
        "delayed.available[log].update(log)",
    ),
    Mutant(
        "a fetch that waits counts more than its partition gives",
        "Available.update",
        "min(served_bytes - self.skipped_bytes, self.at_most_bytes)",
        "(served_bytes - self.skipped_bytes)",
    ),
    Mutant(
        "a fetch waits for a topic that is deleted",
        "FetchService._log_changed",
        "if is_deleted or delayed",
        "if delayed",
    ),
    Mutant(
        "a listener that was removed meanwhile is told",
        "AppendNotifier.notify",
        "if listener in self._listeners.get(log, ()):\n    listener(log)",
        "listener(log)",
    ),
    Mutant(
        "a new topic gets the log of a deleted one",
        "Partitions._open",
        "if deletion is not None and partition in deletion.waiting:",
        "if False:",
    ),
    Mutant(
        "the metadata log may be set aside",
        "_Search.run",
        "if key[0] == METADATA_LOG or self._set_aside(directory, *key):",
        "if self._set_aside(directory, *key):",
    ),
    Mutant(
        "a partition may be in two directories",
        "_Search.run",
        "if other is not directory:",
        "if False:",
    ),
    Mutant(
        "what is in a missing directory is created again, empty",
        "DirectoryAssignment.reconcile",
        "if each and each not in known",
        "if False",
    ),
    Mutant(
        "what is in a failed directory is led",
        "_OnlineOnly.leader_of",
        "found.directory_id(partition) in self._offline",
        "False",
    ),
    Mutant(
        "topics of one request may collide",
        "Topics.plan",
        "image.names_by_collision_key.get(key) or plan.names_by_collision_key.get(key)",
        "image.names_by_collision_key.get(key)",
    ),
    Mutant(
        "topics of one request have no bound together",
        "Topics.plan",
        "image.partitions + plan.partitions + count",
        "image.partitions + count",
    ),
    Mutant(
        "new partitions are counted twice",
        "Topics.validate_more_partitions",
        "self._store.latest_image.partitions - topic.partitions + partitions",
        "self._store.latest_image.partitions + partitions",
    ),
    Mutant(
        "a removed group counts still",
        "Creations.remove",
        "self._counts[client_host] -= 1",
        "",
    ),
    Mutant(
        "the newest pending member is given up",
        "AddressLimits.member_pending",
        "append(pending.popitem(last=False)[0])",
        "append(pending.popitem()[0])",
    ),
    Mutant(
        "a member that has joined is given up",
        "remove_pending_member",
        "if group is None or member_id not in group.membership.pending_members:",
        "if group is None:",
    ),
    Mutant(
        "a turn handles all that is queued",
        "Shard.drain",
        "while self._queue and used < operations_max:",
        "while self._queue:",
    ),
    Mutant(
        "an operation over all groups counts as one",
        "Shard.drain",
        "used += len(self.machine.states) // KEYS_PER_OPERATION",
        "used += 0",
    ),
    Mutant(
        "what a turn leaves is forgotten",
        "CoordinatorRuntime.drain",
        "self._dirty[shard.partition] = shard  # there may be more in its queue",
        "pass",
    ),
    Mutant(
        "nothing goes on after a full turn",
        "CoordinatorRuntime.drain",
        "self._dirty = {**deferred, **self._dirty}\nself._request_iteration()",
        "self._dirty = {**deferred, **self._dirty}",
    ),
    Mutant(
        "a request about many groups ends after a portion",
        "Portions.send_response",
        "self.begin()",
        "",
    ),
    Mutant(
        "a response about many groups may be of any size",
        "Portions.send_response",
        "if self._response_bytes > self._node.config[SOCKET_REQUEST_MAX_BYTES]:",
        "if False:",
    ),
    Mutant(
        "a new topic gets the open log of a deleted one",
        "Partitions.delete_logs",
        "deletion.waiting[partition] = self._logs.pop((topic.name, partition), None)",
        "deletion.waiting[partition] = self._logs.get((topic.name, partition), None)",
    ),
)
