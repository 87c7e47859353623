"""Members that connect with TLS, and log in; and members that may not."""

import re
import time
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
from interop.security import EXPIRED_CERTIFICATE, EXPIRED_TOKEN, TITLES, UNKNOWN_USER, USER, WRONG_PASSWORD
from tests.waiting import wait_for

REFUSED: Final = re.compile(r"authenticat|credential|password|sasl|token|certificate|handshake|\b(ssl|tls)\b", re.I)
"""In what a client is told whose login was refused. Lines without it tell of something else."""
REFUSAL_SECONDS: Final = 12
"""How long a member that is refused may take to be told. Some clients try again for ever and tell nobody."""
MORE_SECONDS: Final = 1
"""In which all is told: some clients tell the same in several lines."""
REFUSED_BECAUSE: Final = {
    "plain": (WRONG_PASSWORD, UNKNOWN_USER),
    "scram-sha-256": (WRONG_PASSWORD, UNKNOWN_USER),
    "oauthbearer": (EXPIRED_TOKEN,),
    "ssl-client-auth": (EXPIRED_CERTIFICATE,),
}
POLL_SECONDS: Final = 0.1
VARYING: Final = re.compile(r"\S*\d\S*")
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

    def is_reported() -> bool:
        failures = member.latest().of_kind("failed")
        texts = [f"{failure['error']} {failure['message']}".lower() for failure in failures]
        return any(word in text for text in texts for word in words)

    try:
        wait_for(is_reported, SECONDS, f"{member!r} to be told that it may not", every_ms=100)
    except AssertionError as problem:
        found = [f"{each['error']}: {each['message']}" for each in member.of_kind("failed")]
        raise AssertionError(f"{problem}; it was told: {found}") from None


def _refusal(security: str, why: str) -> Scenario:
    """A member without valid credentials is refused, is told what it is told by Kafka, and disturbs nobody."""

    def play(scene: Scene) -> None:
        good = scene.secured
        assert good is not None, "the scenario has a security"
        one = scene.member("one")
        scene.steady(one)
        scene.secured = msgspec.structs.replace(good, security=good.refused[why])
        two = scene.member("two")
        _wait_until_told(two)
        scene.told = sorted(_told_refusals(two))
        assert not two.of_kind("assigned"), f"{two!r} is in the group with {why}"
        scene.steady(one)
        one.leave()

    play.__name__ = f"{why.replace(' ', '_')}_over_{security.replace('-', '_')}"
    return Scenario(f"Refused: {why}, {TITLES[security]}", play, needs=(security,), security=security)


def _wait_until_told(member: Member) -> None:
    deadline = time.monotonic() + REFUSAL_SECONDS
    while time.monotonic() < deadline and not _told_refusals(member):
        time.sleep(POLL_SECONDS)
    time.sleep(MORE_SECONDS)


def _told_refusals(member: Member) -> set[str]:
    """What the application is told of its refused login: errors of calls, and what the client writes to stderr.

    Without what differs from play to play: numbers and what contains them, such as addresses, client ids and times.
    """
    failures = member.latest().of_kind("failed")
    texts = [f"{failure['error']}: {failure['message']}" for failure in failures] + member.driver.errors().splitlines()
    told = {" ".join(VARYING.sub("N", text).split()) for text in texts}
    return {text for text in told if REFUSED.search(text) and "DeprecationWarning" not in text}


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


REFUSALS: Final = tuple(_refusal(security, why) for security, reasons in REFUSED_BECAUSE.items() for why in reasons)
SCENARIOS = (
    *map(_scenario, TITLES),
    *REFUSALS,
    Scenario("A right is taken away in the middle", right_taken_away, needs=("plain",), security="plain"),
)
