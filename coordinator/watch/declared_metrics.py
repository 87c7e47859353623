"""The metrics that `coordinator watch` has beside those of a node."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

RECORDS = Metric("coordinator_watch_records", Kind.COUNTER, "Records of groups that were read since the start.")
COMMITS = Metric("coordinator_watch_commits", Kind.COUNTER, "Committed offsets that were passed over.")
LINES = Metric("coordinator_watch_lines", Kind.COUNTER, "Lines of brokers' logs about groups that were read.")
EVENTS = Metric("coordinator_watch_events", Kind.COUNTER, "Events that were appended.")
GROUPS = Metric("coordinator_watch_groups", Kind.GAUGE, "Groups that are there, as far as they were seen.")
HELD = Metric(
    "coordinator_watch_held", Kind.GAUGE, "Records and lines that are held until what belongs before them is read."
)
FORCED = Metric(
    "coordinator_watch_forced", Kind.COUNTER, "How often more was held than can be; it was told as it was read."
)
READ_AGE_SECONDS = Metric(
    "coordinator_watch_read_age_seconds", Kind.GAUGE, "Since when nothing was read of __consumer_offsets; 0: never."
)
POLL_REQUESTS = Metric(
    "coordinator_watch_poll_requests", Kind.COUNTER, "Requests that polls of groups and their lag have sent."
)
POLL_SECONDS = Metric(
    "coordinator_watch_poll_seconds", Kind.GAUGE, "How long the last whole poll took, with the pauses in it."
)
POLL_AGE_SECONDS = Metric(
    "coordinator_watch_poll_age_seconds", Kind.GAUGE, "Since when no whole poll has begun; 0: never."
)
POLL_LEFT_OUT = Metric("coordinator_watch_poll_left_out", Kind.GAUGE, "Groups beyond the most that one poll describes.")

METRICS: Final = declared(globals())
