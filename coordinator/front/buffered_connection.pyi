from asyncio import Protocol

class BufferedConnection(Protocol):
    """The sending half of an asyncio protocol."""

    congested_ms: int
    """Since when the client has to read what it was sent, in ms; meaningless while it reads."""
    congested_bytes: int
    """What it had to read then, and what was sent since."""

    def kept_bytes(self, unsent: int) -> int:
        """What is in memory while so many bytes are unsent: a response in one piece is kept whole until its end."""
    def unsent_bytes(self) -> int:
        """How many bytes of responses the client has not read yet."""
