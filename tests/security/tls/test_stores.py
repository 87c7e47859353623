"""Key stores and trust stores: the forms in which they come, and what is wrong with them."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coordinator.config.key import ConfigError
from coordinator.config.listener_overrides import ListenerConfig
from coordinator.config.settings import Config
from coordinator.security.tls.contexts import load_context
from coordinator.security.tls.stores import read_key_store, read_trust_store, store_files
from tests.certificates import DAY, authority, server_identity


def view(**settings: str | Path) -> ListenerConfig:
    """The settings of a listener OUT; names with underscores for dots."""
    texts = {f"listener.name.out.{name.replace('_', '.')}": str(value) for name, value in settings.items()}
    return Config({"listeners": "OUT://:0"} | texts).for_listener("OUT")


def key_store(path: Path | str, store_type: str = "PEM", **more: str) -> ListenerConfig:
    return view(ssl_keystore_type=store_type, ssl_keystore_location=path, **more)


# ---- what can be read


def test_a_pem_file_has_key_and_chain_in_any_order(tmp_path):
    identity = server_identity()
    for number, text in enumerate((identity.pem, identity.certificate_pem + identity.key_pem())):
        path = tmp_path / f"{number}.pem"
        path.write_text(text + authority().certificate_pem, encoding="ascii")
        store = read_key_store(key_store(path))
        assert store.chain == [identity.certificate, authority().certificate]
        assert store.key.private_numbers() == identity.key.private_numbers()


@pytest.mark.parametrize("separator", ["\n", " "])
def test_key_and_chain_may_be_settings(separator):
    identity = server_identity()
    config = view(
        ssl_keystore_type="PEM",
        ssl_keystore_key=identity.key_pem("secret").replace("\n", separator),
        ssl_keystore_certificate_chain=identity.certificate_pem.replace("\n", separator),
        ssl_key_password="secret",
    )
    assert read_key_store(config).chain == [identity.certificate]
    assert store_files(config) == []


def test_an_encrypted_key_needs_its_password(tmp_path):
    path = tmp_path / "encrypted.pem"
    path.write_text(server_identity().key_pem("secret") + server_identity().certificate_pem, encoding="ascii")
    assert read_key_store(key_store(path, ssl_key_password="secret")).chain
    for password, message in (("", "is encrypted; set ssl.key.password"), ("wrong", "ssl.key.password is wrong")):
        with pytest.raises(ConfigError) as raised:
            read_key_store(key_store(path, ssl_key_password=password))
        assert message in str(raised.value)


def test_a_password_does_not_harm_a_key_that_is_not_encrypted(tmp_path):
    path = server_identity().write(tmp_path / "store.pem")
    assert read_key_store(key_store(path, ssl_key_password="unused")).chain


@pytest.mark.parametrize("store_type", ["PKCS12", "JKS"])
def test_a_pkcs12_file_has_the_chain_in_its_order(tmp_path, store_type):
    path = server_identity().write_pkcs12(tmp_path / "store.p12", "secret", [authority()])
    store = read_key_store(key_store(path, store_type, ssl_keystore_password="secret"))
    assert store.chain == [server_identity().certificate, authority().certificate]


def test_a_trust_store_may_be_pem_or_a_setting(tmp_path):
    path = tmp_path / "trust.pem"
    path.write_text(authority().certificate_pem * 2, encoding="ascii")
    found = read_trust_store(view(ssl_truststore_type="PEM", ssl_truststore_location=path))
    assert found == [authority().certificate] * 2
    inline = view(ssl_truststore_type="PEM", ssl_truststore_certificates=authority().certificate_pem)
    assert read_trust_store(inline) == [authority().certificate]
    assert read_trust_store(view()) == []


@pytest.fixture(scope="module")
def keytool_stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores of Java: key.p12 and key.jks with a key, trust.p12 with a certificate."""
    folder = tmp_path_factory.mktemp("keytool")
    common = ["-storepass", "secret", "-noprompt"]
    make = ["-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=java", "-validity", "2"]
    for arguments in (
        [*make, "-keystore", "key.p12", *common],
        [*make, "-keystore", "key.jks", "-storetype", "JKS", "-keypass", "secret", *common],
        ["-exportcert", "-alias", "a", "-keystore", "key.p12", "-file", "a.der", *common],
        ["-importcert", "-alias", "b", "-keystore", "trust.p12", "-file", "a.der", *common],
    ):
        subprocess.run(["keytool", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def test_stores_that_java_made_can_be_read(keytool_stores):
    key = read_key_store(key_store(keytool_stores / "key.p12", "JKS", ssl_keystore_password="secret"))
    trust = view(
        ssl_truststore_type="JKS",
        ssl_truststore_location=keytool_stores / "trust.p12",
        ssl_truststore_password="secret",
    )
    assert read_trust_store(trust) == key.chain


def test_the_old_format_of_java_is_refused_with_the_command_that_converts_it(keytool_stores):
    path = keytool_stores / "key.jks"
    with pytest.raises(ConfigError) as raised:
        read_key_store(key_store(path, "JKS", ssl_keystore_password="secret"))
    assert f"keytool -importkeystore -srckeystore {path} -destkeystore {path}.p12" in str(raised.value)


# ---- what cannot


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_listener_needs_a_key():
    with pytest.raises(ConfigError, match=r"the listener OUT has TLS and no private key: set ssl\.keystore\.location"):
        read_key_store(view())


IDENTITY = server_identity()
NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "it is not in the form of PEM; the type may be PKCS12"),
        ("", "expected one private key (BEGIN PRIVATE KEY), found 0"),
        (IDENTITY.certificate_pem, "expected one private key (BEGIN PRIVATE KEY), found 0"),
        (IDENTITY.pem + IDENTITY.key_pem(), "found 2"),
        (IDENTITY.key_pem(), "the private key has no certificate (BEGIN CERTIFICATE)"),
        (IDENTITY.key_pem() + authority().certificate_pem, "does not belong to the first certificate"),
        (IDENTITY.key_pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "cannot be read"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "the private key cannot be read"),
    ],
)
def test_a_pem_file_that_cannot_be_used_is_reported_in_one_line(tmp_path, content, message):
    path = write(tmp_path / "store.pem", content)
    with pytest.raises(ConfigError) as raised:
        read_key_store(key_store(path))
    assert str(raised.value).startswith(f"listener.name.out.ssl.keystore.location={path}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "message"),
    [
        (NOW - 9 * DAY, NOW - timedelta(seconds=2), "the certificate has expired at 20"),
        (NOW + timedelta(hours=1), NOW + DAY, "the certificate is not valid before 20"),
    ],
)
def test_a_certificate_outside_its_time_is_refused(tmp_path, valid_from, valid_until, message):
    path = authority().issue(valid_from=valid_from, valid_until=valid_until).write(tmp_path / "store.pem")
    with pytest.raises(ConfigError, match=message):
        read_key_store(key_store(path))


