"""The groups of a shard, and what decisions change of them. Compiled: each event of each group goes this way."""

from coordinator.groups.sessions cimport SessionTable

from logging import INFO

from coordinator.core import decision as decisions
from coordinator.core.groups import events as group_events
from coordinator.core.groups.states import STABLE as STABLE_STATE
from coordinator.core.kinds.stored import records_of
from coordinator.groups.transition_log import REASONS
from coordinator.logger import logger

cdef object NOTHING = decisions.NOTHING
cdef object GROUP_REMOVED = group_events.GroupRemoved
cdef object STABLE = STABLE_STATE
cdef object LEVEL = INFO


cdef class DecidedGroups:
    def __init__(self, SessionTable sessions not None, observer, on_applied, frozenset rare_events not None):
        self.groups, self._newly_stable = {}, {}
        self.sessions, self._observer, self._on_applied = sessions, observer, on_applied
        self.rare_events = rare_events

    def decide(self, queued):
        key = queued.key
        target = self._target_of_all(queued) if key is None else self.groups.get(key)
        return queued.operation.decide(target, queued.request, queued.context)

    def records(self, key, decision):
        cdef tuple events = decision.events
        return records_of(events, self.groups.get(key)) if events else []

    def apply(self, str key not None, decision, now_ms):
        cdef tuple events = decision.events
        if events:
            state = self.apply_events(key, events)
            if not (decision.no_step_follows or decision.keeps_heartbeats):
                self.sessions.close_heartbeats(key)
        # At once: an expiry later in the same batch finds the member alive. A batch that fails ends all sessions.
        for effect in <tuple>decision.effects:
            effect.apply(self, key, now_ms)
        if events and self._on_applied is not None:
            self._on_applied(events, state)

    cdef object apply_events(self, str key, tuple events):
        """Apply events in their order; returns the state that they leave the group in."""
        cdef dict groups = self.groups
        group = groups.get(key)
        first_changing = None
        for event in events:
            if group is None:
                group = self._create(key, event)
            before = group.membership
            state, generation_id = before.state, before.generation_id
            if type(event) in self.rare_events:
                self._apply_and_note(event, group)
            else:
                event.apply(group)
            if self._observer is not None:
                self._observer.project(event, group, state, generation_id)
            after = group.membership
            left_in = after.state
            if left_in is not state or after is not before or after.generation_id != generation_id:
                if first_changing is None:
                    first_changing, changed_from = event, state
                self.state_changed(key, event, group, after, left_in)
                if type(event) is GROUP_REMOVED:
                    group = None
        if first_changing is not None:
            log_transition(first_changing, key, changed_from, left_in, after.generation_id)
        return left_in

    cdef int state_changed(self, str key, event, group, membership, state) except -1:
        generation_id = membership.generation_id
        # The fast path closes at once; it opens again when a stable generation is stored.
        self.sessions.set_group(key, generation_id, False)
        if state is STABLE and group.kind.has_fast_heartbeats:
            self._newly_stable[key] = generation_id
        elif self._newly_stable:
            self._newly_stable.pop(key, None)
        if type(event) is GROUP_REMOVED:
            self._removed(key)
        return 0

    def advance(self, key, context):
        group = self.groups.get(key)
        return NOTHING if group is None else group.kind.advance(group.membership, context)

    def deadline_ms(self, key):
        group = self.groups.get(key)
        return None if group is None else group.kind.next_deadline_ms(group.membership)

    def stored(self):
        if self._newly_stable:
            for group_id, generation_id in self._newly_stable.items():
                self.sessions.set_group(group_id, generation_id, True)
            self._newly_stable.clear()


cdef int log_transition(event, str group_id, before, after, generation_id) except -1:
    """Log that a decision has changed the state of a group: `event` is the first of its events that did."""
    if logger.is_enabled_for(LEVEL):
        logger.info(
            "group transition", group=group_id, before=before._value_, after=after._value_, generation=generation_id,
            reason=REASONS[type(event)](event),
        )
    return 0
