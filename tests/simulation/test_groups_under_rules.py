"""Joins, syncs, heartbeats, commits, leaves, time, restarts in any order; what must always hold is asked each time."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator.core.decision import session_timeout_ms, wanted_timers
from coordinator.core.group import TopicPartition
from coordinator.core.states import GroupState
from tests.simulation.simulation import GROUP_ID, Simulation, replay

NAMES = st.sampled_from(["a", "b", "c", "d"])
INSTANCES = st.sampled_from(["one", "two"])
METADATA = st.sampled_from([b"", b"other"])
PROTOCOLS = st.sampled_from([("range",), ("range", "sticky"), ("sticky", "range")])


class GroupMachine(RuleBasedStateMachine):
    """One group, and clients that do what they like."""

    @initialize(
        fast_path=st.booleans(), delay_ms=st.sampled_from(["0", "3000"]), max_size=st.sampled_from(["2", "100"])
    )
    def begin(self, fast_path, delay_ms, max_size):
        settings_ = {"group.initial.rebalance.delay.ms": delay_ms, "group.max.size": max_size}
        self.sim = Simulation(settings_, fast_path=fast_path)
        self.asked = []
        self.last_generation = 0
        self.acknowledged = {}
        self.ids = {}

    def known_id(self, name):
        """The id the client was told last; perhaps one the group has forgotten."""
        return self.ids.get(name, "")

    @rule(
        name=NAMES,
        version=st.sampled_from([0, 3, 4, 9]),
        metadata=METADATA,
        protocols=PROTOCOLS,
        session_timeout_ms=st.sampled_from([1_000, 10_000]),
    )
    def join(self, name, version, metadata, protocols, session_timeout_ms):
        asked = self.sim.join(
            name,
            self.known_id(name),
            version=version,
            metadata=metadata,
            protocols=protocols,
            session_timeout_ms=session_timeout_ms,
        )
        self.asked.append((name, asked))
        self.learn()

    @rule(instance_id=INSTANCES, with_id=st.booleans(), version=st.sampled_from([5, 9]), protocols=PROTOCOLS)
    def join_static(self, instance_id, with_id, version, protocols):
        member_id = self.known_id(instance_id) if with_id else ""
        asked = self.sim.join(instance_id, member_id, instance_id=instance_id, version=version, protocols=protocols)
        self.asked.append((instance_id, asked))
        self.learn()

    @rule(data=st.data(), stale=st.booleans())
    def sync(self, data, stale):
        member_id = self.some_member(data)
        generation_id = self.sim.group.generation_id - int(stale)
        assignments = {each: f"for-{each}".encode() for each in self.sim.group.members}
        self.asked.append(("", self.sim.sync(member_id, assignments, generation_id=generation_id)))

    @rule(data=st.data())
    def heartbeat(self, data):
        member_id = self.some_member(data)
        member = self.sim.group.members.get(member_id)
        asked = self.sim.heartbeat(member_id, instance_id=None if member is None else member.group_instance_id)
        assert asked.answered

    @rule(data=st.data())
    def leave(self, data):
        assert self.sim.leave(self.some_member(data)).answered

    @rule(data=st.data(), offset=st.integers(0, 100))
    def commit(self, data, offset):
        asked = self.sim.commit(self.some_member(data), generation_id=self.sim.group.generation_id, offset=offset)
        if asked.response.topics[0].partitions[0].error_code == 0:
            self.acknowledged[TopicPartition("t", 0)] = offset

    @rule(ms=st.one_of(st.integers(1, 2_000), st.integers(1, 70_000)))
    def pass_time(self, ms):
        self.sim.advance(ms)
        self.learn()

    @rule()
    def crash_and_restart(self):
        audited = len(self.sim.audited())
        self.sim.restart()
        self.asked.clear()
        assert len(self.sim.audited()) >= audited
        self.last_generation = self.sim.group.generation_id

    @precondition(lambda self: self.sim.group.exists)
    @rule()
    def disk_fills_up_for_a_while(self):
        self.sim.disk.is_full = True
        asked = self.sim.commit(offset=999)
        self.sim.disk.is_full = False
        self.sim.advance(10_000)
        assert asked.answered
        assert self.sim.shard.loaded
        self.crash_and_restart()

    def some_member(self, data):
        known = [*self.sim.group.members, *self.sim.group.pending_members, *self.ids.values(), "nobody"]
        return data.draw(st.sampled_from(known))

    def learn(self):
        for name, asked in self.asked:
            if asked.answered and getattr(asked.response, "member_id", ""):
                self.ids[name] = asked.response.member_id

    # ---- what must always hold

    @invariant()
    def replay_gives_the_same_group(self):
        if self.started_empty():
            assert replay(self.sim.events) == self.sim.group

    def started_empty(self):
        return bool(self.sim.events) and type(self.sim.events[0]).__name__ == "GroupCreated"

    @invariant()
    def nothing_more_follows(self):
        assert self.sim.timers.running(GROUP_ID) == wanted_timers(self.sim.group)
        assert all(deadline_ms > self.sim.now_ms for deadline_ms in wanted_timers(self.sim.group).values())

    @invariant()
    def counts_are_what_they_count(self):
        group = self.sim.group
        assert group.awaiting_join_count == sum(m.awaiting_join is not None for m in group.members.values())
        for name, count in group.protocol_support.items():
            assert count == sum(name in {p.name for p in m.protocols} for m in group.members.values())
        instances = {m.group_instance_id: m.member_id for m in group.members.values() if m.group_instance_id}
        assert group.static_members == instances
        assert group.pending_sync <= set(group.members)

    @invariant()
    def a_group_with_members_has_one_of_them_as_its_leader(self):
        group = self.sim.group
        assert (group.leader in group.members) if group.members else group.leader is None

    @invariant()
    def states_say_who_waits(self):
        group = self.sim.group
        waits_for_join = any(m.awaiting_join is not None for m in group.members.values())
        waits_for_sync = any(m.awaiting_sync is not None for m in group.members.values())
        assert not waits_for_join or group.state is GroupState.PREPARING_REBALANCE
        assert not waits_for_sync or group.state is GroupState.COMPLETING_REBALANCE
        assert bool(group.members) or group.state in (GroupState.EMPTY, GroupState.PREPARING_REBALANCE)

    @invariant()
    def every_member_has_a_session_and_nobody_else(self):
        group = self.sim.group
        assert set(self.sim.leases.members(GROUP_ID)) == {*group.members, *group.pending_members}
        for member_id in self.sim.leases.members(GROUP_ID):
            if member_id in group.members and group.members[member_id].awaiting_join is not None:
                continue  # a new timeout counts from the next generation on
            deadline_ms = self.sim.leases.deadline_ms(GROUP_ID, member_id)
            assert deadline_ms <= self.sim.now_ms + session_timeout_ms(group, member_id)

    @invariant()
    def generations_only_grow(self):
        assert self.sim.group.generation_id >= self.last_generation
        self.last_generation = self.sim.group.generation_id

    @invariant()
    def an_acknowledged_commit_is_not_lost(self):
        for where, offset in self.acknowledged.items():
            assert self.sim.group.committed_offset(where).offset == offset

    @invariant()
    def the_audit_has_no_gap(self):
        assert [event.seq for event in self.sim.audited()] == list(range(1, len(self.sim.audited()) + 1))

    @invariant()
    def the_audit_ends_where_the_group_is(self):
        told = [event for event in self.sim.audited() if event.group_id == GROUP_ID]
        if told:
            assert (told[-1].generation_id, told[-1].state) == (self.sim.group.generation_id, self.sim.group.state)


GroupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestGroupsUnderRules = GroupMachine.TestCase
