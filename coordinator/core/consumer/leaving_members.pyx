"""Who of a LeaveGroup leaves a consumer group.

Compiled: a request may name 200,000 members, and the decision about it has one step.
"""

from _wire.messages.leave_group cimport MemberIdentity, MemberResponse

from _wire.errors import ErrorCode

cdef int UNKNOWN_MEMBER_ID = ErrorCode.UNKNOWN_MEMBER_ID
cdef int FENCED_INSTANCE_ID = ErrorCode.FENCED_INSTANCE_ID
cdef int NONE = ErrorCode.NONE
cdef str NO_MEMBER_ID = ""


def members_that_leave(dict members not None, dict static_members not None, list identities not None):
    cdef dict gone = {}
    cdef list answers = []
    cdef MemberIdentity identity
    cdef MemberResponse answer
    cdef str member_id
    cdef object holder_id
    cdef int error
    for identity in identities:
        member_id, error = identity.member_id, NONE
        if identity.group_instance_id is not None:
            holder_id = static_members.get(identity.group_instance_id)
            if holder_id is None:
                error = UNKNOWN_MEMBER_ID
            elif member_id == NO_MEMBER_ID:
                member_id = holder_id
            elif member_id != <str>holder_id:
                error = FENCED_INSTANCE_ID
        elif member_id not in members:
            error = UNKNOWN_MEMBER_ID
        if error == NONE and member_id not in gone:
            gone[member_id] = identity.reason
        answer = MemberResponse.__new__(MemberResponse)
        answer.member_id = identity.member_id
        answer.group_instance_id = identity.group_instance_id
        answer.error_code = error
        answers.append(answer)
    return gone, answers
