"""The members of watched groups as this node sees them: when each was heard, by which connection, and who is silent.

What is seen of them are facts that the node collects (`drain`). All that is kept here is bounded: groups that are not
watched, members and facts beyond their bound are forgotten, and seen anew with their next request.
"""

from libc.stdint cimport int64_t

from coordinator.audit.schema.sighted import LATE_ANSWER_MS, ClientSighted, Closed, Heard, Silent

cdef enum:
    GROUPS_REMEMBERED_MAX = 100_000
    MEMBERS_MAX = 100_000
    SIGHTINGS_MAX = 20_000

SILENT_AFTER_MS = 5_000
"""Above the heartbeat interval of all clients by default (3 s). One that has a shorter session is expected earlier."""

cdef object UNASKED = object()          # whether the group is watched


cdef class SeenMember:
    """A member of a watched group, as far as this node has seen it."""

    cdef int await_answer(self, int64_t at_ms) except -1:
        if self.unanswered == 0:
            self.waits_since_ms = at_ms
        self.unanswered += 1
        self.awaits_answer = True
        return 0

    cdef int hear_answer(self, object connection, int64_t asked_ms, int64_t at_ms, bint may_wait) except -1:
        """The coordinator renews a session when it reads a request, which may be just before it answers.

        `may_wait`: it waits for other members before it answers.
        """
        if self.unanswered > 0 and connection is self.connection:
            self.unanswered -= 1
            self.waits_since_ms = at_ms
        self.awaits_answer = self.unanswered > 0 or (not may_wait and at_ms - asked_ms >= LATE_ANSWER_MS)
        self.heard_ms = max(self.heard_ms, at_ms)
        return 0

    cdef int set_timeout(self, int64_t session_timeout_ms) except -1:
        self.silent_after_ms = max(1_000, min(session_timeout_ms // 2, SILENT_AFTER_MS))
        return 0

    def __repr__(self):
        return f"<{self.group_id} {self.member_id} {self.heard_ms}>"


cdef class WatchedGroup:
    pass


cdef class SeenMembers:
    """`is_watched` says of the id of a group whether it is one."""

    def __init__(self, int node_id, is_watched=None):
        self.node_id = node_id
        self._sightings = []
        self.watch(is_watched)

    def watch(self, is_watched) -> None:
        """Watch other groups from now on; None: none."""
        self._is_watched = is_watched
        self._groups = {}
        self._members = 0
        self._by_connection = {}
        self.steady = {}

    def drain(self) -> tuple:
        """What was seen since, in order, and how many facts were lost meanwhile."""
        found, self._sightings = self._sightings, []
        lost, self.lost = self.lost, 0
        return found, lost

    cdef int see(self, object sighting) except -1:
        if len(self._sightings) >= SIGHTINGS_MAX:
            self.lost += 1
        else:
            self._sightings.append(sighting)
        return 0

    cdef WatchedGroup group_of(self, bytes group_id):
        """The group if it is watched, else None."""
        cdef WatchedGroup group
        found = self._groups.get(group_id, UNASKED)
        if found is not UNASKED:
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

    cdef SeenMember heard(self, WatchedGroup group, bytes member_id, object connection, int64_t at_ms):
        """The member, which is heard now."""
        cdef SeenMember member = group.members.get(member_id)
        if member is None:
            if self._members >= MEMBERS_MAX:
                self._make_room()
            member = SeenMember.__new__(SeenMember)
            member.group_id = group.group_id
            member.member_id = member_id.decode()
            member.client = self.client_of(connection, None)
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
            self.see(Heard(group.group_id, at_ms, self.node_id, member.member_id, member.client))
        return member

    cdef int _move(self, SeenMember member, object connection) except -1:
        members = self._by_connection.get(member.connection)
        if members is not None:
            members.discard(member)
        member.connection = connection
        member.unanswered = 0
        self._by_connection.setdefault(connection, set()).add(member)
        return 0

    cdef object client_of(self, object connection, object client_id):
        return ClientSighted(
            client_id if client_id is not None else connection.client_id, connection.address, connection.software
        )

    # ---- what ends, and what does not come

    def closed(self, connection, bint by_client) -> None:
        """A connection has ended."""
        cdef SeenMember member
        self.steady.pop(connection, None)
        members = self._by_connection.pop(connection, None)
        if not members:
            return
        at_ms = now_ms()
        for member in sorted(members, key=_order):
            member.connection = None
            member.unanswered = 0
            member.awaits_answer = member.awaits_answer and at_ms - member.waits_since_ms >= LATE_ANSWER_MS
            self.see(
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
                    self.see(Silent(group.group_id, at_ms, self.node_id, member.member_id, member.heard_ms))

    def ask_again(self) -> None:
        """Ask of the groups that are not watched whether they are by now: a group may be given back to the cluster."""
        self._forget_groups(True)

    cdef int _forget_groups(self, bint has_empty) except -1:
        """Forget the groups that are not watched, and unless `has_empty` those without members, too."""
        cdef WatchedGroup group
        kept = {}
        for key, group in self._groups.items():
            if group is not None and (has_empty or group.members):
                kept[key] = group
        self._groups = kept
        self.steady.clear()
        return 0

    cdef int _make_room(self) except -1:
        """Forget members: those that are silent, whom the readers of the facts know; if there are few, all of them."""
        cdef WatchedGroup group
        watched = [group for group in self._groups.values() if group is not None]
        for group in watched:
            for silent in [member for member in group.members.values() if member.is_silent]:
                self.forget(group, silent)
        if self._members > MEMBERS_MAX // 2:
            for group in watched:
                group.members.clear()
            self._by_connection.clear()
            self.steady.clear()
            self._members = 0
        return 0

    cdef int forget(self, WatchedGroup group, SeenMember member) except -1:
        if group.members.pop(member.member_id.encode(), None) is None:
            return 0
        self._members -= 1
        self.steady.pop(member.connection, None)
        members = self._by_connection.get(member.connection)
        if members is not None:
            members.discard(member)
        return 0


def _order(SeenMember member):
    return member.group_id, member.member_id
