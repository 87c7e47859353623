"""What the APIs of a node in front of a cluster need to be allowed. The cluster decides about it."""

from collections.abc import Mapping
from typing import Final

from coordinator.cluster.relay.rules import OF_OTHER_KINDS
from coordinator.front.authorization import NOTHING, Requirement
from coordinator.front.requirements import GROUP_REQUIREMENTS, on_cluster
from coordinator.security.acls.model import AclOperation

CLUSTER_REQUIREMENTS: Final[Mapping[str, tuple[Requirement, ...]]] = {
    **GROUP_REQUIREMENTS,
    **dict.fromkeys(OF_OTHER_KINDS, NOTHING),
    "DescribeGroupOwners": on_cluster(AclOperation.DESCRIBE),
    "AlterGroupOwners": on_cluster(AclOperation.ALTER),
    "AlterWatchedGroups": on_cluster(AclOperation.ALTER),
}
"""Name of an API → what it needs, of all that the node answers itself."""
