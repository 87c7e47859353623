"""What can be wrong on the wire: Kafka's error codes, and messages that do not follow their definition."""


class MalformedMessage(Exception):
    """The bytes are not a `message` of this version: truncated, too long, or holding what the definition does not allow.

    `field` is the path of the field within the message (`protocols.name`), empty where no field is to blame;
    `offset` counts from the first byte of the message.
    """

    def __init__(self, message: str, version: int, field: str, offset: int, why: str) -> None:
        super().__init__(message, version, field, offset, why)
        self.message = message
        self.version = version
        self.field = field
        self.offset = offset
        self.why = why

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"{self.message} v{self.version}{field} at byte {self.offset}: {self.why}"
