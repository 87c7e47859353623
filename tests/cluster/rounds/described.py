"""The members of groups as the cluster describes them, beside those that the audit tells."""

from collections.abc import Collection, Mapping
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

ANSWER_SECONDS: Final = 10


class DescribedMembers:
    """Of groups of either protocol."""

    def __init__(self, brokers: str, groups: Collection[str]) -> None:
        self._brokers, self._groups = brokers, list(groups)

    def differ_from(self, told: Mapping[str, Collection[str]]) -> list[str]:
        """What is told otherwise than it is, or why that cannot be known now."""
        if not self._groups:
            return []
        admin = AdminClient({"bootstrap.servers": self._brokers, "log_level": 2})
        asked = admin.describe_consumer_groups(self._groups, request_timeout=ANSWER_SECONDS)
        found = []
        for group_id, answer in asked.items():
            try:
                described = {member.member_id for member in answer.result(ANSWER_SECONDS).members}
            except KafkaException as problem:
                found.append(f"{group_id}: {problem}")
                continue
            members = set(told.get(group_id, ()))
            if described != members:
                found.append(f"{group_id}: has {sorted(described)}, and told are {sorted(members)}")
        return found
