"""Members that connect with TLS, and log in; and members that may not."""

from collections.abc import Sequence
from typing import Final

import msgspec

from coordinator.client.acls import add_acls, remove_acls
from coordinator.security.acls.filters import ANY, AclFilter
from coordinator.security.acls.model import Acl, AclOperation, PatternType, PermissionType, ResourceType
from interop.driver import Member
from interop.scenarios.scenario import Scenario
from interop.scenarios.timeouts import killed
from interop.scene import SECONDS, Scene
from interop.security import TITLES, USER
from tests.waiting import wait_for

REFUSED: Final = ("authenticat", "credential", "password", "sasl")
"""One of these is in the error of each client whose login was refused."""
DENIED: Final = ("authoriz", "kafka broker error 30")
"""One of these is in the error of each client that is denied its group: kafrust tells the number of the error."""


def _scenario(security: str) -> Scenario:
    """Two members join and read, and the session of one ends, over a secured listener."""

    def play(scene: Scene) -> None:
        killed(scene)

    play.__name__ = f"over_{security.replace('-', '_')}"
    return Scenario(f"joins, reads, a session ends: {TITLES[security]}", play, needs=(security,), security=security)


def _wait_for_error(member: Member, words: Sequence[str]) -> None:
    """Wait until the member reports an error with one of the words."""

    def is_told() -> bool:
        failures = member.latest().of_kind("failed")
        texts = [f"{each['error']} {each['message']}".lower() for each in failures]
        return any(word in text for text in texts for word in words)

    try:
        wait_for(is_told, SECONDS, f"{member!r} to be told that it may not", every_ms=100)
    except AssertionError as problem:
        found = [f"{each['error']}: {each['message']}" for each in member.of_kind("failed")]
        raise AssertionError(f"{problem}; it was told: {found}") from None


def login_refused(scene: Scene) -> None:
    """A member with a wrong password is told so, and one with the right one goes on."""
    good = scene.secured
    assert good is not None, "the scenario has a security"
    one = scene.member("one")
    scene.steady(one)
    scene.secured = msgspec.structs.replace(good, security=good.security | {"password": "wrong"})
    _wait_for_error(scene.member("two"), REFUSED)
    scene.steady(one)
    one.leave()


def right_taken_away(scene: Scene) -> None:
    """In the middle of a group its member is denied the group, and is told so."""
    one = scene.member("one")
    scene.steady(one)
    denial = Acl(
        ResourceType.GROUP,
        scene.group,
        PatternType.LITERAL,
        f"User:{USER}",
        "*",
        AclOperation.READ,
        PermissionType.DENY,
    )
    add_acls(scene.server.bootstrap, [denial])
    try:
        _wait_for_error(one, DENIED)
    finally:
        of_group = AclFilter(ResourceType.GROUP, scene.group, PatternType.LITERAL, None, None, ANY, ANY)
        remove_acls(scene.server.bootstrap, [of_group])


SCENARIOS = (
    *map(_scenario, TITLES),
    Scenario("A wrong password is refused", login_refused, needs=("plain",), security="plain"),
    Scenario("A right is taken away in the middle", right_taken_away, needs=("plain",), security="plain"),
)
