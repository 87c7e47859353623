"""What a start and `coordinator config check` say of settings that leave something open to others."""

import pytest

from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.config.settings import Config
from coordinator.front.listener import parse_listeners
from coordinator.front.security_warnings import security_warnings

WITH_ACLS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}


def warnings(listeners: str, **settings: str) -> list[str]:
    names = {name.replace("_", "."): text for name, text in settings.items()}
    config = Config({"listeners": listeners} | names)
    return list(security_warnings(config, parse_listeners(config)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.9.10"])
def test_clear_text_on_loopback_is_for_tests(host: str):
    assert warnings(f"PLAINTEXT://{host}:9092") == []


@pytest.mark.parametrize("host", ["0.0.0.0", "", "10.0.0.1", "kafka.example", "[::]"])
def test_clear_text_on_other_addresses_is_open_to_all(host: str):
    (warning,) = warnings(f"PLAINTEXT://{host}:9092")
    assert "everybody who can reach it may do everything" in warning
    assert ":9092" in warning


def test_with_acls_clear_text_is_as_open_as_they_say():
    config = Config({"listeners": "PLAINTEXT://10.0.0.1:9092,SSL://10.0.0.1:9093"} | WITH_ACLS)
    (warning,) = security_warnings(config, parse_listeners(config))
    assert "may do what the ACLs allow User:ANONYMOUS" in warning


def test_a_login_in_clear_text_gives_passwords_away():
    assert "passwords of PLAIN and tokens included" in warnings("SASL_PLAINTEXT://10.0.0.1:9092")[0]


def test_tls_is_no_reason_to_warn():
    config = Config({"listeners": "SASL_SSL://0.0.0.0:9092"} | WITH_ACLS)
    assert list(security_warnings(config, parse_listeners(config))) == []


def test_logins_without_acls_protect_nothing():
    (warning,) = warnings("SASL_SSL://0.0.0.0:9092")
    assert warning.startswith("clients prove who they are, but may all do everything")
    assert STANDARD_AUTHORIZER in warning


def test_acls_without_super_users_and_without_clients_that_prove_who_they_are():
    (nobody,) = warnings("SSL://127.0.0.1:9092", authorizer_class_name=STANDARD_AUTHORIZER)
    assert "nobody can create the first ACL" in nobody
    config = Config({"listeners": "PLAINTEXT://127.0.0.1:9092"} | WITH_ACLS)
    (anonymous,) = security_warnings(config, parse_listeners(config))
    assert "all clients are User:ANONYMOUS" in anonymous


def test_resources_without_acls_may_be_open_to_all():
    config = Config({"listeners": "SSL://127.0.0.1:9092", "allow.everyone.if.no.acl.found": "true"} | WITH_ACLS)
    (warning,) = security_warnings(config, parse_listeners(config))
    assert "whatever has no ACL" in warning


def test_the_acls_of_a_node_in_front_of_a_cluster_are_those_of_the_cluster():
    (warning,) = warnings("PLAINTEXT://0.0.0.0:9092", cluster_bootstrap_servers="kafka:9092")
    assert "may do what the ACLs allow User:ANONYMOUS" in warning
    assert warnings("SASL_SSL://0.0.0.0:9092", cluster_bootstrap_servers="kafka:9092") == []
