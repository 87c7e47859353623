"""Certificates for tests: an authority of their own, made in memory with keys that take no time."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

DAY: Final = timedelta(days=1)
LOOPBACK: Final = ("localhost", "127.0.0.1")


class Identity:
    """A private key with its certificate."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self.key: Final = key
        self.certificate: Final = certificate

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str = "") -> str:
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            encryption = serialization.BestAvailableEncryption(password.encode())
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        ).decode()

    @property
    def pem(self) -> str:
        """Key and certificate, as in a key store of the type PEM."""
        return self.key_pem() + self.certificate_pem

    def write(self, path: Path) -> Path:
        path.write_text(self.pem, encoding="ascii")
        return path

    def write_pkcs12(self, path: Path, password: str, others: Sequence["Identity"] = ()) -> Path:
        encryption = serialization.BestAvailableEncryption(password.encode())
        certificates = [other.certificate for other in others]
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(b"server", self.key, self.certificate, certificates, encryption)
        )
        return path


class Authority(Identity):
    """Issues certificates."""

    def __init__(self, name: str = "Test Authority") -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name.from_rfc4514_string(f"CN={name}")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        builder = _builder(subject, subject, key).add_extension(constraints, critical=True)
        builder = builder.add_extension(_signing_alone(), critical=True)
        super().__init__(key, builder.sign(key, hashes.SHA256()))

    def issue(
        self,
        subject: str | x509.Name = "CN=localhost",
        *,
        names: Sequence[str] = LOOPBACK,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Identity:
        """Issue a certificate for a name in the form of RFC 4514, with alternative names."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name.from_rfc4514_string(subject) if isinstance(subject, str) else subject
        builder = _builder(name, self.certificate.subject, key, valid_from, valid_until)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issuer_key, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), False)
        return Identity(key, builder.sign(self.key, hashes.SHA256()))

    def client_context(self, identity: Identity | None = None, directory: Path | None = None) -> ssl.SSLContext:
        """The context of a client that trusts this authority, and may have a certificate."""
        context = ssl.create_default_context(cadata=self.certificate_pem)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
        if identity is not None:
            assert directory is not None, "OpenSSL reads keys from files"
            context.load_cert_chain(identity.write(directory / f"{identity.certificate.serial_number}.pem"))
        return context


@cache
def authority() -> Authority:
    """The authority of a test session."""
    return Authority()


@cache
def server_identity() -> Identity:
    """The server's, for localhost and 127.0.0.1."""
    return authority().issue()


def tls_settings(directory: Path, **more: str) -> dict[str, str]:
    """The settings of a server with one listener, SSL at a free port; `more` with underscores for dots."""
    store = server_identity().write(directory / "server.pem")
    trust = directory / "authority.pem"
    trust.write_text(authority().certificate_pem, encoding="ascii")
    return {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust),
    } | {name.replace("_", "."): text for name, text in more.items()}


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid_from or now - DAY)
        .not_valid_after(valid_until or now + 2 * DAY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _signing_alone() -> x509.KeyUsage:
    """What the key of an authority is used for (RFC 5280, 4.2.1.3)."""
    return x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
