"""The key store and the trust store of a listener, read from files or settings (Kafka's DefaultSslEngineFactory)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.password import Password
from coordinator.config.ssl_keys import (
    SSL_KEY_PASSWORD,
    SSL_KEYSTORE_CERTIFICATE_CHAIN,
    SSL_KEYSTORE_KEY,
    SSL_KEYSTORE_LOCATION,
    SSL_KEYSTORE_PASSWORD,
    SSL_KEYSTORE_TYPE,
    SSL_TRUSTSTORE_CERTIFICATES,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_PASSWORD,
    SSL_TRUSTSTORE_TYPE,
)
from coordinator.security.tls.pem import pem_blocks

JKS_MAGIC: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""The first bytes of a key store in Java's own formats, JKS and JCEKS."""
CHAIN_MAX: Final = 20
"""Certificates of a chain, and no more of those that happen to be in a key store."""


class KeyStore(msgspec.Struct, frozen=True):
    """A private key with its certificate chain, the certificate of the server first."""

    key: Any
    chain: list[x509.Certificate]

    def pem(self) -> bytes:
        """Key and chain, unencrypted: for memory alone."""
        key: bytes = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in self.chain)

    @property
    def subject(self) -> bytes:
        return self.chain[0].subject.public_bytes()

    @property
    def alternative_names(self) -> frozenset[Any]:
        try:
            names = self.chain[0].extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return frozenset()
        return frozenset(names.value)


def store_files(config: ListenerConfig) -> list[Path]:
    """The files that the stores are read from."""
    return [Path(config[key]) for key in (SSL_KEYSTORE_LOCATION, SSL_TRUSTSTORE_LOCATION) if config[key]]


def read_key_store(config: ListenerConfig, now: datetime | None = None) -> KeyStore:
    """Read the key store of a listener.

    Raises:
        ConfigError: it is missing, cannot be read, does not fit its password, or is no key with its valid certificate.
    """
    place = _place(config, SSL_KEYSTORE_LOCATION, SSL_KEYSTORE_KEY)
    if config[SSL_KEYSTORE_LOCATION]:
        data = _read(config, SSL_KEYSTORE_LOCATION)
        if config[SSL_KEYSTORE_TYPE] == "PEM":
            store = _pem_key_store(config, _text(data, place), place)
        else:
            _check_format(config, data, SSL_KEYSTORE_LOCATION, SSL_KEYSTORE_TYPE)
            store = _pkcs12_key_store(config, data, place)
    elif config[SSL_KEYSTORE_KEY]:
        _check_inline(config, SSL_KEYSTORE_KEY, SSL_KEYSTORE_TYPE)
        chain = config[SSL_KEYSTORE_CERTIFICATE_CHAIN].value
        store = _pem_key_store(config, f"{config[SSL_KEYSTORE_KEY].value}\n{chain}", place)
    else:
        raise ConfigError(
            f"the listener {config.name} has TLS and no private key: set {SSL_KEYSTORE_LOCATION.name} and "
            f"{SSL_KEYSTORE_TYPE.name} (PEM or PKCS12)"
        )
    _check(store, place, now or datetime.now(UTC))
    return store


def read_trust_store(config: ListenerConfig) -> list[x509.Certificate]:
    """Read the trusted certificates of a listener; none if no trust store is given.

    Raises:
        ConfigError: it cannot be read, or has no certificate.
    """
    if not (config[SSL_TRUSTSTORE_LOCATION] or config[SSL_TRUSTSTORE_CERTIFICATES]):
        return []
    place = _place(config, SSL_TRUSTSTORE_LOCATION, SSL_TRUSTSTORE_CERTIFICATES)
    if config[SSL_TRUSTSTORE_LOCATION]:
        data = _read(config, SSL_TRUSTSTORE_LOCATION)
        if config[SSL_TRUSTSTORE_TYPE] == "PEM":
            found = _certificates(_text(data, place), place)
        else:
            _check_format(config, data, SSL_TRUSTSTORE_LOCATION, SSL_TRUSTSTORE_TYPE)
            store = _load_pkcs12(config, data, place, SSL_TRUSTSTORE_PASSWORD)
            found = [additional_cert.certificate for additional_cert in store.additional_certs]
            found += [] if store.cert is None else [store.cert.certificate]
    else:
        _check_inline(config, SSL_TRUSTSTORE_CERTIFICATES, SSL_TRUSTSTORE_TYPE)
        found = _certificates(config[SSL_TRUSTSTORE_CERTIFICATES].value, place)
    if not found:
        raise ConfigError(f"{place}: there is no certificate in it")
    return found


# ---------------------------------------------------------------------------------------------------------------- forms


