"""Text that clients chose, made harmless for a terminal or a log."""


def printable(text: str) -> str:
    """Return `text`, quoted with escapes if it has characters that move the cursor, end the line or are invisible."""
    return text if text.isprintable() else repr(text)


def printable_traceback(text: str) -> str:
    """Return a traceback with each line printable and indented, so that none looks like a line of the log.

    The message of an exception may quote a client, with line breaks.
    """
    return "\n".join(f"  | {printable(line)}" for line in text.split("\n"))
