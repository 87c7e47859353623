"""The configs of the broker that must not be shown, and those of single listeners."""

from coordinator.config.settings import Config
from coordinator.node.handlers.broker_configs import broker_configs


def described(**settings: str):
    config = Config({name.replace("_", "."): value for name, value in settings.items()})
    return {broker_config.name: broker_config for broker_config in broker_configs(config, {})}


def test_secrets_are_sensitive_and_have_no_value():
    configs = described(ssl_key_password="sesame", listener_name_plaintext_ssl_keystore_password="open")
    for name in ("ssl.key.password", "listener.name.plaintext.ssl.keystore.password", "ssl.truststore.password"):
        assert configs[name].is_sensitive
        assert configs[name].value is None
        assert all(synonym.value is None for synonym in configs[name].synonyms)
    assert "sesame" not in str(configs)
    assert not configs["ssl.keystore.location"].is_sensitive


def test_settings_of_one_mechanism_are_told_as_those_of_the_server():
    name = "listener.name.plaintext.plain.connections.max.reauth.ms"
    config = Config({name: "5"})
    found = {broker_config.name: broker_config for broker_config in broker_configs(config, {})}[name]
    assert (found.value, found.is_sensitive, found.config_type) == ("5", False, 5)
    assert [synonym.name for synonym in found.synonyms] == [name, "connections.max.reauth.ms"]


def test_settings_of_one_listener_are_told_as_given():
    configs = described(listener_name_plaintext_ssl_client_auth="required")
    given = configs["listener.name.plaintext.ssl.client.auth"]
    assert (given.value, given.is_default, given.read_only, given.config_type) == ("required", False, True, 2)
    assert configs["ssl.client.auth"].value == "none"
