"""Who of a LeaveGroup leaves. Compiled: a request may name 200,000 members, and the decision about it has one step."""

from _wire.messages.leave_group cimport MemberIdentity, MemberResponse

from _wire.errors import ErrorCode

cdef int UNKNOWN_MEMBER_ID = ErrorCode.UNKNOWN_MEMBER_ID
cdef int FENCED_INSTANCE_ID = ErrorCode.FENCED_INSTANCE_ID
cdef int NONE = ErrorCode.NONE
cdef str NO_MEMBER_ID = ""


cdef class Leaving:
    """The members of a group and the identities that want to leave it, each after those before it.

    `gone` is member id → reason of those that leave, `answers` has the response to each identity.
    """

    cdef readonly dict gone
    cdef readonly list answers
    cdef dict members
    cdef dict pending_members
    cdef dict static_members

    def __init__(self, dict members not None, dict pending_members not None, dict static_members not None):
        self.members = members
        self.pending_members = pending_members
        self.static_members = static_members
        self.gone = {}
        self.answers = []

    def leave(self, list identities not None):
        cdef MemberIdentity identity
        cdef MemberResponse answer
        for identity in identities:
            answer = MemberResponse.__new__(MemberResponse)
            answer.member_id = identity.member_id
            answer.group_instance_id = identity.group_instance_id
            answer.error_code = self.error_of(identity)
            self.answers.append(answer)

    cdef int error_of(self, MemberIdentity identity) except -1:
        """NONE if the member behind the identity leaves, which it does with this call."""
        cdef str member_id = identity.member_id, instance_id = identity.group_instance_id
        cdef object holder
        if instance_id is None and member_id not in self.members and member_id not in self.pending_members:
            return UNKNOWN_MEMBER_ID
        if member_id == NO_MEMBER_ID and instance_id is not None:
            member_id = self.static_members.get(instance_id, NO_MEMBER_ID)
        elif member_id in self.pending_members and member_id not in self.gone:
            self.gone[member_id] = identity.reason
            return NONE
        holder = None if instance_id is None else self.static_members.get(instance_id)
        if holder in self.gone or member_id == NO_MEMBER_ID:
            return UNKNOWN_MEMBER_ID
        if instance_id is not None and holder is not None and holder != member_id:
            return FENCED_INSTANCE_ID
        if (instance_id is not None and holder is None) or member_id not in self.members or member_id in self.gone:
            return UNKNOWN_MEMBER_ID
        self.gone[member_id] = identity.reason
        return NONE
