"""Secrets among the settings (Kafka's type PASSWORD)."""

from typing import Final

HIDDEN: Final = "[hidden]"
"""What is shown in place of a secret, as by Kafka."""


class Password:
    """A secret. Its text is in `value` alone: no repr, message or log line of it has more than `[hidden]`."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value: Final = value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Password):
            return NotImplemented
        from hmac import compare_digest  # with OpenSSL behind it: most servers have no secrets to compare

        return compare_digest(self.value.encode(), other.value.encode())

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return HIDDEN if self.value else ""

    __repr__ = __str__


NO_PASSWORD: Final = Password("")
"""A secret that is not given: Kafka's null."""