def test_other_errors_of_stores_say_what_to_set(tmp_path):
    p12 = server_identity().write_pkcs12(tmp_path / "store.p12", "secret")
    pem = server_identity().write(tmp_path / "store.pem")
    none = tmp_path / "none.pem"
    for config, message in (
        (key_store(none), f"listener.name.out.ssl.keystore.location={none}: No such file or directory"),
        (key_store(tmp_path), "Is a directory"),
        (key_store(p12, "PKCS12", ssl_keystore_password="wrong"), "ssl.keystore.password is missing or wrong"),
        (key_store(p12, "PKCS12"), "ssl.keystore.password is missing or wrong"),
        (key_store(p12), "it is not in the form of PEM; the type may be PKCS12"),
        (key_store(pem, "JKS"), "it is in the form of PEM: set ssl.keystore.type=PEM"),
        (view(ssl_keystore_key="x"), "listener.name.out.ssl.keystore.key needs ssl.keystore.type=PEM"),
    ):
        with pytest.raises(ConfigError) as raised:
            read_key_store(config)
        assert message in str(raised.value)
        assert "secret" not in str(raised.value)


def test_client_certificates_need_a_trust_store(tmp_path):
    path = server_identity().write(tmp_path / "store.pem")
    with pytest.raises(ConfigError, match=r"ssl\.client\.auth=required needs the authorities of the clients"):
        load_context(key_store(path, ssl_client_auth="required"))
    empty = write(tmp_path / "empty.pem", "")
    with pytest.raises(ConfigError, match="there is no certificate in it"):
        read_trust_store(view(ssl_truststore_type="PEM", ssl_truststore_location=empty))


def test_no_descriptor_stays_open_after_a_load(tmp_path):
    config = key_store(server_identity().write(tmp_path / "store.pem"))
    load_context(config)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        load_context(config)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
