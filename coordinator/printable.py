"""Text that clients chose, made harmless for a terminal or a log."""


def printable(text: str) -> str:
    """Return `text`, quoted with escapes if it has characters that move the cursor, end the line or are invisible."""
    return text if text.isprintable() else repr(text)
