"""See `commit_calls.pyx`."""

Partition = tuple[int, int, int, int, bytes | None]
Read = tuple[int, bytes, int, bytes, bytes | None, list[tuple[bytes, list[Partition]]]]

def read(frame: bytes) -> Read | None: ...
def answer(frame: bytes) -> bytes: ...
