"""A door for Python to the Heartbeat that is read and answered without a message object."""

from libc.stdint cimport uint8_t

from _wire.heartbeat_frames cimport (
    HEARTBEAT_ANSWER_BYTES_MAX, HeartbeatFields, Span, read_heartbeat, write_heartbeat_answer,
)


cdef object text(Span *span):
    return None if span.size < 0 else (<const char *>span.data)[: span.size]


def read(bytes frame not None):
    """(version, group id, generation id, member id, instance id) of a frame without its length; None if declined."""
    cdef HeartbeatFields fields
    if not read_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        return None
    return (
        fields.api_version, text(&fields.group_id), fields.generation_id, text(&fields.member_id),
        text(&fields.group_instance_id),
    )


def answer(bytes frame not None):
    """The answer frame to a frame that `read` takes."""
    cdef HeartbeatFields fields
    cdef uint8_t out[HEARTBEAT_ANSWER_BYTES_MAX]
    if not read_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        raise ValueError("not a plain Heartbeat")
    return (<const char *>out)[: write_heartbeat_answer(out, &fields)]
