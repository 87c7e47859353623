import ssl

import pytest

from coordinator.config.key import ConfigError
from coordinator.security.tls.ciphers import TLS_1_3_SUITES, choose_ciphers, openssl_name


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA", "DHE-RSA-AES256-SHA"),
        ("ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES256-SHA"),
    ],
)
def test_standard_names_are_those_of_openssl(suite, name):
    assert openssl_name(suite) == name
    assert chosen(suite)[0] == [name]


def chosen(*suites: str) -> tuple[list[str], ssl.TLSVersion, ssl.TLSVersion]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    choose_ciphers(context, suites, "ssl.cipher.suites")
    names = [str(cipher["name"]) for cipher in context.get_ciphers() if not str(cipher["name"]).startswith("TLS_")]
    return names, context.minimum_version, context.maximum_version


def test_without_suites_of_tls_1_3_it_is_not_enabled():
    assert chosen("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")[1:] == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)


def test_with_suites_of_tls_1_3_alone_no_other_version_is_enabled():
    assert chosen(*TLS_1_3_SUITES)[1:] == (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)


def test_both_versions_may_have_suites():
    names, *versions = chosen("ECDHE-RSA-AES256-GCM-SHA384", *TLS_1_3_SUITES)
    assert names == ["ECDHE-RSA-AES256-GCM-SHA384"]
    assert versions == [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize(
    ("suites", "message"),
    [
        (["TLS_AES_256_GCM_SHA384"], "name all suites of TLS 1.3 or none: TLS_AES_256_GCM_SHA384, TLS_CHACHA20"),
        (["TLS_RSA_WITH_NOTHING"], "the cipher suite TLS_RSA_WITH_NOTHING is unknown to OpenSSL"),
        (["ALL"], "the cipher suite ALL is unknown"),
    ],
)
def test_suites_that_cannot_be_chosen_are_refused(suites, message):
    with pytest.raises(ConfigError, match=r"^ssl\.cipher\.suites=") as raised:
        chosen(*suites)
    assert message in str(raised.value)


def test_suites_have_to_be_of_an_enabled_version():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    with pytest.raises(ConfigError, match="no suite is left"):
        choose_ciphers(context, ["ECDHE-RSA-AES256-GCM-SHA384"], "s")
