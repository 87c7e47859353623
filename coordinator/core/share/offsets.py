"""What a share group says about committed offsets: it has none. What was delivered is kept by the share coordinator.

Counterpart in Kafka: `validateOffsetCommit`, `validateOffsetFetch` and `validateOffsetDelete` of `ShareGroup`.
"""

from typing import Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.groups.kind import OffsetRules

OFFSET_RULES: Final = OffsetRules(
    validate_commit=lambda group, member_id, instance_id, epoch, version, committed, topics: (
        ErrorCode.GROUP_ID_NOT_FOUND
    ),
    validate_transactional_commit=lambda group, member_id, instance_id, epoch, committed, topics: (
        ErrorCode.GROUP_ID_NOT_FOUND
    ),
    validate_fetch=lambda group, member_id, epoch: NONE,
    validate_delete=lambda group: ErrorCode.GROUP_ID_NOT_FOUND,
    sessions_renewed=lambda group, member_id: (),
    topics_read=lambda group: frozenset(),
    may_expire=lambda group: False,
    expiration_base_ms=lambda group: None,
)
