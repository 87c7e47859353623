from typing import Final

from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
"""The protocol type whose metadata are subscriptions; the metadata of other types are opaque."""

def decode_subscription_message(metadata: bytes) -> ConsumerProtocolSubscription:
    """The whole subscription, which has no bound here.

    Raises:
        MalformedMessage: it is no subscription.
    """

def decode_assignment_message(assignment: bytes) -> ConsumerProtocolAssignment:
    """The whole assignment, which has no bound here. Empty bytes assign nothing.

    Raises:
        MalformedMessage: it is no assignment.
    """

def subscription_topics(metadata: bytes) -> list[str]:
    """The topics of a subscription. As on Kafka's coordinator only the fields of version 0 have to be readable.

    Raises:
        MalformedMessage: it is no subscription.
    """

def read_subscription(protocol_type: str | None, metadata: bytes, topics_max: int) -> tuple[list[str], int]:
    """The topics that a member subscribes to, in ascending order, and 0; none if `metadata` is no subscription.

    As in `subscription_topics`, only the fields of version 0 have to be readable. If there are more than `topics_max`:
    no topic, and how many there are. No object is made for each then.
    """

def is_same_subscription(before: bytes, after: bytes, with_user_data: bool) -> bool:
    """Whether both ask for the same: topics, in whatever order, rack and, if `with_user_data`, user data.

    False if one of them is no subscription.
    """

def count_claimed(protocol_type: str | None, metadata: bytes, partitions: set[tuple[str, int]], claims_max: int) -> int:
    """How many of `partitions` a member says it still owned while it rejoined (KIP-429); none for eager assignors.

    Of a member that claims more than `claims_max`, no claim is counted.
    """

def revokes(protocol_type: str | None, metadata: bytes, assignment: bytes, partitions_max: int) -> bool:
    """Whether a member does not get all that it said it still owned while it rejoined (KIP-429).

    It then gives those partitions up and rejoins. False if more than `partitions_max` are claimed or assigned.
    """

def read_assignment(
    protocol_type: str | None, assignment: bytes, partitions_max: int
) -> tuple[bool, set[tuple[str, int]], int]:
    """Whether `assignment` is that of a consumer, its partitions (topic, index), and 0. Empty bytes assign nothing.

    If there are more than `partitions_max`: no partition, and how many there are. No object is made for each then.
    """
