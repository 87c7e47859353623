"""Cipher suites by their standard names, as in Kafka's settings, and by those of OpenSSL."""

import ssl
from collections.abc import Sequence
from typing import Final

from coordinator.config.key import ConfigError

TLS_1_3_SUITES: Final = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")


def openssl_name(suite: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 as OpenSSL calls it; a name of OpenSSL is left as it is."""
    exchange, with_, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not with_:
        return suite
    for bits in ("128", "256"):
        cipher = cipher.replace(f"AES_{bits}", f"AES{bits}").replace(f"CAMELLIA_{bits}", f"CAMELLIA{bits}")
    cipher = cipher.replace("_CBC_", "_").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    parts = cipher if exchange == "RSA" else f"{exchange}_{cipher}"
    return parts.replace("_", "-")


def choose_ciphers(context: ssl.SSLContext, suites: Sequence[str], setting: str) -> None:
    """Enable these suites alone. Python cannot choose among those of TLS 1.3: they are enabled together or not at all.

    Raises:
        ConfigError: a suite is unknown, or some of TLS 1.3 are there and others not, or no enabled version is left.
    """
    text = f"{setting}={','.join(suites)}"
    of_1_3 = [suite for suite in suites if suite in TLS_1_3_SUITES]
    if of_1_3 and len(of_1_3) != len(TLS_1_3_SUITES):
        raise ConfigError(f"{text}: name all suites of TLS 1.3 or none: {', '.join(TLS_1_3_SUITES)}")
    available = _available()
    names = [openssl_name(suite) for suite in suites if suite not in TLS_1_3_SUITES]
    for suite in suites:
        if suite not in TLS_1_3_SUITES and openssl_name(suite) not in available:
            raise ConfigError(f"{text}: the cipher suite {suite} is unknown to {ssl.OPENSSL_VERSION}")
    if names:
        context.set_ciphers(":".join(names))
    else:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if not of_1_3:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if context.minimum_version > context.maximum_version:
        raise ConfigError(f"{text}: no suite is left for the enabled versions of TLS")


def _available() -> set[str]:
    every = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    every.set_ciphers("ALL")
    return {str(cipher["name"]) for cipher in every.get_ciphers()}
