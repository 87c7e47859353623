"""What nodes tell each other in their group carries an HMAC of a secret that they share: whoever may READ the group can
join it, and would else be taken for a node (docs/decisions/046)."""

import hashlib
import hmac
from typing import Final, TypeVar

import msgspec

from coordinator.cluster.nodes.messages import Assignment, Claim, decode_assignment, decode_claim, encode

MessageT = TypeVar("MessageT", Claim, Assignment)

SCRYPT_N: Final = 1 << 14
SCRYPT_R: Final = 8
"""16 MiB and some 40 ms for each guess of a secret that was chosen by somebody."""
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class NotOfNodes(Exception):
    """It cannot be decoded, or no node has said it."""


class Seals:
    """Without a secret nothing is sealed, and all that can be decoded is believed."""

    def __init__(self, secret: bytes, group_id: str) -> None:
        """An empty `secret` is none."""
        self._group = group_id.encode()
        self._key = hashlib.scrypt(secret, salt=self._group, n=SCRYPT_N, r=SCRYPT_R, p=1) if secret else b""
        self.peer_token: Final = self._seal(b"peer", b"") if secret else ""
        """By which a node that asks another one shows that it is one; empty without a secret."""

    @property
    def are_checked(self) -> bool:
        return bool(self._key)

    def claim(self, claim: Claim, member_id: str) -> bytes:
        """What a member says of itself. Before it has its id, nobody believes it."""
        return self._sealed(claim, b"claim:" + member_id.encode())

    def read_claim(self, data: bytes, member_id: str) -> Claim:
        """Raises NotOfNodes."""
        try:
            return self._opened(decode_claim(data), b"claim:" + member_id.encode())
        except UNREADABLE as problem:
            raise NotOfNodes(str(problem)) from None

    def assignment(self, assignment: Assignment, member_id: str, generation: int) -> bytes:
        """What the leader of the group tells a member in a generation."""
        return self._sealed(assignment, b"assignment:%d:" % generation + member_id.encode())

    def read_assignment(self, data: bytes, member_id: str, generation: int) -> Assignment:
        """Raises NotOfNodes."""
        if not data and not self._key:
            return Assignment(
                leads=(), nodes=(), leaders={}
            )  # that of a member which the leader did not know as a node
        try:
            return self._opened(decode_assignment(data), b"assignment:%d:" % generation + member_id.encode())
        except UNREADABLE as problem:
            raise NotOfNodes(str(problem)) from None

    def _sealed(self, message: MessageT, about: bytes) -> bytes:
        return (
            encode(msgspec.structs.replace(message, seal=self._seal(about, encode(message))))
            if self._key
            else encode(message)
        )

    def _opened(self, message: MessageT, about: bytes) -> MessageT:
        if not self._key:
            return message
        bare = msgspec.structs.replace(message, seal="")
        if not hmac.compare_digest(self._seal(about, encode(bare)), message.seal):
            raise NotOfNodes("it has no seal of the secret that the nodes share")
        return bare

    def _seal(self, about: bytes, body: bytes) -> str:
        parts = (self._group, about, body)
        framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.new(self._key, framed, hashlib.sha256).hexdigest()
