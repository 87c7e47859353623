"""Words of histories of consumer groups: as those of transactions, and ids of members that the server has made."""

import re
from typing import Any, Final

from _wire.notation import Definition, Field
from tests.differential.transactions.names import TransactionNames

MADE_ID: Final = re.compile("[A-Za-z0-9_-]{22}")
"""A UUID as Kafka writes it, for a member that names none (version 0 of ConsumerGroupHeartbeat)."""


class ConsumerNames(TransactionNames):
    """What names of a history stand for on one server."""

    def forget_topic(self, name: str) -> None:
        """The topic was deleted; its id stays known."""
        self._topic_ids.pop(name)

    def topic_ids(self) -> dict[str, bytes]:
        """Name → id of the topics that exist."""
        return {name: topic_id for name, topic_id in self._topic_ids.items() if name}

    def _say(self, definition: Definition, each: Field, value: Any, version: int) -> Any:
        if each.name == "member_id" and isinstance(value, str) and MADE_ID.fullmatch(value):
            return self._say_made_id(value)
        return super()._say(definition, each, value, version)

    def _say_made_id(self, member_id: str) -> str:
        if member_id not in self._said:
            said = f"made-{len(self._said) + 1}"
            self._said[member_id], self._real[said] = said, member_id
        return self._said[member_id]
