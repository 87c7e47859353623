"""The records that a test produces, as bytes."""

from collections.abc import Iterable, Sequence

from coordinator.testing.errors import TestingError

Content = bytes | str | None


def keyed(values: Iterable[Content], keys: Iterable[Content] | None) -> Sequence[tuple[bytes | None, bytes | None]]:
    """Keys and values; text becomes UTF-8, and without `keys` no record has one.

    Raises:
        TestingError: there are not as many keys as values, or one is neither text nor bytes.
    """
    if isinstance(values, (str, bytes)):
        raise TestingError("values is one value: give a list of them, such as [b'first', b'second']")
    given = list(values)
    chosen = [None] * len(given) if keys is None else list(keys)
    if len(chosen) != len(given):
        raise TestingError(f"{len(given)} values and {len(chosen)} keys: give each value a key, or no keys")
    return [(_encoded(key), _encoded(value)) for key, value in zip(chosen, given, strict=True)]


def _encoded(content: Content) -> bytes | None:
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    raise TestingError(f"{content!r} is neither text nor bytes nor None")
