"""Makes the authorizer that the settings name, and keeps it in step with the ACLs of the metadata."""

from typing import cast

from coordinator.config.authorizer_keys import (
    ALLOW_EVERYONE_IF_NO_ACL_FOUND,
    AUTHORIZER_CLASS_NAME,
    SUPER_USERS,
    parse_super_users,
)
from coordinator.config.settings import Config
from coordinator.core.topic_listing import MayDescribe
from coordinator.front.authorization import ALLOW_ALL, Authorizer
from coordinator.metadata.records import AclRecord, RemoveAclRecord
from coordinator.metadata.store import MetadataStore
from coordinator.security.acls.authorizer import StandardAuthorizer
from coordinator.security.acls.model import Acl, AclOperation, ResourceType
from coordinator.security.principal import Principal


def make_authorizer(config: Config, metadata: MetadataStore) -> Authorizer:
    """The authorizer of a node, which has the ACLs of the image from now on; that of a node without one allows all."""
    if not config[AUTHORIZER_CLASS_NAME]:
        return ALLOW_ALL
    authorizer = StandardAuthorizer(
        parse_super_users(config[SUPER_USERS]), allows_without_acl=config[ALLOW_EVERYONE_IF_NO_ACL_FOUND]
    )
    for binding in metadata.image.acls:
        authorizer.add(Acl(*binding))

    def changed(record: AclRecord | RemoveAclRecord) -> None:
        acl = Acl(*record.binding)
        if isinstance(record, AclRecord):
            authorizer.add(acl)
        else:
            authorizer.remove(acl)

    metadata.add_acl_listener(changed)
    return authorizer


def describes_topics(authorizer: Authorizer) -> MayDescribe | None:
    """Whether a client may describe a topic; None if all may describe all."""
    if authorizer is ALLOW_ALL:
        return None

    def may_describe(principal: object, client_host: str, topic: str) -> bool:
        # The coordinator of groups passes on what it got with the request.
        who = cast(Principal, principal)
        return authorizer.authorize(who, client_host, AclOperation.DESCRIBE, ResourceType.TOPIC, topic)

    return may_describe
