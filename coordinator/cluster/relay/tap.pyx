"""Reads what passes of watched groups, where it lies. Nothing is answered, changed or held back for it.

A group that is not watched costs one look-up. Of one that is, a heartbeat writes when its member was heard: mostly it
has the same bytes as the one before on its connection, and then nothing else is read. What is rare (JoinGroup,
LeaveGroup, a heartbeat or a commit that is answered with an error) is decoded. What fails is counted and passed over.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from _wire.heartbeat_frames cimport Span, no_tags, take_span
from _wire.big_endian cimport load_uint16, load_uint32
from coordinator.cluster.relay.seen_members cimport ID_BYTES_MAX, SeenMember, SeenMembers, WatchedGroup, now_ms
from coordinator.cluster.relay.tapped_frames cimport (
    API_VERSIONS, CONSUMER_GROUP_HEARTBEAT, HEADER_BYTES, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT,
    SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT, SYNC_GROUP, TXN_OFFSET_COMMIT, Head, commit_error, is_flexible,
    read_head,
)

from _wire.apis import APIS
from _wire.headers import decode_request_header, decode_response_header
from coordinator.audit.schema import PROTOCOLS_NAMED_MAX
from coordinator.audit.schema.sighted import Asked, Beat, Departure, Joined, Left, Synced

cdef enum:
    WITH_THROTTLE_TIME = 1              # version of Heartbeat and SyncGroup
    ERROR_WITHIN_BYTES = 11             # correlation id, tags, throttle time, error
    READ_BYTES_MAX = 1 << 20            # what is decoded; a longer frame passes unread
    HELD_BYTES_MAX = 1 << 16            # of a frame that is looked at whole: more of it is passed on before its end
    STEADY_BYTES_MAX = 512              # of a heartbeat that is kept to compare the next one with it

TAPPED = frozenset({
    OFFSET_COMMIT, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, API_VERSIONS, TXN_OFFSET_COMMIT,
    CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT,
})
"""The APIs that are read."""

MORE = object()
"""The frame has to be read on before it can be looked at."""


cdef inline bint is_heartbeat(int api_key) noexcept:
    return api_key in (
        HEARTBEAT, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT
    )


cdef class Passing:
    """A request whose answer is read, too."""

    cdef readonly int api_key
    cdef readonly int version
    cdef WatchedGroup group
    cdef SeenMember member
    cdef int64_t asked_ms
    cdef int epoch
    cdef object request
    cdef object client
    cdef object connection
    cdef object instance_id
    cdef bint has_assignments
    cdef bytes frame
    """Of a heartbeat: the next one that has the same bytes is noted here again. Without `group` it is not watched."""
    cdef bint is_answered

    cdef bint is_repeated_by(self, const uint8_t *frame, Py_ssize_t size) noexcept:
        """Whether a request has the same bytes but for its correlation id."""
        cdef const uint8_t *own = <const uint8_t *>PyBytes_AS_STRING(self.frame)
        return (
            size == PyBytes_GET_SIZE(self.frame)
            and load_uint32(frame) == load_uint32(own)
            and memcmp(frame + HEADER_BYTES, own + HEADER_BYTES, size - HEADER_BYTES) == 0
        )


cdef class Tap(SeenMembers):
    """What a node sees of watched groups. `is_watched` says of the id of a group whether it is one."""

    cdef readonly set apis
    """What `request` is to be called with: TAPPED, or nothing while no group is watched. It is always the same set."""
    cdef readonly int64_t requests
    cdef public object failed
    """Called with an exception that nobody expected."""

    def __init__(self, int node_id, is_watched=None, failed=lambda problem: None):
        self.failed = failed
        self.apis = set()
        SeenMembers.__init__(self, node_id, is_watched)

    def watch(self, is_watched) -> None:
        SeenMembers.watch(self, is_watched)
        self.apis.clear()
        if is_watched is not None:
            self.apis |= TAPPED

    # ---- requests

    def request(self, connection, bytes data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t frame_bytes):
        """A request that begins at data[start], without its length, and is there up to data[end].

        Returns None: there is nothing to see; MORE; or what `response` is to be called with.
        """
        try:
            return self._request(connection, data, start, end, frame_bytes)
        except Exception as problem:
            self._fail(problem)
            return None

    cdef object _request(self, object connection, bytes data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t frame_bytes):
        cdef const uint8_t *frame = <const uint8_t *>PyBytes_AS_STRING(data) + start
        cdef Py_ssize_t there = end - start
        cdef bint is_whole = there >= frame_bytes
        cdef bint may_wait = not is_whole and there < HELD_BYTES_MAX
        cdef Head head
        cdef WatchedGroup group
        cdef SeenMember member
        cdef Passing passing
        cdef bytes key
        cdef int64_t at_ms
        cdef int api_key = load_uint16(frame)
        cdef bint may_repeat = is_whole and there <= STEADY_BYTES_MAX and is_heartbeat(api_key)
        cdef PyObject *found = PyDict_GetItem(self.steady, connection) if may_repeat else NULL
        if found != NULL and (<Passing>found).is_repeated_by(frame, there):
            passing = <Passing>found
            if passing.group is None:
                return None
            if self._note_again(passing):
                return passing
        if api_key == API_VERSIONS and is_whole:
            self._note_software(connection, data[start:end])
            return None
        if api_key == API_VERSIONS or not read_head(frame, frame + there, &head):
            if may_wait:
                return MORE
            self.unread += 1
            return None
        group = self.group_of(PyBytes_FromStringAndSize(<const char *>head.group_id.data, head.group_id.size))
        if group is None:
            if may_repeat:
                passing = Passing.__new__(Passing)
                self._keep(passing, data[start:end], connection)
            return None
        if head.has_member and head.member_id.size > ID_BYTES_MAX:
            self.unread += 1
            return None
        self.requests += 1
        if head.api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT) and (not head.has_member or head.member_id.size == 0):
            return None
        if may_wait and head.api_key in (JOIN_GROUP, LEAVE_GROUP):
            return MORE
        at_ms = now_ms()
        if not head.has_member:
            return self._decoded(connection, group, &head, data, start, end, frame_bytes, at_ms)
        key = PyBytes_FromStringAndSize(<const char *>head.member_id.data, head.member_id.size)
        member = self.heard(group, key, connection, at_ms)
        passing = self._passing(connection, group, member, &head, at_ms)
        if head.api_key == SYNC_GROUP:
            self._sync(passing, &head)
        if may_repeat and head.epoch > 0:
            self._keep(passing, data[start:end], connection)
        return passing

    cdef _keep(self, Passing passing, bytes frame, object connection):
        passing.frame = frame
        self.steady[connection] = passing

    cdef bint _note_again(self, Passing passing) except? False:
        """A heartbeat came again. Return false if more has changed than the time."""
        cdef SeenMember member = passing.member
        if not passing.is_answered or member.is_silent or member.connection is not passing.connection:
            return False
        self.requests += 1
        passing.asked_ms = member.heard_ms = now_ms()
        passing.is_answered = False
        member.await_answer(passing.asked_ms)
        return True

    cdef Passing _passing(self, object connection, WatchedGroup group, SeenMember member, Head *head, int64_t at_ms):
        cdef Passing passing = Passing.__new__(Passing)
        if member is not None:
            member.await_answer(at_ms)
        passing.api_key = head.api_key
        passing.version = head.version
        passing.group = group
        passing.member = member
        passing.asked_ms = at_ms
        passing.epoch = head.epoch if head.has_member else -1
        passing.connection = connection
        if 0 < head.instance_id.size <= ID_BYTES_MAX:
            instance_id = PyBytes_FromStringAndSize(<const char *>head.instance_id.data, head.instance_id.size)
            passing.instance_id = instance_id.decode()
        return passing

    cdef _sync(self, Passing passing, Head *head):
        """The leader's one has the assignments of all members: it may be long, and is passed on while it comes."""
        client_id = None
        if head.client_id.size >= 0:
            client_id = PyBytes_FromStringAndSize(<const char *>head.client_id.data, head.client_id.size)
            client_id = client_id.decode("utf-8", "replace")
        passing.has_assignments = head.has_assignments
        self.see(
            Asked(
                passing.group.group_id, passing.asked_ms, self.node_id, "SyncGroup", passing.member.member_id,
                passing.epoch, passing.has_assignments, self.client_of(passing.connection, client_id),
            )
        )

    cdef object _decoded(
        self, object connection, WatchedGroup group, Head *head, bytes data, Py_ssize_t start, Py_ssize_t end,
        Py_ssize_t frame_bytes, int64_t at_ms,
    ):
        cdef Passing passing
        cdef bytes key
        if end - start < frame_bytes or frame_bytes > READ_BYTES_MAX:
            self.unread += 1
            return None
        passing = self._passing(connection, group, None, head, at_ms)
        frame = data[start:end]
        header, body_start = decode_request_header(frame)
        passing.request = APIS[head.api_key].request.decode(frame, head.version, body_start, False)
        passing.client = self.client_of(connection, header.client_id)
        if head.api_key == JOIN_GROUP:
            key = passing.request.member_id.encode()
            if 0 < len(key) <= ID_BYTES_MAX:
                passing.member = self.heard(group, key, connection, at_ms)
                passing.member.client = passing.client
                passing.member.set_timeout(passing.request.session_timeout_ms)
                passing.member.await_answer(at_ms)
            self.see(
                Asked(
                    group.group_id, at_ms, self.node_id, "JoinGroup", passing.request.member_id, passing.epoch, False,
                    passing.client, passing.request.reason or "", passing.request.group_instance_id,
                )
            )
        return passing

    cdef _note_software(self, object connection, bytes frame):
        header, body_start = decode_request_header(frame)
        api = APIS[API_VERSIONS]
        connection.client_id = header.client_id or ""
        if 3 <= header.api_version <= api.max_version:
            request = api.request.decode(frame, header.api_version, body_start, False)
            connection.software = f"{request.client_software_name} {request.client_software_version}".strip()

    # ---- answers

    def response(self, Passing passing, bytes data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t frame_bytes):
        """The answer to what `request` returned, as that is given; false: more of it is needed."""
        try:
            return self._response(passing, data, start, end, frame_bytes)
        except Exception as problem:
            self._fail(problem)
            return True

    cdef bint _response(
        self, Passing passing, bytes data, Py_ssize_t start, Py_ssize_t end, Py_ssize_t frame_bytes
    ) except? False:
        cdef const uint8_t *bytes_of_data = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef int64_t at_ms
        cdef Py_ssize_t there = end - start
        cdef bint is_of_commit = passing.api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
        cdef bint is_of_sync = passing.api_key == SYNC_GROUP
        cdef bint is_enough = there >= frame_bytes or is_of_commit or (is_of_sync and there >= ERROR_WITHIN_BYTES)
        if not is_enough and there < HELD_BYTES_MAX and (is_of_sync or frame_bytes <= READ_BYTES_MAX):
            return False
        at_ms = now_ms()
        passing.is_answered = True
        if passing.member is not None:
            # JoinGroup and SyncGroup wait for other members.
            passing.member.hear_answer(
                passing.connection, passing.asked_ms, at_ms, is_of_sync or passing.api_key == JOIN_GROUP
            )
        if is_of_commit:
            self._commit_answered(passing, bytes_of_data + start + 4, bytes_of_data + end, at_ms)
        elif not is_enough:
            self.unread += 1
        elif passing.request is not None:
            self._answered(passing, data[start:end], at_ms)
        elif not self._read_error(passing, bytes_of_data + start + 4, bytes_of_data + end, at_ms):
            self.unread += 1
        return True

    cdef _commit_answered(self, Passing passing, const uint8_t *p, const uint8_t *end, int64_t at_ms):
        cdef int error = commit_error(p, end, passing.api_key, passing.version)
        if error != 0:
            self._beat(passing, at_ms, error, passing.epoch)
        else:
            passing.member.committed_ms = at_ms

    cdef bint _read_error(self, Passing passing, const uint8_t *p, const uint8_t *end, int64_t at_ms) except -1:
        """Read the answer to a heartbeat or a SyncGroup; false: it cannot be read."""
        cdef int error
        cdef int epoch = passing.epoch
        cdef Span text
        if is_flexible(passing.api_key, passing.version) and not no_tags(&p, end):
            return False
        if passing.version >= WITH_THROTTLE_TIME or passing.api_key not in (HEARTBEAT, SYNC_GROUP):
            p += 4
        if end - p < 2:
            return False
        error = <int16_t>load_uint16(p)
        p += 2
        if passing.api_key == SYNC_GROUP:
            self.see(
                Synced(
                    passing.group.group_id, at_ms, self.node_id, passing.member.member_id, passing.asked_ms, error,
                    epoch, passing.has_assignments,
                )
            )
            return True
        if passing.api_key != HEARTBEAT and error == 0:
            if not take_span(&p, end, True, &text) or not take_span(&p, end, True, &text):
                return False
            if end - p >= 8:
                epoch = <int32_t>load_uint32(p)
                passing.member.set_timeout(4 * <int64_t>load_uint32(p + 4))
        if error != 0 or epoch != passing.epoch or (passing.epoch < 0 and passing.api_key != HEARTBEAT):
            self._beat(passing, at_ms, error, epoch)
            if passing.epoch < 0 and error == 0:
                self.forget(passing.group, passing.member)
        return True

    cdef _beat(self, Passing passing, int64_t at_ms, int error, int epoch):
        self.see(
            Beat(
                passing.group.group_id, at_ms, self.node_id, passing.member.member_id, passing.asked_ms,
                APIS[passing.api_key].name, passing.epoch, error, epoch, passing.member.client, passing.instance_id,
            )
        )

    cdef _answered(self, Passing passing, bytes frame, int64_t at_ms):
        cdef int version = passing.version
        cdef SeenMember member = passing.member
        cdef bytes key
        _, body_start = decode_response_header(frame, passing.api_key, version)
        answer = APIS[passing.api_key].response.decode(frame, version, body_start)
        request = passing.request
        group_id = passing.group.group_id
        if passing.api_key == JOIN_GROUP:
            key = answer.member_id.encode()
            if answer.error_code == 0 and len(key) <= ID_BYTES_MAX and (
                member is None or member.member_id != answer.member_id
            ):
                member = self.heard(passing.group, key, passing.connection, at_ms)
                member.client = passing.client
                member.set_timeout(request.session_timeout_ms)
            self.see(
                Joined(
                    group_id, at_ms, self.node_id, answer.member_id, passing.asked_ms, answer.error_code,
                    answer.generation_id, answer.leader, passing.client, request.group_instance_id,
                    request.session_timeout_ms, request.rebalance_timeout_ms, request.reason or "", request.member_id,
                    tuple([joined.member_id for joined in answer.members]), request.protocol_type,
                    tuple([protocol.name for protocol in request.protocols[:PROTOCOLS_NAMED_MAX]]),
                )
            )
        elif passing.api_key == LEAVE_GROUP:
            self._left(passing, answer, at_ms)

    cdef _left(self, Passing passing, answer, int64_t at_ms):
        request = passing.request
        if passing.version < 3:
            committed_ms = self._committed_ms(passing, request.member_id)
            members = [Departure(request.member_id, None, "", answer.error_code, committed_ms)]
        else:
            errors = {(result.member_id, result.group_instance_id): result.error_code for result in answer.members}
            members = [
                Departure(
                    leaving.member_id, leaving.group_instance_id, leaving.reason or "",
                    errors.get((leaving.member_id, leaving.group_instance_id), answer.error_code),
                    self._committed_ms(passing, leaving.member_id),
                )
                for leaving in request.members
            ]
        seen = [passing.group.members.get(departure.member_id.encode()) for departure in members]
        is_own = len(seen) == 1 and seen[0] is not None and seen[0].client.client_id == passing.client.client_id
        is_own = is_own and seen[0].client.host == passing.client.host
        self.see(
            Left(
                passing.group.group_id, at_ms, self.node_id, passing.asked_ms, answer.error_code, tuple(members),
                passing.client, is_own,
            )
        )
        for departure, member in zip(members, seen):
            if member is not None and departure.error == 0:
                self.forget(passing.group, member)

    cdef object _committed_ms(self, Passing passing, str member_id):
        cdef SeenMember member = passing.group.members.get(member_id.encode())
        return None if member is None or member.committed_ms == 0 else member.committed_ms

    cdef _fail(self, object problem):
        self.unread += 1
        self.failed(problem)
