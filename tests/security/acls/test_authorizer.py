"""What the authorizer decides is what its slow twin decides, whatever was created and deleted before."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.security.acls.authorizer import DEFAULT_DENY, SUPER_USER, StandardAuthorizer
from coordinator.security.acls.model import Acl, AclOperation, PatternType, PermissionType, ResourceType
from coordinator.security.principal import ANONYMOUS, Principal
from tests.examples import examples
from tests.model import acls as model
from tests.security.acls import random_acls

ALICE: Final = Principal("User", "alice")
HOST: Final = "/10.0.0.1"
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP

questions = st.tuples(
    st.sampled_from([ALICE, Principal("User", "bob"), Principal("Group", "alice"), ANONYMOUS]),
    st.sampled_from([HOST, "/10.0.0.2", "/::1"]),
    st.sampled_from([AclOperation(operation) for operation in random_acls.OPERATIONS if operation != AclOperation.ALL]),
    st.sampled_from([ResourceType(type_) for type_ in random_acls.TYPES]),
    st.one_of(random_acls.NAMES, st.sampled_from(["", "abcd", "c"])),
)


def acl(
    operation: AclOperation = READ,
    name: str = "t",
    permission: PermissionType = PermissionType.ALLOW,
    *,
    resource_type: ResourceType = TOPIC,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> Acl:
    return Acl(resource_type.value, name, pattern.value, principal, host, operation.value, permission.value)


def authorizer_of(*acls: Acl, super_users: tuple[str, ...] = (), allows_without_acl: bool = False) -> Any:
    authorizer = StandardAuthorizer(super_users, allows_without_acl=allows_without_acl)
    for acl in acls:
        authorizer.add(acl)
    return authorizer


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(random_acls.acls, max_size=25),
    st.lists(st.integers(0, 24), max_size=10),
    st.lists(questions, min_size=1, max_size=10),
    st.booleans(),
    st.sampled_from([(), ("User:bob",)]),
)
def test_it_decides_as_its_twin(acls, removed, asked, allows_without_acl, super_users):
    authorizer = authorizer_of(super_users=super_users, allows_without_acl=allows_without_acl)
    kept: set[Acl] = set()

    def compare() -> None:
        for principal, host, operation, resource_type, name in asked:
            about = (kept, super_users, allows_without_acl, str(principal), host[1:], operation, resource_type)
            decided = authorizer.authorize(principal, host, operation, resource_type, name)
            assert decided is model.is_allowed(*about, name)
            assert decided is authorizer.authorize(principal, host, operation, resource_type, name), "kept"
            decided = authorizer.authorize_by_resource_type(principal, host, operation, resource_type)
            assert decided is model.is_any_allowed(*about)

    compare()
    for acl in acls:
        authorizer.add(acl)
        kept.add(acl)
    compare()
    for index in removed:
        if index < len(acls):
            authorizer.remove(acls[index])
            kept.discard(acls[index])
    assert len(authorizer) == len(kept)
    compare()


def test_a_super_user_may_do_what_is_denied():
    authorizer = authorizer_of(acl(permission=PermissionType.DENY), super_users=("User:alice",))
    assert authorizer.authorize(ALICE, HOST, READ, TOPIC, "t")
    assert authorizer.rule(ALICE, HOST, READ, TOPIC, "t") is SUPER_USER
    assert authorizer.authorize_by_resource_type(ALICE, HOST, READ, TOPIC)


@pytest.mark.parametrize(("name", "pattern"), [("*", PatternType.LITERAL), ("t", PatternType.PREFIXED)])
def test_a_denial_of_all_or_of_a_prefix_beats_what_is_allowed_by_name(name, pattern):
    denied = acl(AclOperation.ALL, name, PermissionType.DENY, pattern=pattern)
    authorizer = authorizer_of(acl(name="topic"), denied)
    assert not authorizer.authorize(ALICE, HOST, READ, TOPIC, "topic")
    assert str(authorizer.rule(ALICE, HOST, READ, TOPIC, "topic")) == f"MatchingAcl(acl={denied})"


def test_a_denial_implies_nothing():
    for denied, allowed in ((DESCRIBE, READ), (READ, DESCRIBE)):
        authorizer = authorizer_of(acl(allowed), acl(denied, permission=PermissionType.DENY))
        assert authorizer.authorize(ALICE, HOST, allowed, TOPIC, "t")
        assert not authorizer.authorize(ALICE, HOST, denied, TOPIC, "t")


LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


@pytest.mark.parametrize(
    ("allowed", "denied", "is_any_allowed"),
    [
        (("t", LITERAL), ("*", LITERAL), False),
        (("t", LITERAL), ("t", LITERAL), False),
        (("t", LITERAL), ("t", PREFIXED), False),
        (("tab", PREFIXED), ("ta", PREFIXED), False),
        (("t", LITERAL), ("u", LITERAL), True),
        (("t", LITERAL), ("ta", PREFIXED), True),
        (("t", PREFIXED), ("t", LITERAL), True),
        (("*", LITERAL), ("t", PREFIXED), True),
    ],
)
def test_some_resource_is_allowed_unless_a_denial_covers_all(allowed, denied, is_any_allowed):
    name, pattern = denied
    denial = acl(name=name, pattern=pattern, permission=PermissionType.DENY)
    authorizer = authorizer_of(acl(name=allowed[0], pattern=allowed[1]), denial)
    assert authorizer.authorize_by_resource_type(ALICE, HOST, READ, TOPIC) is is_any_allowed


def test_without_any_acl_on_the_resource_the_setting_decides():
    for allows in (False, True):
        authorizer = authorizer_of(acl(name="other"), allows_without_acl=allows)
        assert authorizer.authorize(ALICE, HOST, READ, TOPIC, "t") is allows
        authorizer.add(acl(principal="User:bob"))
        assert not authorizer.authorize(ALICE, HOST, READ, TOPIC, "t"), "it has an ACL of somebody else"
        assert authorizer.rule(ALICE, HOST, READ, TOPIC, "t") is DEFAULT_DENY


def test_an_acl_is_written_as_kafka_writes_it():
    assert str(acl(host="10.0.0.1", pattern=PatternType.PREFIXED)) == (
        "StandardAcl(resourceType=TOPIC, resourceName=t, patternType=PREFIXED, principal=User:alice, host=10.0.0.1, "
        "operation=READ, permissionType=ALLOW)"
    )


def test_a_decision_is_kept_until_an_acl_changes(monkeypatch):
    authorizer = authorizer_of(acl())
    rules: list[tuple[object, ...]] = []
    rule = authorizer.rule

    def noted(*asked: object) -> object:
        rules.append(asked)
        return rule(*asked)

    monkeypatch.setattr(authorizer, "rule", noted)
    for _ in range(3):
        assert authorizer.authorize(ALICE, HOST, READ, TOPIC, "t")
        assert not authorizer.authorize_by_resource_type(ALICE, HOST, WRITE, TOPIC)
    assert len(rules) == 2
    authorizer.remove(acl())
    assert not authorizer.authorize(ALICE, HOST, READ, TOPIC, "t")
    assert len(rules) == 3


def test_so_many_decisions_are_kept_and_no_more():
    authorizer = StandardAuthorizer((), allows_without_acl=True, decisions_max=10)
    for number in range(35):
        assert authorizer.authorize(ALICE, HOST, READ, TOPIC, f"t{number}")
        assert sum(map(len, authorizer._decisions.values())) <= 10
    authorizer.add(acl(name="t34", principal="User:bob"))
    assert not authorizer.authorize(ALICE, HOST, READ, TOPIC, "t34")


def test_who_keeps_decisions_is_told_of_each_change():
    authorizer = authorizer_of()
    login_failure: list[int] = []
    authorizer.on_change(lambda: login_failure.append(len(authorizer)))
    authorizer.add(acl())
    authorizer.remove(acl())
    assert login_failure == [1, 0]
