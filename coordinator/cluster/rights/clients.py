"""Who a client is at the cluster, where its login is passed on to."""

import base64
import binascii
from typing import Final

import msgspec

from coordinator.security.principal import ANONYMOUS, USER_TYPE, Principal

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCRAM_PREFIX: Final = "SCRAM-"
NAME_CHARACTERS_MAX: Final = 256
NAME_ATTRIBUTE: Final = "n="
BEARER: Final = b"auth=Bearer "


class ClientOfCluster(Principal):
    """The principal of one connection. No other connection is equal to it, whatever its name: what one client may do
    says nothing of others."""

    serial: int

    def __new__(cls, serial: int, name: str = ANONYMOUS.name) -> "ClientOfCluster":
        made = super().__new__(cls, USER_TYPE, name)
        made.serial = serial
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientOfCluster) and other.serial == self.serial

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.serial)


def login_name(mechanism: str, message: bytes) -> str | None:
    """The name by which a client logs in, in the first message of a mechanism; None if it is not there.

    The broker says whether the login is right. Nothing is decided by the name: it is what people are told.
    """
    try:
        if mechanism == PLAIN:
            name = message.split(b"\0")[1].decode()
        elif mechanism.startswith(SCRAM_PREFIX):
            name = _scram_name(message.decode())
        elif mechanism == OAUTHBEARER:
            name = _subject(message)
        else:
            return None
    except (UnicodeDecodeError, IndexError, ValueError, msgspec.DecodeError, binascii.Error):
        return None
    return name[:NAME_CHARACTERS_MAX] or None


def _scram_name(message: str) -> str:
    """Of a client-first message (RFC 5802): n,,n=alice,r=nonce."""
    for attribute in message.split(",")[2:]:
        if attribute.startswith(NAME_ATTRIBUTE):
            return attribute[len(NAME_ATTRIBUTE) :].replace("=2C", ",").replace("=3D", "=")
    return ""


class _Claims(msgspec.Struct):
    sub: str = ""


def _subject(message: bytes) -> str:
    """The claim `sub` of the token (RFC 7628)."""
    token = message.split(BEARER, 1)[1].split(b"\x01", 1)[0]
    payload = token.split(b".")[1]
    return msgspec.json.decode(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)), type=_Claims).sub
