"""The one member of the classic protocol that a history of consumer groups may have: it joins both kinds of groups.

There is never a second one, so no JoinGroup waits for another member. It may be static, and take the place of a member
of the other protocol, or lose its own to it.
"""

import random
from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from tests.differential.consumer.play import SHORT_MS
from tests.differential.consumer.side import GROUP
from tests.differential.sides import CLOSED

NAME: Final = "K"
REBALANCE_MS: Final = 600_000
SESSION_MS: Final = 60_000
INSTANCES: Final = (None, None, "i1", "i2")
ASSIGNOR: Final = "range"
"""Of all members of a history that has this one: the server makes its id, and this assignor goes by names."""
FIRST_WITH_INSTANCE: Final = 5
FIRST_OF_OTHERS_WITH_INSTANCE: Final = 3
REMOVED: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

Body = dict[str, Any]
Request = tuple[str, int, Body]


class ClassicActor:
    """A consumer that uses JoinGroup and SyncGroup."""

    def __init__(self, source: random.Random, *, has_short_timeouts: bool) -> None:
        self._random = source
        self._session_ms = source.choice((SHORT_MS, SESSION_MS)) if has_short_timeouts else SESSION_MS
        self._rebalance_ms = source.choice((SHORT_MS, REBALANCE_MS)) if has_short_timeouts else REBALANCE_MS
        self._named = {"group_instance_id": source.choice(INSTANCES)}
        self.member_id = ""
        self.generation_id = -1
        self.topics = source.choice((["~t1"], ["~t1", "~t2"], ["~t2", "~none"]))
        self.owned: dict[str, list[int]] = {}
        self._must_sync = False

    def next_request(self, *, may_be_made: bool) -> Request:
        """What comes next. `may_be_made`: there is no member of the new protocol, so the server may make the id."""
        if self.generation_id < 0 or not self.member_id:
            return self._join(may_be_made=may_be_made)
        if self._must_sync and self._random.random() < 0.8:
            return self._sync()
        moves: dict[Callable[[], Request], int] = {
            self._heartbeat: 8,
            lambda: self._join(may_be_made=may_be_made): 5,
            self._sync: 2,
            self._leave: 2,
            self._commit: 3,
        }
        return self._random.choices(list(moves), list(moves.values()))[0]()

    def _join(self, *, may_be_made: bool) -> Request:
        # A static member has its place in an assignment by its instance id.
        may_be_made = may_be_made or self._named["group_instance_id"] is not None
        member_id = self.member_id or ("" if may_be_made else NAME)
        if self._random.random() < 0.2:
            self.topics = self._random.choice((["~t1"], ["~t2"], ["~t1", "~t2"], []))
        subscription = {
            "subscription": self._random.choice((0, 1, 1, 2, 3)),
            "topics": self.topics,
            "owned": self._random.choice((self.owned, {}, self.owned)),
        }
        body = {
            "group_id": GROUP,
            "session_timeout_ms": self._session_ms,
            "rebalance_timeout_ms": self._rebalance_ms,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
        }
        return "JoinGroup", self._first_version(1, FIRST_WITH_INSTANCE), body | self._named

    def _first_version(self, dynamic: int, static: int) -> int:
        return dynamic if self._named["group_instance_id"] is None else static

    def _sync(self) -> Request:
        assignment = {"assignment": 0, "partitions": {topic: [0] for topic in self.topics if topic != "~none"}}
        body = {
            "group_id": GROUP,
            "generation_id": self._generation(),
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": self.member_id, "assignment": assignment}],
        }
        return "SyncGroup", self._first_version(0, FIRST_OF_OTHERS_WITH_INSTANCE), body | self._named

    def _heartbeat(self) -> Request:
        body = {"group_id": GROUP, "generation_id": self._generation(), "member_id": self.member_id}
        return "Heartbeat", self._first_version(0, FIRST_OF_OTHERS_WITH_INSTANCE), body | self._named

    def _generation(self) -> int:
        odd = self._random.random() < 0.1
        return self.generation_id + self._random.choice((-1, 1)) if odd else self.generation_id

    def _leave(self) -> Request:
        return "LeaveGroup", 3, {"group_id": GROUP, "members": [{"member_id": self.member_id} | self._named]}

    def _commit(self) -> Request:
        partitions = [{"partition_index": 0, "committed_offset": self._random.randint(0, 9), "committed_metadata": ""}]
        body = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "generation_id_or_member_epoch": self._generation(),
            "topics": [{"name": "~t1", "topic_id": "~t1", "partitions": partitions}],
        }
        return "OffsetCommit", 8, body

    def committed_by(self) -> Body:
        """What a TxnOffsetCommit says of the member."""
        return {"member_id": self.member_id, "generation_id": self._generation()} | self._named

    def heard(self, api: str, body: Body, answer: Any) -> None:
        """The answer to a request of this member."""
        if answer == CLOSED:
            return
        error = ErrorCode(answer.get("error_code", 0))
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer["member_id"]
        elif error in REMOVED or (api == "LeaveGroup" and error is ErrorCode.NONE):
            self.member_id, self.generation_id, self.owned = "", -1, {}
        elif error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.generation_id = -1 if error is ErrorCode.REBALANCE_IN_PROGRESS else self.generation_id
        elif error is ErrorCode.NONE and api == "JoinGroup":
            self.member_id, self.generation_id = answer["member_id"], answer["generation_id"]
            self._must_sync = True
        elif error is ErrorCode.NONE and api == "SyncGroup":
            self._must_sync = False
            self.owned = answer["assignment"].get("partitions", {}) if isinstance(answer["assignment"], dict) else {}