def _pem_key_store(config: ListenerConfig, text: str, place: str) -> KeyStore:
    keys = [block for kind, block in pem_blocks(text) if kind.endswith("PRIVATE KEY")]
    if len(keys) != 1:
        raise ConfigError(f"{place}: expected one private key (BEGIN PRIVATE KEY), found {len(keys)}")
    password = config[SSL_KEY_PASSWORD]
    try:
        key = serialization.load_pem_private_key(keys[0].encode(), password.value.encode() if password else None)
    except TypeError:
        if not password:
            raise ConfigError(f"{place}: the private key is encrypted; set {SSL_KEY_PASSWORD.name}") from None
        # It is not encrypted, and a password does not harm.
        key = serialization.load_pem_private_key(keys[0].encode(), None)
    except (ValueError, UnsupportedAlgorithm):
        wrong = f", or {config.name_of(SSL_KEY_PASSWORD)} is wrong" if password else ""
        raise ConfigError(f"{place}: the private key cannot be read{wrong}") from None
    return KeyStore(key, _certificates(text, place))


def _pkcs12_key_store(config: ListenerConfig, data: bytes, place: str) -> KeyStore:
    store = _load_pkcs12(config, data, place, SSL_KEYSTORE_PASSWORD)
    if store.key is None or store.cert is None:
        raise ConfigError(f"{place}: there is no private key with its certificate in it")
    others = [additional_cert.certificate for additional_cert in store.additional_certs]
    return KeyStore(store.key, _ordered(store.cert.certificate, others))


def _load_pkcs12(config: ListenerConfig, data: bytes, place: str, key: ConfigKey[Password]) -> Any:
    password = config[key]
    try:
        return pkcs12.load_pkcs12(data, password.value.encode() if password else None)
    except (ValueError, UnsupportedAlgorithm):
        raise ConfigError(f"{place}: it is no PKCS12 file, or {config.name_of(key)} is missing or wrong") from None


def _ordered(leaf: x509.Certificate, others: list[x509.Certificate]) -> list[x509.Certificate]:
    """The chain from the certificate of the server on: each one followed by that of its issuer."""
    chain = [leaf]
    while len(chain) < CHAIN_MAX:
        last = chain[-1]
        issuer = next((other for other in others if other.subject == last.issuer and other not in chain), None)
        if issuer is None:
            break
        chain.append(issuer)
    return chain


def _certificates(text: str, place: str) -> list[x509.Certificate]:
    blocks = [block for kind, block in pem_blocks(text) if kind in ("CERTIFICATE", "TRUSTED CERTIFICATE")]
    try:
        return [x509.load_pem_x509_certificate(block.encode()) for block in blocks]
    except ValueError:
        raise ConfigError(f"{place}: a certificate cannot be read") from None


# --------------------------------------------------------------------------------------------------------------- checks


def _check(store: KeyStore, place: str, now: datetime) -> None:
    if not store.chain:
        raise ConfigError(f"{place}: the private key has no certificate (BEGIN CERTIFICATE)")
    certificate = store.chain[0]
    try:
        is_pair = store.key.public_key() == certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        is_pair = False
    if not is_pair:
        raise ConfigError(
            f"{place}: the private key does not belong to the first certificate; put that of the key first"
        )
    if certificate.not_valid_after_utc < now:
        ended = certificate.not_valid_after_utc.isoformat()
        raise ConfigError(f"{place}: the certificate has expired at {ended}; renew it")
    if certificate.not_valid_before_utc > now:
        begins = certificate.not_valid_before_utc.isoformat()
        raise ConfigError(f"{place}: the certificate is not valid before {begins}; look at the clock of this host")


def _place(config: ListenerConfig, location: ConfigKey[str], inline: ConfigKey[Password]) -> str:
    """Where a store is, for messages: the setting and the file."""
    return f"{config.name_of(location)}={config[location]}" if config[location] else config.name_of(inline)


def _read(config: ListenerConfig, location: ConfigKey[str]) -> bytes:
    try:
        return Path(config[location]).read_bytes()
    except OSError as problem:
        raise ConfigError(f"{config.name_of(location)}={config[location]}: {problem.strerror}") from None


def _text(data: bytes, place: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{place}: it is not in the form of PEM; the type may be PKCS12") from None


def _check_inline(config: ListenerConfig, inline: ConfigKey[Password], store_type: ConfigKey[str]) -> None:
    if config[store_type] != "PEM":
        raise ConfigError(f"{config.name_of(inline)} needs {store_type.name}=PEM")


def _check_format(config: ListenerConfig, data: bytes, location: ConfigKey[str], store_type: ConfigKey[str]) -> None:
    path = config[location]
    if data.startswith(JKS_MAGIC):
        raise ConfigError(
            f"{config.name_of(location)}={path}: the old format of Java is not read; convert it: keytool "
            f"-importkeystore -srckeystore {path} -destkeystore {path}.p12 -deststoretype PKCS12, and set "
            f"{store_type.name}=PKCS12"
        )
    if data.lstrip().startswith(b"-----BEGIN"):
        raise ConfigError(f"{config.name_of(location)}={path}: it is in the form of PEM: set {store_type.name}=PEM")
