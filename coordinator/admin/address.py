"""The address of the admin port."""

from typing import Final

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.listen_address import PORT_AT_MOST, Address

NAME: Final = "ADMIN"
LOOPBACK: Final = "127.0.0.1"


def parse_address(text: str) -> Address:
    """Parse HOST:PORT; the host may be left out.

    Raises:
        ConfigError: it is not of this form.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or len(port) > 5 or int(port) > PORT_AT_MOST:
        raise ConfigError(f"{ADMIN_LISTENER.name}={text}: expected HOST:PORT, or :PORT for {LOOPBACK}")
    return Address(NAME, host.strip("[]") or LOOPBACK, int(port))
