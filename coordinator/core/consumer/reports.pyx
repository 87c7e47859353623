"""Heartbeats of members that say nothing new of themselves: most of those that the core decides are such.

Compiled, because it reads each field of the request.
"""

from _wire.messages.consumer_group_heartbeat cimport ConsumerGroupHeartbeatRequest

cdef enum:
    UNCHANGED_TIMEOUT = -1


def is_report(request):
    cdef ConsumerGroupHeartbeatRequest heartbeat
    if type(request) is not ConsumerGroupHeartbeatRequest:
        return False
    heartbeat = request
    return (
        heartbeat.member_epoch > 0
        and heartbeat.instance_id is None
        and heartbeat.rack_id is None
        and heartbeat.rebalance_timeout_ms == UNCHANGED_TIMEOUT
        and heartbeat.server_assignor is None
        and heartbeat.subscribed_topic_names is None
        and heartbeat.subscribed_topic_regex is None
        and begins_visibly(heartbeat.member_id)
        and begins_visibly(heartbeat.group_id)
    )


cdef bint begins_visibly(str text):
    return len(text) > 0 and text[0] > u" "
