"""Mutants of the faults and of the test kit: which requests a fault takes, what it counts, and what is left of it."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a fault of a group takes the requests of every group",
        "Matcher._matches",
        "spec.group not in groups_of(request)",
        "spec.group in ()",
    ),
    Mutant(
        "a fault of a member does not know its client id",
        "_is_of",
        "return wanted == context.client_id or any(",
        "return any(",
    ),
    Mutant(
        "a fault of a member knows only its member id",
        "_is_of",
        "any(wanted in each for each in members_of(request))",
        "any(wanted == each.member_id for each in members_of(request))",
    ),
    Mutant(
        "a fault of the followers takes the leader too",
        "Matcher._matches",
        "return spec.leader is None or",
        "return not spec.leader or",
    ),
    Mutant(
        "a fault takes the nth request and all after it",
        "Matcher.applies_to",
        "self._matched != spec.nth",
        "self._matched < spec.nth",
    ),
    Mutant(
        "the nth request counts those of others",
        "Matcher.applies_to",
        "if not self._matches(request, context):\n    return False\nself._matched += 1",
        "self._matched += 1\nif not self._matches(request, context):\n    return False",
    ),
    Mutant(
        "a fault takes one request more than it may",
        "Matcher.applies_to",
        "self.hits >= spec.times",
        "self.hits > spec.times",
    ),
    Mutant(
        "a fault takes requests with the opposite probability",
        "Matcher.applies_to",
        "self._random.random() >= spec.probability",
        "self._random.random() < spec.probability",
    ),
    Mutant(
        "chance does not follow the seed",
        "Matcher.__init__",
        "random.Random(spec.seed)",
        "random.Random()",
    ),
    Mutant(
        "a fault lasts a thousandth of its time",
        "Matcher.__init__",
        "round(spec.seconds * 1000)",
        "round(spec.seconds)",
    ),
    Mutant(
        "a transaction is taken for a group",
        "groups_of",
        "CoordinatorType.GROUP) != CoordinatorType.GROUP:",
        "CoordinatorType.GROUP) is None:",
    ),
    Mutant(
        "the hits of a fault are forgotten when it is removed",
        "Faults.remove",
        "self._removed[fault_id] = installed.hits",
        "self._removed[fault_id] = 0",
    ),
    Mutant(
        "a fault that is removed goes on",
        "Faults.remove",
        "self._removed[fault_id] = installed.hits\ninstalled.remove()",
        "self._removed[fault_id] = installed.hits",
    ),
    Mutant(
        "faults that are cleared go on",
        "Faults.clear",
        "self.remove(fault_id)",
        "self._installed.pop(fault_id)",
    ),
    Mutant(
        "a fault gets the number of one before a restart",
        "Faults.__init__",
        "dict(before._specs), before._next_id",
        "dict(before._specs), 1",
    ),
    Mutant(
        "a full group counts those that it takes",
        "FillFault._count",
        "self.hits += response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED",
        "self.hits += 1",
    ),
    Mutant(
        "a fenced instance is told as restarted",
        "take_instance",
        "replace(event, cause=request.cause) if",
        "event if",
    ),
    Mutant(
        "a full group is told as full by its setting",
        "join",
        "context, injected=injected)",
        "context)",
    ),
    Mutant(
        "an unavailable partition is not told",
        "resume_group",
        "if always or cause is Cause.FAULT or cursor is None or",
        "if always or cursor is None or",
    ),
    Mutant(
        "a barrier that is released holds those that come later",
        "HoldFault.release",
        "self._is_open = self._is_open or count is None",
        "self._is_open = False",
    ),
    Mutant(
        "a barrier lets one request too many go on",
        "HoldFault.release",
        "released < count",
        "released <= count",
    ),
    Mutant(
        "a barrier counts clients that are gone",
        "HoldFault.waiting",
        "sum(connection in self.around.connections for connection, _ in self._held)",
        "len(self._held)",
    ),
    Mutant(
        "a delay does not take the time that it says",
        "DelayFault._later",
        "deadline_after(self.around.now_ms(), self.spec.ms)",
        "deadline_after(self.around.now_ms(), 1)",
    ),
    Mutant(
        "only the first fault of an API acts",
        "_through",
        "partial(_through, interceptors, position + 1, handler, request, context)",
        "partial(handler, request, context)",
    ),
    Mutant(
        "the handler of an API stays replaced",
        "Interception.remove",
        "del self._interceptors[key]\nself._chain.compose_route(key)",
        "del self._interceptors[key]",
    ),
    Mutant(
        "all members are silent in a jump of the clock",
        "Control._connected",
        "if not names & silent and self._presence.is_connected(group_id, member):",
        "if not names and self._presence.is_connected(group_id, member):",
    ),
    Mutant(
        "the clock stands still after a jump",
        "Control.advance",
        "self._clock.resume()",
        "pass",
    ),
    Mutant(
        "a wait for a generation misses a later one",
        "Control.wait_for_group",
        "now.generation_id >= generation",
        "now.generation_id == generation",
    ),
    Mutant(
        "a wait for members takes any number of them",
        "Control.wait_for_group",
        "met = state in (None, now.state) and members in (None, len(now.members))",
        "met = state in (None, now.state)",
    ),
    Mutant(
        "a wait for partitions takes any number of them",
        "Control.wait_for_group",
        "met = met and partitions in (None, now.partition_count)",
        "met = bool(met)",
    ),
    Mutant(
        "a wait is not asked again after a change",
        "Waiters.check",
        "if not waiter.done.done() and waiter.is_met():",
        "if waiter.done.done() and waiter.is_met():",
    ),
    Mutant(
        "events are read twice",
        "AuditLog.events",
        "self._read_to[partition] = header.last_offset + 1",
        "self._read_to[partition] = 0",
    ),
    Mutant(
        "a whole name gets the prefix again",
        "IsolatedCoordinator.whole_name",
        "return name if name.startswith(self.prefix) else self.prefix + name",
        "return self.prefix + name",
    ),
    Mutant(
        "two tests of one name share their prefix",
        "IsolatedCoordinator.__init__",
        "{next(_numbers)}.",
        "1.",
    ),
    Mutant(
        "a fault of a test takes the group of the short name",
        "IsolatedFaults._named",
        'return fields | {"group": self._whole_name(group)} if isinstance(group, str) else fields',
        "return fields",
    ),
    Mutant(
        "a coordinator that is stopped goes on serving",
        "NodeThread._serve",
        "await self._node.stop(clean=False)",
        "",
    ),
)
