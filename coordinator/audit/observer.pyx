"""From a core event to what is told of it.

Compiled: all classes of events pass here, and the interpreter is fast only where it sees the same class each time.
"""

from libc.stdint cimport int64_t

from coordinator.audit.group_trail cimport GroupTrail
from coordinator.audit.records cimport RecordWriter

from coordinator.audit import schema

cdef object SUPERSEDED = schema.RebalanceSuperseded     # told of the group before the rebalance that takes its place


cdef class Observer:
    cdef readonly dict trails
    cdef readonly RecordWriter writer
    cdef dict sayers

    def __init__(self, node_id, coordinator_epoch, dict sayers not None):
        self.trails = {}
        self.writer = RecordWriter(node_id, coordinator_epoch)
        self.sayers = sayers

    def observe(self, event, group, state_before, int64_t generation_before, list into not None):
        cdef tuple sayings = self.sayers.get(type(event))
        cdef GroupTrail trail
        if sayings is None:
            return
        group_id = group.group_id
        trail = self.trails.get(group_id)
        if trail is None:
            trail = self.trails[group_id] = GroupTrail()
        for event_class, say in sayings:
            said = say(event, group, trail, state_before)
            if said is not None:
                into.append(self.writer.write(
                    event_class, group_id, trail, event.at_ms, state_before, generation_before,
                    state_before if event_class is SUPERSEDED else group.state, group.generation_id, said,
                ))
