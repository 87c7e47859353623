"""The TLS context of a listener: which versions, with which key, and which clients."""

import os
import ssl
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from coordinator.config.key import ConfigError
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.ssl_keys import (
    SSL_CIPHER_SUITES,
    SSL_CLIENT_AUTH,
    SSL_ENABLED_PROTOCOLS,
    SSL_KEYSTORE_LOCATION,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_TYPE,
)
from coordinator.security.tls.ciphers import choose_ciphers
from coordinator.security.tls.stores import KeyStore, read_key_store, read_trust_store

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
VERIFY_MODES: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class LoadedContext(msgspec.Struct, frozen=True):
    """A context, and what its key store has."""

    context: ssl.SSLContext
    key_store: KeyStore


def load_context(config: ListenerConfig) -> LoadedContext:
    """Read the stores of a listener and make a context of them.

    Each load makes a new one: sessions that clients resume are those of the same certificates.

    Raises:
        ConfigError: a store cannot be used, or settings contradict each other.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    enabled: tuple[str, ...] = config[SSL_ENABLED_PROTOCOLS]
    versions = [VERSIONS[name] for name in enabled]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    suites: tuple[str, ...] = config[SSL_CIPHER_SUITES]
    if suites:
        choose_ciphers(context, suites, config.name_of(SSL_CIPHER_SUITES))
    key_store = read_key_store(config)
    load_key(context, key_store, config)
    _verify_clients(context, config)
    return LoadedContext(context, key_store)


def load_key(context: ssl.SSLContext, key_store: KeyStore, config: ListenerConfig) -> None:
    """Give a context its key and its certificates. Raises ConfigError: OpenSSL does not accept them."""
    try:
        with _file_in_memory(key_store.pem()) as path:
            context.load_cert_chain(path)
    except ssl.SSLError as problem:
        place = config.name_of(SSL_KEYSTORE_LOCATION)
        raise ConfigError(f"{place}: OpenSSL does not accept the key or its certificate: {problem.reason}") from None


def trust(context: ssl.SSLContext, certificates: Iterable[x509.Certificate]) -> None:
    """Let a context trust certificates; as for Java, whether they are those of a root or not."""
    text = b"".join(certificate.public_bytes(serialization.Encoding.DER) for certificate in certificates)
    context.load_verify_locations(cadata=text)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _verify_clients(context: ssl.SSLContext, config: ListenerConfig) -> None:
    trusted = read_trust_store(config)
    requested = config[SSL_CLIENT_AUTH]
    if requested != "none":
        if not trusted:
            raise ConfigError(
                f"{config.name_of(SSL_CLIENT_AUTH)}={requested} needs the authorities of the clients: set "
                f"{SSL_TRUSTSTORE_LOCATION.name} and {SSL_TRUSTSTORE_TYPE.name}"
            )
        trust(context, trusted)
    context.verify_mode = VERIFY_MODES[requested]


@contextmanager
def _file_in_memory(data: bytes) -> Iterator[str]:
    """A file for OpenSSL, which reads keys from files alone: in memory where the system has that, else private."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as named:
        named.write(data)
        named.flush()
        yield named.name
