"""Descriptors of the test process: tests before this one may have left some open, and others free below them."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def no_free_descriptor_below_an_open_one() -> Iterator[None]:
    """Within the block, each new descriptor has a number above all that are open, as in a new process."""
    with ExitStack() as filled:
        while True:
            descriptor = os.open(os.devnull, os.O_RDONLY)
            filled.callback(os.close, descriptor)
            listing = 1  # the folder of descriptors is open while it is read
            if descriptor + listing >= max(map(int, os.listdir("/dev/fd"))):
                break
        yield
