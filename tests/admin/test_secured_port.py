"""The admin port with TLS and a login of its own."""

import ssl
from base64 import b64encode
from http.client import HTTPSConnection

import pytest

from coordinator.config.key import ConfigError
from tests.admin.http_client import get, with_node
from tests.certificates import authority, server_identity, tls_settings
from tests.front.log_lines import log_lines

BASIC = {"Authorization": "Basic " + b64encode(b"ops:secret").decode()}


def with_login(folder, text="ops:secret\n"):
    (folder / "logins").write_text(text, encoding="utf-8")
    return {"admin.login.file": str(folder / "logins")}


def get_over_tls(address: str, path: str, headers: dict[str, str] | None = None) -> int:
    host, _, port = address.rpartition(":")
    connection = HTTPSConnection(host, int(port), timeout=20, context=authority().client_context())
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def test_metrics_need_a_login_and_probes_do_not(tmp_path):
    def questions(node):
        assert get(node.admin, "/metrics").status == 401
        assert get(node.admin, "/metrics", headers=BASIC).status == 200
        assert get(node.admin, "/nothing").status == 401
        assert [get(node.admin, path).status for path in ("/healthz", "/readyz")] == [200, 200]

    with_node(tmp_path, questions, with_login(tmp_path))


def test_probes_may_need_a_login_too(tmp_path):
    def questions(node):
        assert get(node.admin, "/healthz").status == 401
        assert get(node.admin, "/healthz", headers=BASIC).status == 200

    with_node(tmp_path, questions, with_login(tmp_path) | {"admin.probes.open": "false"})


def test_foreign_pages_are_refused_before_the_login(tmp_path):
    def questions(node):
        assert get(node.admin, "/metrics", headers=BASIC | {"Host": "evil.example"}).status == 403
        assert get(node.admin, "/metrics", headers=BASIC | {"Origin": "http://evil.example"}).status == 403

    with_node(tmp_path, questions, with_login(tmp_path))


def test_a_login_file_that_cannot_be_used_ends_the_start(tmp_path):
    with pytest.raises(ConfigError, match=r"^admin\.login\.file: .*No such file"):
        with_node(tmp_path, lambda node: None, {"admin.login.file": str(tmp_path / "none")})


def secured(folder):
    """The admin port alone has TLS."""
    store = server_identity().write(folder / "server.pem")
    return {
        "admin.security.protocol": "SSL",
        "listener.name.admin.ssl.keystore.type": "PEM",
        "listener.name.admin.ssl.keystore.location": str(store),
    }


def test_the_port_may_have_tls(tmp_path):
    def questions(node):
        assert get_over_tls(node.admin, "/metrics") == 401
        assert [get_over_tls(node.admin, "/metrics", BASIC) for _ in range(3)] == [200] * 3
        assert get_over_tls(node.admin, "/healthz") == 200
        with pytest.raises(OSError):
            get(node.admin, "/healthz")

    with_node(tmp_path, questions, secured(tmp_path) | with_login(tmp_path))


def test_the_port_may_ask_for_certificates(tmp_path):
    def questions(node):
        with pytest.raises((OSError, ssl.SSLError)):
            get_over_tls(node.admin, "/healthz")

    settings = tls_settings(tmp_path) | {"listeners": "PLAINTEXT://127.0.0.1:0", "admin.security.protocol": "SSL"}
    with_node(tmp_path, questions, settings | {"listener.name.admin.ssl.client.auth": "required"})


@pytest.mark.parametrize(
    ("address", "has_login", "has_tls", "lacks"),
    [
        ("127.0.0.1:0", False, False, None),
        ("0.0.0.0:0", False, False, "a login (admin.login.file)"),
        ("0.0.0.0:0", False, True, "a login (admin.login.file)"),
        ("0.0.0.0:0", True, False, "TLS (admin.security.protocol)"),
        ("0.0.0.0:0", True, True, None),
    ],
)
def test_the_log_warns_of_a_port_that_others_reach(tmp_path, address, has_login, has_tls, lacks):
    settings = {"admin.listener": address}
    settings |= with_login(tmp_path) if has_login else {}
    settings |= secured(tmp_path) if has_tls else {}
    with log_lines() as lines:
        with_node(tmp_path, lambda node: None, settings)
    told = [line["lacks"] for line in lines.of("other hosts may reach the admin port")]
    assert told == ([] if lacks is None else [lacks])


def test_the_name_of_the_port_is_no_name_of_a_listener(tmp_path):
    settings = {"listeners": "ADMIN://127.0.0.1:0", "listener.security.protocol.map": "ADMIN:PLAINTEXT"}
    with pytest.raises(ConfigError, match="ADMIN is the name of the admin port"):
        with_node(tmp_path, lambda node: None, settings)
