"""Which requests a fault applies to."""

import random
from collections.abc import Callable
from typing import Any

from coordinator.core.decision import OperationContext
from coordinator.core.groups.membership import Membership
from coordinator.deadlines import deadline_after
from coordinator.faults.named import groups_of, members_of
from coordinator.faults.specs import RequestSpec

GroupOf = Callable[[str], Membership | None]
"""Group id → the group; None: there is none, or it is not served now."""


class Matcher:
    """Counts the requests that match a fault, and chooses among them."""

    def __init__(self, spec: RequestSpec, group_of: GroupOf, now_ms: Callable[[], int]) -> None:
        self._spec = spec
        self._group_of = group_of
        self._now_ms = now_ms
        self._until_ms = None if spec.seconds is None else deadline_after(now_ms(), round(spec.seconds * 1000))
        self._random = random.Random(spec.seed)
        self._matched = 0
        self.hits = 0

    def applies_to(self, request: Any, context: OperationContext) -> bool:
        """Whether the fault applies to this request; counts it."""
        spec = self._spec
        if self._until_ms is not None and self._now_ms() >= self._until_ms:
            return False
        if not self._matches(request, context):
            return False
        self._matched += 1
        if spec.nth is not None and self._matched != spec.nth:
            return False
        if spec.times is not None and self.hits >= spec.times:
            return False
        if spec.probability is not None and self._random.random() >= spec.probability:
            return False
        self.hits += 1
        return True

    def _matches(self, request: Any, context: OperationContext) -> bool:
        spec = self._spec
        if spec.group is not None and spec.group not in groups_of(request):
            return False
        if spec.member is not None and not self._is_of(spec.member, request, context):
            return False
        return spec.leader is None or spec.leader is self._is_of_leader(request)

    def _is_of(self, pattern: str, request: Any, context: OperationContext) -> bool:
        """Whether a member of this id, client id or instance id sent the request, or is named in it."""
        if pattern == context.client_id:
            return True
        return any(pattern in member for member in members_of(request)) or pattern == self._instance_id_of_sender(
            request
        )

    def _instance_id_of_sender(self, request: Any) -> str | None:
        """A member of a consumer group says its instance id only when it joins (KIP-848)."""
        group_id, member_id = getattr(request, "group_id", ""), getattr(request, "member_id", "")
        group = self._group_of(group_id) if group_id and member_id else None
        member = None if group is None else group.members.get(member_id)
        return None if member is None else member.group_instance_id

    def _is_of_leader(self, request: Any) -> bool:
        group_id, member_id = getattr(request, "group_id", ""), getattr(request, "member_id", "")
        group = self._group_of(group_id) if group_id and member_id else None
        return group is not None and group.leader == member_id
