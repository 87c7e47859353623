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
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

from _wire.heartbeat_frames cimport Span, no_tags, take_span
from _wire.primitives cimport load_uint16, load_uint32
from coordinator.cluster.relay.tapped_frames cimport (
    API_VERSIONS, CONSUMER_GROUP_HEARTBEAT, HEADER_BYTES, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT,
    SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT, SYNC_GROUP, TXN_OFFSET_COMMIT, Head, commit_error, is_flexible,
    read_head,
)

from _wire.apis import APIS
from _wire.headers import decode_request_header, decode_response_header
from coordinator.audit.schema import PROTOCOLS_NAMED_MAX
from coordinator.audit.schema.sighted import (
    LATE_ANSWER_MS, Asked, Beat, ClientSighted, Closed, Departure, Heard, Joined, Left, Silent, Synced,
)

cdef enum:
    WITH_THROTTLE_TIME = 1              # version of Heartbeat and SyncGroup
    ERROR_WITHIN_BYTES = 11             # correlation id, tags, throttle time, error
    GROUPS_REMEMBERED_MAX = 100_000
    MEMBERS_MAX = 100_000
    SIGHTINGS_MAX = 20_000
    ID_BYTES_MAX = 1_024                # of a group or a member; with a longer id they pass unread
    READ_BYTES_MAX = 1 << 20            # what is decoded; a longer frame passes unread
    HELD_BYTES_MAX = 1 << 16            # of a frame that is looked at whole: more of it is passed on before its end
    STEADY_BYTES_MAX = 512              # of a heartbeat that is kept to compare the next one with it

NO_CLIENT = ClientSighted()

TAPPED = frozenset({
    OFFSET_COMMIT, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, API_VERSIONS, TXN_OFFSET_COMMIT,
    CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT,
})
"""The APIs that are read."""

MORE = object()
"""The frame has to be read on before it can be looked at."""


cdef inline int64_t now_ms() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1_000_000


cdef inline bint is_heartbeat(int api_key) noexcept:
    return api_key in (
        HEARTBEAT, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT
    )


cdef class SeenMember:
    """A member of a watched group, as far as this node has seen it."""

    cdef readonly str group_id
    cdef readonly str member_id
    cdef readonly int64_t heard_ms
    cdef readonly object connection
    """By which it came last; None: that one is closed."""
    cdef readonly object client
    cdef readonly int64_t silent_after_ms
    cdef readonly bint is_silent
    cdef readonly int64_t committed_ms
    """When its last commit was answered well; 0: none was."""
    cdef readonly bint awaits_answer
    """A request is not answered, or was so late that its client may have given up; or the broker's side closed its
    connection. Meanwhile nothing follows from its silence."""
    cdef int unanswered
    """Requests by its connection that are not answered: heartbeats of some clients do not wait for each other."""
    cdef int64_t waits_since_ms
    """Since when it gets no answer, if there are such requests."""

    def __repr__(self):
        return f"<{self.group_id} {self.member_id} {self.heard_ms}>"


cdef class WatchedGroup:
    cdef readonly str group_id
    cdef readonly dict members
    """Member id, as bytes → SeenMember."""


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


