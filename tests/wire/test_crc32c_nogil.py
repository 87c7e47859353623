import random

import pytest
from crc32c import crc32c

from _wire.crc32c_nogil import crc32c_of


@pytest.mark.parametrize("by_tables", [False, True])
def test_the_check_value_of_the_polynomial(by_tables):
    assert crc32c_of(b"123456789", by_tables=by_tables) == 0xE3069283


@pytest.mark.parametrize("by_tables", [False, True])
def test_it_is_that_of_the_package(by_tables):
    rng = random.Random(1)
    for size in (*range(40), 1_000, 4_097):
        data = rng.randbytes(size)
        for start in range(3):
            assert crc32c_of(memoryview(data)[start:], by_tables=by_tables) == crc32c(data[start:])
