"""Sessions of members, kept as C fields so that the Heartbeat of a steady member is answered without Python.

Session deadlines are kept only here. A heartbeat sets the deadline and moves no timer: when the timer fires, `is_due`
checks the deadline, and the timer starts again or the session expires.

A session timeout is an int32 in the protocol, and no time is later than FAR_FUTURE_MS of coordinator/deadlines.py:
their sum does not overflow.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from _wire.heartbeat_frames cimport (
    CONSUMER_GROUP_HEARTBEAT, CONSUMER_MEMBER_ID_BYTES_MAX, ConsumerHeartbeatFields, Span,
)
from coordinator.timers.wheel cimport TimerWheel

from coordinator.groups.timer_keys import SessionKey

cdef enum:
    SLOTS_AT_FIRST = 64
    UNHEARD = -1                        # no request has renewed the session since it began


cdef inline uint64_t mix(uint64_t value) noexcept:
    """The finalizer of MurmurHash3: every bit of `value` reaches every bit of the result."""
    value ^= value >> 33
    value *= <uint64_t>0xff51afd7ed558ccdULL
    value ^= value >> 33
    value *= <uint64_t>0xc4ceb9fe1a85ec53ULL
    return value ^ (value >> 33)


cdef inline uint64_t hash_bytes(uint64_t hash, const uint8_t *data, Py_ssize_t size) noexcept:
    """Eight bytes a round; the seed keeps clients from choosing ids that collide."""
    cdef uint64_t word
    cdef Py_ssize_t left = size
    while left >= 8:
        memcpy(&word, data, 8)
        hash = mix(hash ^ word)
        data += 8
        left -= 8
    word = <uint64_t>size << 56
    memcpy(&word, data, left)
    return mix(hash ^ word)


cdef inline bint same_bytes(bytes expected, const uint8_t *data, Py_ssize_t size) noexcept:
    return PyBytes_GET_SIZE(expected) == size and memcmp(PyBytes_AS_STRING(expected), data, size) == 0


@cython.final
cdef class GroupSessions:
    """What the sessions of one group share."""


@cython.final
cdef class Session:
    """The session of one member."""


cdef inline bint is_instance(Session session, const uint8_t *instance_id, Py_ssize_t size) noexcept:
    """Whether a heartbeat names the instance id of the member. One of size -1 is null, which a dynamic member has."""
    if size < 0:
        return session.group_instance_id is None
    return session.group_instance_id is not None and same_bytes(session.group_instance_id, instance_id, size)


cdef int64_t heard_ms_of(Session session) noexcept:
    """When a request last came, which renewed the session or did not (`hear`); UNHEARD: none ever has."""
    if session.deadline_ms == session.unheard_deadline_ms:
        return session.heard_ms
    return session.deadline_ms - session.timeout_ms


@cython.final
cdef class SessionTable:
    """All sessions of one process. `seed` is a random number that clients cannot know."""

    def __cinit__(self, TimerWheel wheel not None, seed):
        self.wheel = wheel
        self.seed = <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF)
        self.groups = {}
        self.slots = <PyObject **>PyMem_Calloc(SLOTS_AT_FIRST, sizeof(PyObject *))
        if self.slots == NULL:
            raise MemoryError
        self.mask = SLOTS_AT_FIRST - 1

    def __dealloc__(self):
        PyMem_Free(self.slots)

    def __len__(self):
        return self.used

    def start(self, str group_id not None, str member_id not None, str group_instance_id, int64_t first_timeout_ms,
              int64_t timeout_ms, bint may_heartbeat, int64_t now_ms, bint awaits_client=False):
        """Begin a session, or begin it again: of a pending member id as its member's, or as its group's type changes.

        When a request last renewed it is known further on.
        """
        cdef Session session = self.find_or_add(group_id, member_id, group_instance_id)
        session.heard_ms = heard_ms_of(session)
        session.awaits_client = awaits_client
        session.may_heartbeat = may_heartbeat
        session.steady_epoch = -1
        session.timeout_ms = timeout_ms
        session.deadline_ms = session.unheard_deadline_ms = now_ms + first_timeout_ms
        if session.timer != 0:
            # As if it were new: of sessions that end in the same millisecond, the one that began first ends first.
            self.wheel.cancel(session.timer)
            session.timer = 0
        self.arm(session, group_id, member_id, now_ms)

    def renew(
        self, str group_id not None, str member_id not None, int64_t timeout_ms, int64_t now_ms, bint is_answer=False,
        bint shows_client=True,
    ):
        """Let the session end `timeout_ms` from now, and leave the member's heartbeats with an epoch to the core.

        `is_answer`: the member has not sent anything, but gets the answer to a request that waited. `shows_client`: the
        core knows by which connection it comes. KeyError when there is none.
        """
        cdef Session session = self.find(group_id, member_id)
        if session is None:
            raise KeyError(member_id)
        if is_answer:
            session.heard_ms = heard_ms_of(session)
            session.unheard_deadline_ms = now_ms + timeout_ms
        else:
            session.unheard_deadline_ms = UNHEARD  # it may have begun in this ms
        session.steady_epoch = -1
        if shows_client:
            session.awaits_client = False
        session.timeout_ms = timeout_ms
        session.deadline_ms = now_ms + timeout_ms
        self.arm(session, group_id, member_id, now_ms)

    def hear(self, str group_id not None, str member_id not None, int64_t at_ms):
        """A request of the member came at that time, and renewed no session. Nothing happens if there is none."""
        cdef Session session = self.find(group_id, member_id)
        if session is not None and at_ms > heard_ms_of(session):
            session.heard_ms = at_ms
            session.unheard_deadline_ms = session.deadline_ms

    def await_clients(self, members):
        """Leave the next heartbeats of these members to the core: the connection by which they came is closed.

        `members` are pairs of group and member id. The core learns by which connection they come from then on.
        """
        cdef Session session
        for group_id, member_id in members:
            session = self.find(group_id, member_id)
            if session is not None:
                session.awaits_client = True
                session.steady_epoch = -1

    def is_due(self, str group_id not None, str member_id not None, int64_t now_ms):
        """Whether the session has expired, now that its timer fired. If not, its timer starts again."""
        cdef Session session = self.find(group_id, member_id)
        if session is None:
            return False
        session.timer = 0
        if session.deadline_ms <= now_ms:
            return True
        self.arm(session, group_id, member_id, now_ms)
        return False

    def is_over(self, str group_id not None, str member_id not None, int64_t now_ms):
        """Whether the member's session has run out, or never was."""
        cdef Session session = self.find(group_id, member_id)
        return session is None or session.deadline_ms <= now_ms

    def deadline_ms(self, str group_id not None, str member_id not None):
        """When the session expires without a heartbeat; None without a session."""
        cdef Session session = self.find(group_id, member_id)
        return None if session is None else session.deadline_ms

    def last_renewed_ms(self, str group_id not None, str member_id not None):
        """When a request last came; None if none did since the session first began, or if there is none."""
        cdef Session session = self.find(group_id, member_id)
        cdef int64_t heard_ms = UNHEARD if session is None else heard_ms_of(session)
        return None if heard_ms == UNHEARD else heard_ms

    def timeout_ms(self, str group_id not None, str member_id not None):
        """How long the session lasts from each renewal on; None if there is none."""
        cdef Session session = self.find(group_id, member_id)
        return None if session is None else session.timeout_ms

    cpdef int set_group(self, str group_id, int32_t generation_id, bint open) except -1:
        """Open or close the fast path for a generation of the group."""
        cdef GroupSessions group = self._group(group_id)
        group.generation_id = generation_id
        group.open = open
        return 0

    def open_heartbeats(self, str group_id not None, str member_id not None, int32_t member_epoch,
                        int32_t heartbeat_interval_ms, str client_id not None, str client_host not None,
                        int64_t until_ms, int16_t api_key=CONSUMER_GROUP_HEARTBEAT, int32_t endpoint_epoch=0):
        """Answer the heartbeats of the member with an epoch that ask for nothing, until then or something is closed."""
        cdef Session session = self.find(group_id, member_id)
        if session is None:
            raise KeyError(member_id)
        if PyBytes_GET_SIZE(session.member_id) > CONSUMER_MEMBER_ID_BYTES_MAX:
            return
        session.steady_epoch = member_epoch
        session.steady_api = api_key
        session.steady_endpoint_epoch = endpoint_epoch
        session.heartbeat_interval_ms = heartbeat_interval_ms
        session.steady_until_ms = until_ms
        session.client_id = client_id.encode()
        session.client_host = client_host.encode()
        session.group_changes = session.group.changes
        session.all_changes = self.changes

    cpdef int close_heartbeats(self, str group_id) except -1:
        """Leave the heartbeats with an epoch of a group to the core: something of the group has changed."""
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        if group is not None:
            group.changes += 1
        return 0

    def close_all_heartbeats(self):
        """Leave all heartbeats with an epoch to the core: topics, configs, features or the clock may have changed."""
        self.changes += 1

    def authorize(self, str group_id not None, str member_id not None, int64_t connection, int64_t since=-1):
        """Let the member's heartbeats by this connection be answered here, as far as its client has to be authorized.

        Until the authorizer may decide otherwise than when `authorizations` was `since`; -1: than now. A member that
        has no session is left to the core all the same.
        """
        cdef Session session = self.find(group_id, member_id)
        if session is not None:
            session.authorized_connection = connection
            session.authorizations = self.authorizations if since < 0 else <uint64_t>since

    def revoke_authorizations(self):
        """The authorizer may decide otherwise from now on: it has to be asked again about each member."""
        self.authorizations += 1

    def end(self, str group_id not None, str member_id not None):
        """End the session of a member that is gone; False when it had none."""
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        if group is None:
            return False
        cdef Session session = <Session>group.sessions.pop(member_id, None)
        if session is None:
            return False
        if session.timer != 0:
            self.wheel.cancel(session.timer)
        self.erase(session)
        return True

    def end_all(self, str group_id not None):
        """End all sessions of a group that is gone or no longer served here."""
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        if group is not None:
            for member_id in list(group.sessions):
                self.end(group_id, member_id)
            del self.groups[group_id]

    def members(self, str group_id not None):
        """The ids of the group's members that have a session."""
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        return [] if group is None else list(group.sessions)

    def answer_consumer_heartbeat(self, str group_id not None, str member_id not None, str instance_id,
                                  int32_t member_epoch, str client_id not None, str client_host not None,
                                  int64_t now_ms, int64_t connection=0, int16_t api_key=CONSUMER_GROUP_HEARTBEAT,
                                  int32_t endpoint_epoch=0):
        """As `answer_heartbeat`, of a heartbeat with an epoch that asks for nothing: the interval to answer, or -1."""
        cdef bytes group_bytes = group_id.encode(), member_bytes = member_id.encode(), client_bytes = client_id.encode()
        cdef bytes instance_bytes = b"" if instance_id is None else instance_id.encode()
        cdef ConsumerHeartbeatFields fields
        fields.group_id.data, fields.group_id.size = <const uint8_t *>PyBytes_AS_STRING(group_bytes), len(group_bytes)
        fields.member_id.data = <const uint8_t *>PyBytes_AS_STRING(member_bytes)
        fields.member_id.size = len(member_bytes)
        fields.client_id.data = <const uint8_t *>PyBytes_AS_STRING(client_bytes)
        fields.client_id.size = len(client_bytes)
        fields.instance_id.data = <const uint8_t *>PyBytes_AS_STRING(instance_bytes)
        fields.instance_id.size = -1 if instance_id is None else len(instance_bytes)
        fields.member_epoch = member_epoch
        fields.api_key = api_key
        fields.endpoint_epoch = endpoint_epoch
        return self.consumer_heartbeat(&fields, client_host.encode(), now_ms, connection)

    def answer_heartbeat(self, str group_id not None, str member_id not None, str group_instance_id,
                         int32_t generation_id, int64_t now_ms, int64_t connection=0):
        """The fast path as Python sees it: true when the heartbeat changed nothing but the deadline."""
        cdef bytes group_bytes = group_id.encode(), member_bytes = member_id.encode()
        cdef bytes instance_bytes = b"" if group_instance_id is None else group_instance_id.encode()
        return self.heartbeat(
            <const uint8_t *>PyBytes_AS_STRING(group_bytes), len(group_bytes),
            <const uint8_t *>PyBytes_AS_STRING(member_bytes), len(member_bytes),
            <const uint8_t *>PyBytes_AS_STRING(instance_bytes),
            -1 if group_instance_id is None else len(instance_bytes),
            generation_id, now_ms, connection,
        )

    cdef bint heartbeat(
        self,
        const uint8_t *group_id, Py_ssize_t group_id_size,
        const uint8_t *member_id, Py_ssize_t member_id_size,
        const uint8_t *group_instance_id, Py_ssize_t group_instance_id_size,
        int32_t generation_id, int64_t now_ms, int64_t connection,
    ) noexcept:
        """Renew a live session of an open group. False: the core has to answer. An instance id of size -1 is null.

        A null instance id of a static member is left to the core too: rare, and its answer says less.
        """
        cdef PyObject *found
        cdef Session session
        cdef Span instance_id
        if self.leaves_heartbeats:
            return False
        found = self.probe(group_id, group_id_size, member_id, member_id_size)
        if found == NULL:
            return False
        session = <Session>found
        instance_id.data, instance_id.size = group_instance_id, group_instance_id_size
        if not self.is_live(session, &instance_id, generation_id, now_ms) or not self.is_authorized(
            session, connection
        ):
            return False
        session.deadline_ms = now_ms + session.timeout_ms
        session.unheard_deadline_ms = UNHEARD
        return True

    cdef int32_t consumer_heartbeat(
        self, const ConsumerHeartbeatFields *fields, bytes client_host, int64_t now_ms, int64_t connection
    ) noexcept:
        """Renew the live session of a member whose heartbeats are open; the interval to answer. -1: the core answers.

        The fields are those of a heartbeat that asks for nothing.
        """
        cdef PyObject *found
        cdef Session session
        if self.leaves_heartbeats:
            return -1
        found = self.probe(fields.group_id.data, fields.group_id.size, fields.member_id.data, fields.member_id.size)
        if found == NULL:
            return -1
        session = <Session>found
        if (
            not self.has_steady_epoch(session, fields.api_key, fields.member_epoch, now_ms)
            or session.steady_endpoint_epoch != fields.endpoint_epoch
            or session.steady_until_ms <= now_ms
            or not is_instance(session, fields.instance_id.data, fields.instance_id.size)
            or not same_bytes(session.client_id, fields.client_id.data, fields.client_id.size)
            or not same_bytes(
                session.client_host,
                <const uint8_t *>PyBytes_AS_STRING(client_host), PyBytes_GET_SIZE(client_host),
            )
            or not self.is_authorized(session, connection)
        ):
            return -1
        session.deadline_ms = now_ms + session.timeout_ms
        session.unheard_deadline_ms = UNHEARD
        return session.heartbeat_interval_ms

    cdef bint is_live(self, Session session, const Span *instance_id, int32_t generation_id, int64_t now_ms) noexcept:
        """Whether a Heartbeat of this generation would renew the session and do nothing else."""
        return (
            session.may_heartbeat
            and not session.awaits_client
            and session.group.open
            and session.group.generation_id == generation_id
            and session.deadline_ms > now_ms
            and is_instance(session, instance_id.data, instance_id.size)
        )

    cdef bint has_steady_epoch(self, Session session, int16_t api_key, int32_t member_epoch, int64_t now_ms) noexcept:
        """Whether the member has this epoch by this API, and nothing was closed since its heartbeats were opened."""
        return (
            session.steady_epoch == member_epoch
            and session.steady_api == api_key
            and member_epoch >= 0
            and session.group_changes == session.group.changes
            and session.all_changes == self.changes
            and session.deadline_ms > now_ms
        )

    cdef inline PyObject *probe(
        self, const uint8_t *group_id, Py_ssize_t group_id_size, const uint8_t *member_id, Py_ssize_t member_id_size
    ) noexcept:
        """The session of that member, borrowed; NULL if there is none."""
        cdef uint64_t hash = hash_bytes(hash_bytes(self.seed, group_id, group_id_size), member_id, member_id_size)
        cdef size_t index = hash & self.mask
        while self.slots[index] != NULL:
            if (
                (<Session>self.slots[index]).hash == hash
                and same_bytes((<Session>self.slots[index]).member_id, member_id, member_id_size)
                and same_bytes((<Session>self.slots[index]).group.group_id, group_id, group_id_size)
            ):
                return self.slots[index]
            index = (index + 1) & self.mask
        return NULL

    def _group(self, str group_id):
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        if group is None:
            group = GroupSessions.__new__(GroupSessions)
            group.group_id = group_id.encode()
            group.name = group_id
            group.partition = -1
            group.sessions = {}
            self.groups[group_id] = group
        return group

    cdef Session find_or_add(self, str group_id, str member_id, str group_instance_id):
        """The session of that name; a new one has the instance id, and its session has yet to be set."""
        cdef Session session = self.find(group_id, member_id)
        if session is None:
            session = Session.__new__(Session)
            session.group = self._group(group_id)
            session.member_id = member_id.encode()
            session.name = member_id
            session.group_instance_id = None if group_instance_id is None else group_instance_id.encode()
            session.heard_ms = UNHEARD
            self.insert(session)
            session.group.sessions[member_id] = session
        return session

    cdef int arm(self, Session session, str group_id, str member_id, int64_t now_ms) except -1:
        """Have the wheel ask when the session is over, or could be if it were renewed at once: renewing moves no timer.

        The latter is the earlier one only when the session was passed on with a shorter timeout.
        """
        cdef int64_t ask_ms = min(session.deadline_ms, now_ms + session.timeout_ms)
        if session.timer == 0:
            session.timer = self.wheel.start(SessionKey(group_id, member_id), ask_ms)
            session.timer_deadline_ms = ask_ms
        elif ask_ms < session.timer_deadline_ms:
            self.wheel.restart(session.timer, ask_ms)
            session.timer_deadline_ms = ask_ms
        return 0

    cdef Session find(self, str group_id, str member_id):
        cdef GroupSessions group = <GroupSessions>self.groups.get(group_id)
        return None if group is None else <Session>group.sessions.get(member_id)

    cdef int insert(self, Session session) except -1:
        cdef bytes group_id = session.group.group_id
        if (self.used + 1) * 2 > self.mask + 1:
            self.grow()
        session.hash = hash_bytes(
            hash_bytes(self.seed, <const uint8_t *>PyBytes_AS_STRING(group_id), len(group_id)),
            <const uint8_t *>PyBytes_AS_STRING(session.member_id), len(session.member_id),
        )
        self.place(session)
        self.used += 1
        return 0

    cdef void place(self, Session session) noexcept:
        cdef size_t index = session.hash & self.mask
        while self.slots[index] != NULL:
            index = (index + 1) & self.mask
        self.slots[index] = <PyObject *>session

    cdef void erase(self, Session session) noexcept:
        """Take the session out and close the gap, so that no probe of another ends early."""
        cdef size_t gap = session.hash & self.mask
        cdef size_t index, home
        while self.slots[gap] != <PyObject *>session:
            gap = (gap + 1) & self.mask
        index = gap
        while True:
            index = (index + 1) & self.mask
            if self.slots[index] == NULL:
                break
            home = (<Session>self.slots[index]).hash & self.mask
            if ((index - home) & self.mask) >= ((index - gap) & self.mask):
                self.slots[gap] = self.slots[index]
                gap = index
        self.slots[gap] = NULL
        self.used -= 1

    cdef int grow(self) except -1:
        cdef size_t size = (self.mask + 1) * 2
        cdef PyObject **slots = <PyObject **>PyMem_Calloc(size, sizeof(PyObject *))
        if slots == NULL:
            raise MemoryError
        PyMem_Free(self.slots)
        self.slots = slots
        self.mask = size - 1
        for group in self.groups.values():
            for session in (<GroupSessions>group).sessions.values():
                self.place(<Session>session)
        return 0