cdef class Tap:
    """What a node sees of watched groups. `is_watched` says of the id of a group whether it is one."""

    cdef readonly set apis
    """What `request` is to be called with: TAPPED, or nothing while no group is watched. It is always the same set."""
    cdef readonly int node_id
    cdef readonly int64_t lost
    """Facts that were dropped, as nobody took them, since they were taken last."""
    cdef readonly int64_t unread
    """Requests and answers of watched groups that could not be read."""
    cdef readonly int64_t requests
    cdef public object failed
    """Called with an exception that nobody expected."""
    cdef object _is_watched
    cdef dict _groups
    cdef list _sightings
    cdef dict _by_connection
    cdef dict _steady
    """Connection → its last heartbeat. What changes who is watched, or forgets a member, empties it."""
    cdef Py_ssize_t _members

    def __init__(self, int node_id, is_watched=None, failed=lambda problem: None):
        self.node_id = node_id
        self.failed = failed
        self._sightings = []
        self.apis = set()
        self.watch(is_watched)

    def watch(self, is_watched) -> None:
        """Watch other groups from now on; None: none."""
        self._is_watched = is_watched
        self.apis.clear()
        if is_watched is not None:
            self.apis |= TAPPED
        self._groups = {}
        self._members = 0
        self._by_connection = {}
        self._steady = {}

    def drain(self) -> tuple:
        """What was seen since, in order, and how many facts were lost meanwhile."""
        found, self._sightings = self._sightings, []
        lost, self.lost = self.lost, 0
        return found, lost

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
        cdef PyObject *found = PyDict_GetItem(self._steady, connection) if may_repeat else NULL
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
        group = self._group(PyBytes_FromStringAndSize(<const char *>head.group_id.data, head.group_id.size))
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
        member = self._member(group, key, connection, at_ms)
        passing = self._passing(connection, group, member, &head, at_ms)
        if head.api_key == SYNC_GROUP:
            self._sync(passing, &head)
        if may_repeat and head.epoch > 0:
            self._keep(passing, data[start:end], connection)
        return passing

    cdef _keep(self, Passing passing, bytes frame, object connection):
        passing.frame = frame
        self._steady[connection] = passing

    cdef bint _note_again(self, Passing passing) except? False:
        """A heartbeat came again. Return false if more has changed than the time."""
        cdef SeenMember member = passing.member
        if not passing.is_answered or member.is_silent or member.connection is not passing.connection:
            return False
        self.requests += 1
        passing.asked_ms = member.heard_ms = now_ms()
        passing.is_answered = False
        self._await_answer(member, passing.asked_ms)
        return True

    cdef Passing _passing(self, object connection, WatchedGroup group, SeenMember member, Head *head, int64_t at_ms):
        cdef Passing passing = Passing.__new__(Passing)
        if member is not None:
            self._await_answer(member, at_ms)
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
        self._see(
            Asked(
                passing.group.group_id, passing.asked_ms, self.node_id, "SyncGroup", passing.member.member_id,
                passing.epoch, passing.has_assignments, self._client(passing.connection, client_id),
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
        passing.client = self._client(connection, header.client_id)
        if head.api_key == JOIN_GROUP:
            key = passing.request.member_id.encode()
            if 0 < len(key) <= ID_BYTES_MAX:
                passing.member = self._member(group, key, connection, at_ms)
                passing.member.client = passing.client
                self._set_timeout(passing.member, passing.request.session_timeout_ms)
                self._await_answer(passing.member, at_ms)
            self._see(
                Asked(
                    group.group_id, at_ms, self.node_id, "JoinGroup", passing.request.member_id, passing.epoch, False,
                    passing.client, passing.request.reason or "", passing.request.group_instance_id,
                )
            )
        return passing

    cdef WatchedGroup _group(self, bytes group_id):
        cdef WatchedGroup group
        found = self._groups.get(group_id, MORE)
        if found is not MORE:
            return found
        group = None
        name = group_id.decode()
        if self._is_watched is not None and self._is_watched(name):
            group = WatchedGroup.__new__(WatchedGroup)
            group.group_id = name
            group.members = {}
        if len(group_id) > ID_BYTES_MAX:
            self.unread += group is not None
            return None
        if len(self._groups) >= GROUPS_REMEMBERED_MAX:
            self._forget_groups(False)
        self._groups[group_id] = group
        return group

    cdef SeenMember _member(self, WatchedGroup group, bytes member_id, object connection, int64_t at_ms):
        """The member, which is heard now."""
        cdef SeenMember member = group.members.get(member_id)
        if member is None:
            if self._members >= MEMBERS_MAX:
                self._make_room()
            member = SeenMember.__new__(SeenMember)
            member.group_id = group.group_id
            member.member_id = member_id.decode()
            member.client = self._client(connection, None)
            member.silent_after_ms = SILENT_AFTER_MS
            member.is_silent = True
            group.members[member_id] = member
            self._members += 1
        member.heard_ms = at_ms
        member.awaits_answer = member.unanswered > 0
        if member.connection is not connection:
            self._move(member, connection)
        if member.is_silent:
            member.is_silent = False
            self._see(Heard(group.group_id, at_ms, self.node_id, member.member_id, member.client))
        return member

    cdef _move(self, SeenMember member, object connection):
        members = self._by_connection.get(member.connection)
        if members is not None:
            members.discard(member)
        member.connection = connection
        member.unanswered = 0
        self._by_connection.setdefault(connection, set()).add(member)

    cdef _await_answer(self, SeenMember member, int64_t at_ms):
        if member.unanswered == 0:
            member.waits_since_ms = at_ms
        member.unanswered += 1
        member.awaits_answer = True

    cdef _set_timeout(self, SeenMember member, int64_t session_timeout_ms):
        member.silent_after_ms = max(1_000, min(session_timeout_ms // 2, SILENT_AFTER_MS))

    cdef object _client(self, object connection, object client_id):
        return ClientSighted(
            client_id if client_id is not None else connection.client_id, connection.address, connection.software
        )

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
        cdef const uint8_t *p
        cdef const uint8_t *end_of_frame
        cdef int error
        cdef int epoch = passing.epoch
        cdef Span text
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
            self._hear_answer(passing, at_ms)
        if is_of_commit:
            p = <const uint8_t *>PyBytes_AS_STRING(data) + start + 4
            end_of_frame = <const uint8_t *>PyBytes_AS_STRING(data) + end
            error = commit_error(p, end_of_frame, passing.api_key, passing.version)
            if error != 0:
                self._beat(passing, at_ms, error, epoch)
            else:
                passing.member.committed_ms = at_ms
            return True
        if not is_enough:
            self.unread += 1
            return True
        if passing.request is not None:
            self._answered(passing, data[start:end], at_ms)
            return True
        p = <const uint8_t *>PyBytes_AS_STRING(data) + start + 4
        end_of_frame = <const uint8_t *>PyBytes_AS_STRING(data) + end
        if is_flexible(passing.api_key, passing.version) and not no_tags(&p, end_of_frame):
            self.unread += 1
            return True
        if passing.version >= WITH_THROTTLE_TIME or passing.api_key not in (HEARTBEAT, SYNC_GROUP):
            p += 4
        if end_of_frame - p < 2:
            self.unread += 1
            return True
        error = <int16_t>load_uint16(p)
        p += 2
        if is_of_sync:
            self._see(
                Synced(
                    passing.group.group_id, at_ms, self.node_id, passing.member.member_id, passing.asked_ms, error,
                    passing.epoch, passing.has_assignments,
                )
            )
            return True
        if passing.api_key != HEARTBEAT and error == 0:
            if not take_span(&p, end_of_frame, True, &text) or not take_span(&p, end_of_frame, True, &text):
                self.unread += 1
                return True
            if end_of_frame - p >= 8:
                epoch = <int32_t>load_uint32(p)
                self._set_timeout(passing.member, 4 * <int64_t>load_uint32(p + 4))
        if error != 0 or epoch != passing.epoch or (passing.epoch < 0 and passing.api_key != HEARTBEAT):
            self._beat(passing, at_ms, error, epoch)
            if passing.epoch < 0 and error == 0:
                self._forget(passing.group, passing.member)
        return True

    cdef _hear_answer(self, Passing passing, int64_t at_ms):
        """The coordinator renews a session when it reads a request, which may be just before it answers."""
        cdef SeenMember member = passing.member
        cdef bint is_late = at_ms - passing.asked_ms >= LATE_ANSWER_MS
        if member.unanswered > 0 and passing.connection is member.connection:
            member.unanswered -= 1
            member.waits_since_ms = at_ms
        # JoinGroup and SyncGroup wait for other members.
        is_late = is_late and passing.api_key not in (JOIN_GROUP, SYNC_GROUP)
        member.awaits_answer = is_late or member.unanswered > 0
        member.heard_ms = max(member.heard_ms, at_ms)

    cdef _beat(self, Passing passing, int64_t at_ms, int error, int epoch):
        self._see(
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
                member = self._member(passing.group, key, passing.connection, at_ms)
                member.client = passing.client
                self._set_timeout(member, request.session_timeout_ms)
            self._see(
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
        self._see(
            Left(
                passing.group.group_id, at_ms, self.node_id, passing.asked_ms, answer.error_code, tuple(members),
                passing.client, is_own,
            )
        )
        for departure, member in zip(members, seen):
            if member is not None and departure.error == 0:
                self._forget(passing.group, member)

    cdef object _committed_ms(self, Passing passing, str member_id):
        cdef SeenMember member = passing.group.members.get(member_id.encode())
        return None if member is None or member.committed_ms == 0 else member.committed_ms

    # ---- connections, and what does not come

    def closed(self, connection, bint by_client) -> None:
        """A connection has ended."""
        cdef SeenMember member
        self._steady.pop(connection, None)
        members = self._by_connection.pop(connection, None)
        if not members:
            return
        at_ms = now_ms()
        for member in sorted(members, key=_order):
            member.connection = None
            member.unanswered = 0
            member.awaits_answer = member.awaits_answer and at_ms - member.waits_since_ms >= LATE_ANSWER_MS
            self._see(
                Closed(
                    member.group_id, at_ms, self.node_id, member.member_id, member.heard_ms, by_client,
                    member.awaits_answer,
                )
            )
            member.awaits_answer = member.awaits_answer or not by_client

    def find_silent(self) -> None:
        """Note the members that have not been heard for longer than they should have been."""
        cdef WatchedGroup group
        cdef SeenMember member
        cdef int64_t at_ms = now_ms()
        for group in self._groups.values():
            if group is None:
                continue
            for member in group.members.values():
                if not member.is_silent and not member.awaits_answer and (
                    at_ms - member.heard_ms > member.silent_after_ms
                ):
                    member.is_silent = True
                    self._see(Silent(group.group_id, at_ms, self.node_id, member.member_id, member.heard_ms))

    def ask_again(self) -> None:
        """Ask of the groups that are not watched whether they are by now: a group may be given back to the cluster."""
        self._forget_groups(True)

    cdef _forget_groups(self, bint has_empty):
        """Forget the groups that are not watched, and unless `has_empty` those without members, too."""
        cdef WatchedGroup group
        kept = {}
        for key, group in self._groups.items():
            if group is not None and (has_empty or group.members):
                kept[key] = group
        self._groups = kept
        self._steady.clear()

    cdef _make_room(self):
        """Forget members: those that are silent, whom the readers of the facts know; if there are few, all of them.

        A member that is forgotten is seen again with its next request.
        """
        cdef WatchedGroup group
        watched = [group for group in self._groups.values() if group is not None]
        for group in watched:
            for silent in [member for member in group.members.values() if member.is_silent]:
                self._forget(group, silent)
        if self._members > MEMBERS_MAX // 2:
            for group in watched:
                group.members.clear()
            self._by_connection.clear()
            self._steady.clear()
            self._members = 0

    cdef _forget(self, WatchedGroup group, SeenMember member):
        if group.members.pop(member.member_id.encode(), None) is None:
            return
        self._members -= 1
        self._steady.pop(member.connection, None)
        members = self._by_connection.get(member.connection)
        if members is not None:
            members.discard(member)

    cdef _see(self, object sighting):
        if len(self._sightings) >= SIGHTINGS_MAX:
            self.lost += 1
        else:
            self._sightings.append(sighting)

    cdef _fail(self, object problem):
        self.unread += 1
        self.failed(problem)


SILENT_AFTER_MS = 5_000
"""Above the heartbeat interval of all clients by default (3 s). One that has a shorter session is expected earlier."""


def _order(SeenMember member):
    return member.group_id, member.member_id
