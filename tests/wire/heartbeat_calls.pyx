"""A door for Python to the heartbeats that are read and answered without a message object."""

from libc.stdint cimport uint8_t

from _wire.heartbeat_frames cimport (
    ANSWER_BYTES_MAX, ConsumerHeartbeatFields, HEARTBEAT_ANSWER_BYTES_MAX, HeartbeatFields, Span,
    read_consumer_heartbeat, read_heartbeat, read_share_heartbeat, read_streams_heartbeat,
    write_consumer_heartbeat_answer, write_heartbeat_answer,
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


def read_consumer(bytes frame not None):
    """(version, client id, group id, member id, member epoch, instance id) of such a frame; None if declined."""
    cdef ConsumerHeartbeatFields fields
    if not read_consumer_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        return None
    return (
        fields.api_version, text(&fields.client_id), text(&fields.group_id), text(&fields.member_id),
        fields.member_epoch, text(&fields.instance_id),
    )


def answer_consumer(bytes frame not None, int heartbeat_interval_ms):
    """The answer frame to a frame that `read_consumer` takes."""
    cdef ConsumerHeartbeatFields fields
    cdef uint8_t out[ANSWER_BYTES_MAX]
    if not read_consumer_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        raise ValueError("not a plain ConsumerGroupHeartbeat")
    return (<const char *>out)[: write_consumer_heartbeat_answer(out, &fields, heartbeat_interval_ms)]


def read_share(bytes frame not None):
    """(version, client id, group id, member id, member epoch) of a ShareGroupHeartbeat; None if declined."""
    cdef ConsumerHeartbeatFields fields
    if not read_share_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        return None
    return (
        fields.api_version, text(&fields.client_id), text(&fields.group_id), text(&fields.member_id),
        fields.member_epoch,
    )


def answer_share(bytes frame not None, int heartbeat_interval_ms):
    """The answer frame to a frame that `read_share` takes."""
    cdef ConsumerHeartbeatFields fields
    cdef uint8_t out[ANSWER_BYTES_MAX]
    if not read_share_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        raise ValueError("not a plain ShareGroupHeartbeat")
    return (<const char *>out)[: write_consumer_heartbeat_answer(out, &fields, heartbeat_interval_ms)]


def read_streams(bytes frame not None):
    """(version, client id, group id, member id, epoch, epoch of the endpoints) of a StreamsGroupHeartbeat, or None."""
    cdef ConsumerHeartbeatFields fields
    if not read_streams_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        return None
    return (
        fields.api_version, text(&fields.client_id), text(&fields.group_id), text(&fields.member_id),
        fields.member_epoch, fields.endpoint_epoch,
    )


def answer_streams(bytes frame not None, int heartbeat_interval_ms):
    """The answer frame to a frame that `read_streams` takes."""
    cdef ConsumerHeartbeatFields fields
    cdef uint8_t out[ANSWER_BYTES_MAX]
    if not read_streams_heartbeat(<const uint8_t *>frame, len(frame), &fields):
        raise ValueError("not a plain StreamsGroupHeartbeat")
    return (<const char *>out)[: write_consumer_heartbeat_answer(out, &fields, heartbeat_interval_ms)]
