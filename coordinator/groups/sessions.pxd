cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t

from _wire.heartbeat_frames cimport ConsumerHeartbeatFields, Span
from coordinator.timers.wheel cimport TimerWheel


@cython.final
cdef class GroupSessions:
    cdef readonly int32_t generation_id
    cdef readonly bint open             # heartbeats of this generation change nothing but the deadline
    cdef bytes group_id
    cdef str name                       # the group id as text
    cdef int32_t partition              # where the group is; -1: nobody asked yet
    cdef dict sessions                    # member id → Session
    cdef uint64_t changes               # counts what closes the heartbeats of all members


@cython.final
cdef class Session:
    cdef GroupSessions group
    cdef bytes member_id
    cdef str name                       # the member id as text
    cdef bytes group_instance_id        # None for a dynamic member
    cdef bint may_heartbeat             # False: the member id is only pending
    cdef bint awaits_client             # a load, or a closed connection: nothing came from the member since
    cdef uint64_t hash
    cdef int64_t timeout_ms
    cdef readonly int64_t deadline_ms
    cdef int64_t unheard_deadline_ms    # deadline_ms when it was last set without a request: at the begin, by an answer
    cdef int64_t heard_ms               # when a request had renewed it before that; UNHEARD: none had
    cdef int64_t timer_deadline_ms      # when the wheel will ask; not after deadline_ms
    cdef uint64_t timer                 # 0: the wheel has fired and nobody renewed
    cdef int32_t steady_epoch           # of heartbeats with an epoch that are answered here; -1: none are
    cdef int16_t steady_api             # the API of these heartbeats
    cdef int32_t steady_endpoint_epoch  # the epoch of the endpoints that they say the member knows
    cdef int32_t heartbeat_interval_ms  # what they are answered
    cdef int64_t steady_until_ms        # from then on the core answers
    cdef bytes client_id                # who sends them: from anybody else the core learns something
    cdef bytes client_host
    cdef uint64_t group_changes         # those that were counted when they were opened
    cdef uint64_t all_changes
    cdef int64_t authorized_connection  # the connection whose client may send its heartbeats
    cdef uint64_t authorizations        # those that were counted when it was authorized


@cython.final
cdef class SessionTable:
    cdef TimerWheel wheel
    cdef uint64_t seed
    cdef dict groups                    # group id → GroupSessions; owns every session
    cdef PyObject **slots               # open addressing, borrowed from `groups`; NULL is free
    cdef size_t mask
    cdef size_t used
    cdef public bint leaves_heartbeats  # to the core, all of them
    cdef public bint leaves_requests    # all other requests, too
    cdef public object commits          # the SteadyCommits that answer commits; None: the core answers all
    cdef public object fetches          # the SteadyFetches that answer OffsetFetch; None: the core answers all
    cdef public object shares           # the SteadyShares that answer about records of share groups; None: nobody does
    cdef public object answers          # the RepeatedAnswers of other requests; None: their handlers answer all
    cdef public bint asks_authorizer    # whether a heartbeat needs that its connection was authorized
    cdef readonly uint64_t authorizations   # counts what takes back the authorization of all members
    cdef uint64_t changes               # counts what closes the heartbeats with an epoch of all groups

    cpdef int set_group(self, str group_id, int32_t generation_id, bint open) except -1
    cpdef int close_heartbeats(self, str group_id) except -1
    cdef inline bint has_due_timer(self, int64_t now_ms) noexcept:
        """Whether a timer of the wheel is due, of a session or of anything else."""
        cdef int64_t due_ms = self.wheel.next_deadline_ms()
        return 0 <= due_ms <= now_ms

    cdef bint heartbeat(
        self,
        const uint8_t *group_id, Py_ssize_t group_id_size,
        const uint8_t *member_id, Py_ssize_t member_id_size,
        const uint8_t *group_instance_id, Py_ssize_t group_instance_id_size,
        int32_t generation_id, int64_t now_ms, int64_t connection,
    ) noexcept
    cdef int32_t consumer_heartbeat(
        self, const ConsumerHeartbeatFields *fields, bytes client_host, int64_t now_ms, int64_t connection
    ) noexcept
    cdef inline bint is_authorized(self, Session session, int64_t connection) noexcept:
        """Whether the client of this connection may send the heartbeats of the member, as far as is known here."""
        return not self.asks_authorizer or (
            session.authorized_connection == connection and session.authorizations == self.authorizations
        )
    cdef bint is_live(self, Session session, const Span *instance_id, int32_t generation_id, int64_t now_ms) noexcept
    cdef bint has_steady_epoch(self, Session session, int16_t api_key, int32_t member_epoch, int64_t now_ms) noexcept
    cdef inline PyObject *probe(
        self, const uint8_t *group_id, Py_ssize_t group_id_size, const uint8_t *member_id, Py_ssize_t member_id_size
    ) noexcept
    cdef Session find_or_add(self, str group_id, str member_id, str group_instance_id)
    cdef int arm(self, Session session, str group_id, str member_id, int64_t now_ms) except -1
    cdef Session find(self, str group_id, str member_id)
    cdef int insert(self, Session session) except -1
    cdef void place(self, Session session) noexcept
    cdef void erase(self, Session session) noexcept
    cdef int grow(self) except -1
