"""Mutants of the faults and of the test kit: which requests a fault takes, what it counts, and what is left of it."""

from typing import Final

from tests.mutations.mutant import Mutant

MATCHING: Final = "coordinator/faults/matching.py"
NAMED: Final = "coordinator/faults/named.py"
FAULTS: Final = "coordinator/faults/faults.py"
REQUEST_FAULTS: Final = "coordinator/faults/request_faults.py"
GROUP_FAULTS: Final = "coordinator/faults/group_faults.py"
INTERCEPTION: Final = "coordinator/faults/interception.py"
CONTROL: Final = "coordinator/testing/control.py"
ISOLATED: Final = "coordinator/testing/isolated.py"

MUTANTS: Final = (
    Mutant(
        "a fault of a group takes the requests of every group",
        MATCHING,
        "spec.group not in groups_of(request)",
        "spec.group in ()",
    ),
    Mutant(
        "a fault of a member does not know its client id",
        MATCHING,
        "return wanted == context.client_id or any(",
        "return any(",
    ),
    Mutant(
        "a fault of a member knows only its member id",
        MATCHING,
        "any(wanted in each for each in members_of(request))",
        "any(wanted == each.member_id for each in members_of(request))",
    ),
    Mutant(
        "a fault of the followers takes the leader too",
        MATCHING,
        "return spec.leader is None or",
        "return not spec.leader or",
    ),
    Mutant(
        "a fault takes the nth request and all after it",
        MATCHING,
        "self._matched != spec.nth",
        "self._matched < spec.nth",
    ),
    Mutant(
        "the nth request counts those of others",
        MATCHING,
        "        if not self._matches(request, context):\n            return False\n        self._matched += 1\n",
        "        self._matched += 1\n        if not self._matches(request, context):\n            return False\n",
    ),
    Mutant(
        "a fault takes one request more than it may",
        MATCHING,
        "self.hits >= spec.times",
        "self.hits > spec.times",
    ),
    Mutant(
        "a fault takes requests with the opposite probability",
        MATCHING,
        "self._random.random() >= spec.probability",
        "self._random.random() < spec.probability",
    ),
    Mutant(
        "chance does not follow the seed",
        MATCHING,
        "random.Random(spec.seed)",
        "random.Random()",
    ),
    Mutant(
        "a fault lasts a thousandth of its time",
        MATCHING,
        "round(spec.seconds * 1000)",
        "round(spec.seconds)",
    ),
    Mutant(
        "a transaction is taken for a group",
        NAMED,
        "CoordinatorType.GROUP) != CoordinatorType.GROUP:",
        "CoordinatorType.GROUP) is None:",
    ),
    Mutant(
        "the hits of a fault are forgotten when it is removed",
        FAULTS,
        "            self._removed[fault_id] = installed.hits\n",
        "            self._removed[fault_id] = 0\n",
    ),
    Mutant(
        "a fault that is removed goes on",
        FAULTS,
        "            self._removed[fault_id] = installed.hits\n            installed.remove()\n",
        "            self._removed[fault_id] = installed.hits\n",
    ),
    Mutant(
        "faults that are cleared go on",
        FAULTS,
        "            self.remove(fault_id)\n        self._specs.clear()\n",
        "            self._installed.pop(fault_id)\n        self._specs.clear()\n",
    ),
    Mutant(
        "a fault gets the number of one before a restart",
        FAULTS,
        "dict(before._specs), before._next_id",
        "dict(before._specs), 1",
    ),
    Mutant(
        "a full group counts those that it takes",
        GROUP_FAULTS,
        "self.hits += response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED",
        "self.hits += 1",
    ),
    Mutant(
        "a fenced instance is told as restarted",
        "coordinator/core/classic/joining.py",
        "replace(event, cause=request.cause) if",
        "event if",
    ),
    Mutant(
        "a full group is told as full by its setting",
        "coordinator/core/classic/joining.py",
        "context, injected=injected)",
        "context)",
    ),
    Mutant(
        "an unavailable partition is not told",
        "coordinator/audit/resume.py",
        "if always or cause is Cause.FAULT or cursor is None or",
        "if always or cursor is None or",
    ),
    Mutant(
        "a barrier that is released holds those that come later",
        REQUEST_FAULTS,
        "self._is_open = self._is_open or count is None",
        "self._is_open = False",
    ),
    Mutant(
        "a barrier lets one request too many go on",
        REQUEST_FAULTS,
        "released < count",
        "released <= count",
    ),
    Mutant(
        "a barrier counts clients that are gone",
        REQUEST_FAULTS,
        "sum(connection in self.around.connections for connection, _ in self._held)",
        "len(self._held)",
    ),
    Mutant(
        "a delay does not take the time that it says",
        REQUEST_FAULTS,
        "deadline_after(self.around.now_ms(), self.spec.ms)",
        "deadline_after(self.around.now_ms(), 1)",
    ),
    Mutant(
        "only the first fault of an API acts",
        INTERCEPTION,
        "partial(_through, interceptors, position + 1, handler, request, context)",
        "partial(handler, request, context)",
    ),
    Mutant(
        "the handler of an API stays replaced",
        INTERCEPTION,
        "            del self._interceptors[key]\n        self._chain.compose_route(key)\n",
        "            del self._interceptors[key]\n",
    ),
    Mutant(
        "all members are silent in a jump of the clock",
        CONTROL,
        "                    if not names & silent and self._presence.is_heard(group_id, member):\n",
        "                    if not names and self._presence.is_heard(group_id, member):\n",
    ),
    Mutant(
        "the clock stands still after a jump",
        CONTROL,
        "            self._clock.go_on()\n",
        "            pass\n",
    ),
    Mutant(
        "a wait for a generation misses a later one",
        CONTROL,
        "now.generation_id >= generation",
        "now.generation_id == generation",
    ),
    Mutant(
        "a wait for members takes any number of them",
        CONTROL,
        "met = state in (None, now.state) and members in (None, len(now.members))",
        "met = state in (None, now.state)",
    ),
    Mutant(
        "a wait for partitions takes any number of them",
        CONTROL,
        "met = met and partitions in (None, now.partition_count)",
        "met = bool(met)",
    ),
    Mutant(
        "a wait is not asked again after a change",
        "coordinator/testing/waiting.py",
        "if not waiter.done.done() and waiter.is_met():",
        "if waiter.done.done() and waiter.is_met():",
    ),
    Mutant(
        "events are read twice",
        "coordinator/testing/audit_log.py",
        "            self._read_to[partition] = header.last_offset + 1\n",
        "            self._read_to[partition] = 0\n",
    ),
    Mutant(
        "a whole name gets the prefix again",
        ISOLATED,
        "return name if name.startswith(self.prefix) else self.prefix + name",
        "return self.prefix + name",
    ),
    Mutant(
        "two tests of one name share their prefix",
        ISOLATED,
        "{next(_numbers)}.",
        "1.",
    ),
    Mutant(
        "a fault of a test takes the group of the short name",
        ISOLATED,
        'return fields | {"group": self._whole_name(group)} if isinstance(group, str) else fields',
        "return fields",
    ),
    Mutant(
        "a coordinator that is stopped goes on serving",
        "coordinator/testing/node_thread.py",
        "        await self._node.stop(clean=False)\n",
        "",
    ),
)
