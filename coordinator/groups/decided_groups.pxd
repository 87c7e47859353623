"""The groups of a shard, as C fields."""

from coordinator.groups.sessions cimport SessionTable


cdef class DecidedGroups:
    cdef public dict groups             # group id → Group
    cdef readonly SessionTable sessions
    cdef public dict _newly_stable      # group id → generation that became stable
    cdef public object _observer
    cdef public object _on_applied
    cdef frozenset rare_events

    cdef object apply_events(self, str key, tuple events)
    cdef int state_changed(self, str key, event, group, membership, state) except -1
