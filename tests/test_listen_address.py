"""What an address that cannot be bound is told by: one line, whatever the host is."""

import pytest

from coordinator.listen_address import Address, ListenError, bind


@pytest.mark.parametrize("host", ["a" * 64, "ä" * 64, "no such host", "192.0.2.1"])
def test_a_host_that_cannot_be_bound_is_one_line(host: str) -> None:
    with pytest.raises(ListenError, match=rf"^cannot listen on {host}:0: [^\n]+$"):
        bind(Address("PLAINTEXT", host, 0))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
def test_a_host_that_can_be_bound(host: str) -> None:
    with bind(Address("PLAINTEXT", host, 0)) as sock:
        assert sock.getsockname()[1] > 0
