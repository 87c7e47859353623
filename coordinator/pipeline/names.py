"""The names of the tables. This file imports nothing, because the readers need no Spark."""

from typing import Final

BRONZE: Final = "bronze"
SILVER: Final = "silver"
REJECTS: Final = "rejects"
GAPS: Final = "gaps"
VOIDS: Final = "voids"
GENERATIONS: Final = "generations"
OPEN_GENERATIONS: Final = "open_generations"
MEMBERSHIPS: Final = "memberships"
OWNERSHIP: Final = "ownership"
COMMITS: Final = "commits"
REBALANCE_RATES: Final = "rebalance_rates"
FINDINGS: Final = "findings"
SKIPPED: Final = "skipped"
SHARE_ASSIGNMENTS: Final = "share_assignments"
SHARE_RECORDS: Final = "share_records"
SHARE_PARTITIONS: Final = "share_partitions"
SHARE_MEMBERS: Final = "share_members"
SHARE_ENDED_RECORDS: Final = "share_ended_records"
STREAMS_TASKS: Final = "streams_tasks"
RATE_WINDOW_MS: Final = 60_000
"""The windows of REBALANCE_RATES."""

TABLES_QUERY: Final = "tables"
"""The query from the topic to all tables."""
