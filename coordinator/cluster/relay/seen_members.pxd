"""Members of watched groups, as C fields: a heartbeat that passes writes when its member was heard."""

from libc.stdint cimport int64_t
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

cdef enum:
    ID_BYTES_MAX = 1_024                # of a group or a member; with a longer id they pass unread


cdef inline int64_t now_ms() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1_000_000


cdef class SeenMember:
    cdef readonly str group_id
    cdef readonly str member_id
    cdef readonly int64_t heard_ms
    cdef readonly object connection     # by which it came last; None: that one is closed
    cdef readonly object client
    cdef readonly int64_t silent_after_ms
    cdef readonly bint is_silent
    cdef readonly int64_t committed_ms  # when its last commit was answered well; 0: none was
    # A request is not answered, or was so late that its client may have given up; or the broker's side closed its
    # connection. Meanwhile nothing follows from its silence.
    cdef readonly bint awaits_answer
    cdef int unanswered                 # requests by its connection: heartbeats of some clients do not wait for others
    cdef int64_t waits_since_ms         # since when it gets no answer, if there are such requests

    cdef int await_answer(self, int64_t at_ms) except -1
    cdef int hear_answer(self, object connection, int64_t asked_ms, int64_t at_ms, bint may_wait) except -1
    cdef int set_timeout(self, int64_t session_timeout_ms) except -1


cdef class WatchedGroup:
    cdef readonly str group_id
    cdef readonly dict members          # member id, as bytes → SeenMember


cdef class SeenMembers:
    cdef readonly int node_id
    cdef readonly int64_t lost
    cdef readonly int64_t unread
    cdef object _is_watched
    cdef dict _groups
    cdef list _sightings
    cdef dict _by_connection
    # Connection → what a subclass keeps of it. What changes who is watched, or forgets a member, empties it.
    cdef dict steady
    cdef Py_ssize_t _members

    cdef WatchedGroup group_of(self, bytes group_id)
    cdef SeenMember heard(self, WatchedGroup group, bytes member_id, object connection, int64_t at_ms)
    cdef object client_of(self, object connection, object client_id)
    cdef int forget(self, WatchedGroup group, SeenMember member) except -1
    cdef int see(self, object sighting) except -1
    cdef int _move(self, SeenMember member, object connection) except -1
    cdef int _forget_groups(self, bint has_empty) except -1
    cdef int _make_room(self) except -1
