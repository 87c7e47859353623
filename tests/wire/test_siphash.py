"""SipHash-2-4-128 against vectors of the reference implementation (vectors.h, vectors_sip128)."""

import pytest

from tests.wire.siphash_calls import siphash_of

SECRET = bytes(range(16))
VECTORS = (
    (0, "a3817f04ba25a8e66df67214c7550293"),
    (1, "da87c1d86b99af44347659119b22fc45"),
    (2, "8177228da4a45dc7fca38bdef60affe4"),
    (3, "9c70b60c5267a94e5f33b6b02985ed51"),
)


@pytest.mark.parametrize(("size", "expected"), VECTORS)
def test_the_vectors_of_the_reference(size, expected):
    assert siphash_of(SECRET, bytes(range(size))).hex() == expected


def test_all_bytes_count():
    hashes = {siphash_of(SECRET, bytes(size)) for size in range(64)}
    hashes |= {siphash_of(SECRET, bytes(at) + b"\x01" + bytes(63 - at)) for at in range(64)}
    assert len(hashes) == 128
    assert siphash_of(SECRET[::-1], b"") not in hashes
