"""The one transactional producer that a history of consumer groups may have: it commits the offsets of members.

It is of the time before KIP-890 (it adds the group to its transaction, and then commits) or of the time since (its
TxnOffsetCommit adds it, and its epoch rises with each transaction).
"""

import random
from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from tests.differential.consumer.side import GROUP, TRANSACTIONAL_ID
from tests.differential.sides import CLOSED

NAME: Final = "X"
TIMEOUT_MS: Final = 600_000
OLD_VERSIONS: Final = {"TxnOffsetCommit": (0, 4), "EndTxn": (0, 4)}
NEW_VERSIONS: Final = {"TxnOffsetCommit": (5, 5), "EndTxn": (5, 5)}
REPLACED: Final = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING)

Body = dict[str, Any]
Request = tuple[str, int, int, Body]
"""API, first and last version, body."""


class TransactionalActor:
    """A producer of transactions with nothing but offsets in them."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._versions = source.choice((OLD_VERSIONS, NEW_VERSIONS))
        self._producer_id, self._epoch = "", -1
        self._has_group = self._is_open = False

    def next_request(self, committed_by: Body, topics: list[Body]) -> Request:
        """What comes next. `committed_by` has what a TxnOffsetCommit says of the member."""
        if not self._producer_id:
            return self._init()
        if self._versions is OLD_VERSIONS and not self._has_group and self._random.random() < 0.9:
            return "AddOffsetsToTxn", 0, 3, self._producer() | {"group_id": GROUP}
        moves: dict[Callable[[], Request], int] = {
            lambda: self._commit(committed_by, topics): 6,
            self._end: 4 if self._is_open else 1,
            self._init: 1,
        }
        return self._random.choices(list(moves), list(moves.values()))[0]()

    def _producer(self) -> Body:
        named = {"transactional_id": TRANSACTIONAL_ID, "producer_id": self._producer_id, "producer_epoch": self._epoch}
        return named

    def _init(self) -> Request:
        body = {"transactional_id": TRANSACTIONAL_ID, "transaction_timeout_ms": TIMEOUT_MS}
        return "InitProducerId", 0, 5, body

    def _commit(self, committed_by: Body, topics: list[Body]) -> Request:
        first, last = self._versions["TxnOffsetCommit"]
        if committed_by["generation_id"] != -1 or committed_by["member_id"]:
            first = max(first, 3)
        return "TxnOffsetCommit", first, last, self._producer() | committed_by | {"group_id": GROUP, "topics": topics}

    def _end(self) -> Request:
        return "EndTxn", *self._versions["EndTxn"], self._producer() | {"committed": self._random.random() < 0.7}

    def heard(self, api: str, answer: Any) -> None:
        """The answer to a request of this producer."""
        if answer == CLOSED:
            return
        error = ErrorCode(answer.get("error_code", 0))
        if error in REPLACED:
            self._producer_id = ""
        if error is not ErrorCode.NONE:
            return
        if api == "InitProducerId":
            self._producer_id, self._epoch = answer["producer_id"], answer["producer_epoch"]
            self._has_group = self._is_open = False
        elif api == "AddOffsetsToTxn":
            self._has_group = self._is_open = True
        elif api == "TxnOffsetCommit":
            self._is_open = True
        elif api == "EndTxn":
            self._has_group = self._is_open = False
            if answer.get("producer_epoch", -1) >= 0:
                self._producer_id, self._epoch = answer["producer_id"], answer["producer_epoch"]
