import pytest

from coordinator.security.protocols import SecurityProtocol


@pytest.mark.parametrize(
    ("name", "has_tls", "has_sasl"),
    [("PLAINTEXT", False, False), ("SSL", True, False), ("SASL_PLAINTEXT", False, True), ("SASL_SSL", True, True)],
)
def test_a_security_protocol_has_tls_or_a_login_or_both(name: str, has_tls: bool, has_sasl: bool) -> None:
    protocol = SecurityProtocol(name)
    assert (protocol.has_tls, protocol.has_sasl) == (has_tls, has_sasl)
