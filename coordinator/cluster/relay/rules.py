"""Which APIs the relay treats in a special way, and in which versions it offers them.

An API that is not here is passed on, request and response, whatever its version.
"""

from typing import Final

import msgspec

from _wire.apis import APIS
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.fetch import FetchRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.produce import ProduceRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from _wire.messages.share_acknowledge import ShareAcknowledgeRequest
from _wire.messages.share_fetch import ShareFetchRequest

PRODUCE: Final = ProduceRequest.API_KEY
FETCH: Final = FetchRequest.API_KEY
FIND_COORDINATOR: Final = FindCoordinatorRequest.API_KEY
API_VERSIONS: Final = ApiVersionsRequest.API_KEY

SHARE_FETCH: Final = ShareFetchRequest.API_KEY
SHARE_ACKNOWLEDGE: Final = ShareAcknowledgeRequest.API_KEY

REMOVED: Final = frozenset({80, 81, 82, *range(83, 88)})
"""Changes of the controllers' quorum, and the states of share partitions, which brokers ask each other for."""

FETCH_VERSION_SENT: Final = 15
"""From version 16 on a response ends with `node_endpoints` (KIP-951), after all its records. The later versions differ
in tagged fields alone, so a broker is asked in this one, and its response is one of the client's version, without
endpoints (docs/decisions/036)."""
SASL_HANDSHAKE_VERSION_MIN: Final = 1
"""After version 0, tokens follow that are no requests (KIP-152)."""
PRODUCE_ENDPOINTS_VERSION: Final = 10
"""From this version on the response has `node_endpoints` (KIP-951)."""
NEVER: Final = 1 << 15
"""Above all versions."""

REWRITTEN: Final = (
    "Metadata",
    "DescribeCluster",
    "FindCoordinator",
    "ApiVersions",
    "ListGroups",
    "ShareFetch",
    "ShareAcknowledge",
)
"""APIs whose responses are rewritten, in all versions. Their requests are passed on, but those of FindCoordinator."""

INSPECTED: Final = (
    "JoinGroup",
    "LeaveGroup",
    "OffsetCommit",
    "TxnOffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeGroups",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
)
"""APIs of groups whose requests are answered NOT_COORDINATOR if a node owns the group.

SyncGroup and Heartbeat are not: the cluster answers UNKNOWN_MEMBER_ID, as its group has none of the node's members.
Then the client joins again, and that request is inspected.
"""

ANSWERED: Final = ("ListTransactions", "DescribeLogDirs", "DescribeConfigs")
"""APIs that a node answers for itself at its own port. At those of brokers they are passed on, in the same versions."""

OF_OTHER_KINDS: Final = (
    "ShareGroupHeartbeat",
    "ShareGroupDescribe",
    "DescribeShareGroupOffsets",
    "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets",
    "StreamsGroupHeartbeat",
    "StreamsGroupDescribe",
)
"""APIs of kinds of groups that nodes do not coordinate. At the ports of brokers they are passed on: the cluster answers
for an owned group that it is none of this kind, as it has the node's member."""


class Rule(msgspec.Struct, frozen=True):
    """How one API is treated."""

    min_version: int
    max_version: int
    is_collected: bool = False
    """Whether a request is read whole before it is passed on."""
    rewritten_from: int = NEVER
    """The first version whose response is rewritten."""
    sent_version_max: int = NEVER
    """Requests of later versions are sent to the broker as ones of this version."""

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


def _rules() -> dict[int, Rule]:
    rules: dict[int, Rule] = {}
    for name in REWRITTEN:
        api = APIS.named(name)
        rules[api.key] = Rule(api.min_version, api.max_version, api.key == FIND_COORDINATOR, api.min_version)
    for name in INSPECTED:
        api = APIS.named(name)
        rules[api.key] = Rule(api.min_version, api.max_version, is_collected=True)
    for name in (*ANSWERED, *OF_OTHER_KINDS):
        api = APIS.named(name)
        rules[api.key] = Rule(api.min_version, api.max_version)
    produce, fetch, handshake = APIS[PRODUCE], APIS[FETCH], APIS.named("SaslHandshake")
    rules[PRODUCE] = Rule(produce.min_version, produce.max_version, rewritten_from=PRODUCE_ENDPOINTS_VERSION)
    rules[FETCH] = Rule(fetch.min_version, fetch.max_version, sent_version_max=FETCH_VERSION_SENT)
    rules[SaslHandshakeRequest.API_KEY] = Rule(SASL_HANDSHAKE_VERSION_MIN, handshake.max_version)
    rules.update(dict.fromkeys(REMOVED, Rule(0, -1)))
    return rules


RULES: Final[dict[int, Rule]] = _rules()
"""API key → rule."""


def offered_versions(api_key: int, min_version: int, max_version: int) -> tuple[int, int] | None:
    """The versions that clients are offered of an API that a broker has in these; None: it is taken away."""
    rule = RULES.get(api_key)
    if rule is None:
        return min_version, max_version
    lowest, highest = max(min_version, rule.min_version), min(max_version, rule.max_version)
    if min_version > rule.sent_version_max:
        return None
    return (lowest, highest) if lowest <= highest else None
