"""Distinguished names, compared with those that Java makes of the same bytes (tests/golden/principals)."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from coordinator.security.tls.names import distinguished_name, format_name
from tests.certificates import authority
from tests.golden_vectors import golden_vectors

VECTORS = {row["der"]: row["name"] for row in golden_vectors("principals/principals.jsonl.gz") if "der" in row}


def test_names_are_written_as_by_java():
    assert len(VECTORS) == 250
    assert {der: format_name(bytes.fromhex(der)) for der in VECTORS} == VECTORS


@pytest.mark.parametrize("name", ["CN=alice,O=org,C=DE", r"CN=a\,b\+c\ ", "CN=Müller", ""])
def test_the_name_is_that_of_the_subject_of_a_certificate(name):
    certificate = authority().issue(x509.Name.from_rfc4514_string(name)).certificate
    assert distinguished_name(certificate.public_bytes(Encoding.DER)) == name


def test_bytes_that_are_no_certificate_are_refused():
    with pytest.raises(ValueError, match="parsing asn1"):
        distinguished_name(b"\x30\x00")
