"""The keys of the authorizer (`StandardAuthorizer`, ServerConfigs)."""

from typing import Final

from coordinator.config.key import INT32_MAX, ConfigError, ConfigKey

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

AUTHORIZER_CLASS_NAME = ConfigKey(
    "authorizer.class.name",
    "",
    f"Who decides what clients may do: `{STANDARD_AUTHORIZER}`, which has Kafka's ACLs. If empty, everybody may do "
    "everything.",
)
SUPER_USERS = ConfigKey(
    "super.users",
    "",
    "Principals that may do everything, whatever the ACLs say: a list of TYPE:NAME, separated by semicolons, as "
    "`User:alice;User:CN=admin,O=org`.",
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND = ConfigKey(
    "allow.everyone.if.no.acl.found",
    False,
    "If true, everybody may use a resource that has no ACL; if false, only super users may.",
)
ACLS_MAX = ConfigKey(
    "acls.max",
    100_000,
    "The maximum number of ACLs. A request that would create another one is answered POLICY_VIOLATION. Each ACL takes "
    "about one KiB of memory. Kafka has no such limit.",
    1,
    INT32_MAX,
)


def parse_super_users(text: str) -> frozenset[str]:
    """The principals of `super.users`, as ACLs write them.

    Raises:
        ConfigError: one of them is not TYPE:NAME.
    """
    principals = [principal.strip() for principal in text.split(";") if principal.strip()]
    for principal in principals:
        principal_type, colon, _ = principal.partition(":")
        if not principal_type or not colon:
            raise ConfigError(
                f"{SUPER_USERS.name}={text}: {principal!r} is not TYPE:NAME, as User:alice is; principals are "
                "separated by semicolons"
            )
    return frozenset(principals)
