"""The topics that the coordinator itself writes."""

from typing import Final

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Committed offsets and group metadata, in Kafka's own records."""

TRANSACTIONS_TOPIC: Final = "__transaction_state"
"""Where transactions are kept; made when a client first looks for the coordinator of one."""

SHARE_STATE_TOPIC: Final = "__share_group_state"
"""The states of the records of share groups, in Kafka's own records; made when the first of them is asked for."""

AUDIT_TOPIC: Final = "__group_audit"
"""What happened to each group; `audit.schema` describes its records."""

MEMBERSHIP_TOPIC: Final = "__group_membership"
"""The groups of nodes in front of a cluster, in Kafka's own records, in the cluster. It has no committed offsets."""

SIGHTINGS_TOPIC: Final = "__group_sightings"
"""What nodes in front of a cluster saw pass of groups that they watch, for the node that tells of the group."""

INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
"""Marked internal in Metadata, so that consumers by pattern pass them over. The audit topic is meant to be read."""

READ_ONLY_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC, AUDIT_TOPIC})
"""Clients cannot produce to these."""
