import copy

from coordinator.config.password import NO_PASSWORD, Password


def test_a_secret_is_in_its_value_alone():
    secret = Password("open sesame")
    assert secret.value == "open sesame"
    for shown in (str(secret), repr(secret), f"{secret}", f"{secret!r:>10}", f"{[secret]}"):
        assert "[hidden]" in shown
        assert "sesame" not in shown


def test_secrets_compare_by_their_text():
    assert Password("pässword") == Password("pässword")
    assert hash(Password("a")) == hash(Password("a"))
    assert Password("a") != Password("b")
    assert Password("a") != "a"
    assert copy.copy(Password("a")) == Password("a")


def test_no_secret_is_false_and_has_no_text():
    assert not NO_PASSWORD
    assert str(NO_PASSWORD) == ""
    assert Password("x")
