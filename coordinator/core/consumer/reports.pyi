from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.consumer.long_heartbeats import LongHeartbeat

def is_report(request: ConsumerGroupHeartbeatRequest | LongHeartbeat) -> bool:
    """Whether a heartbeat tells that its member is there, in an epoch, and at most what it owns.

    Such a one is valid, and leaves what is known of the member as it is. False of some that are no more than that: of
    those whose ids begin with a space.
    """
