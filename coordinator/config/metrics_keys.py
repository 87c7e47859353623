"""The keys of the admin port and its metrics. Kafka has none of them."""

from typing import Final

from coordinator.config.key import ConfigKey

ADMIN_LISTENER = ConfigKey(
    "admin.listener",
    "",
    "The address of the admin port, which serves /metrics, /healthz and /readyz over HTTP: HOST:PORT, or :PORT on "
    "127.0.0.1. Port 0 binds a free port. If empty, there is none. On another address than loopback it needs "
    "`admin.login.file` and `admin.security.protocol=SSL`, unless you trust all who reach it; the log warns if it has "
    "them not. Kafka has no such setting.",
)
ADMIN_NAME: Final = "ADMIN"
"""The name of the admin port where settings of listeners are written: `listener.name.admin.ssl.keystore.location`."""
ADMIN_SECURITY_PROTOCOL = ConfigKey(
    "admin.security.protocol",
    "PLAINTEXT",
    "Whether the admin port has TLS. With `SSL` its key store, and whether it asks for certificates, are the settings "
    "`listener.name.admin.ssl.*`, or those of all listeners. Kafka has no such setting.",
    one_of=("PLAINTEXT", "SSL"),
)
ADMIN_LOGIN_FILE = ConfigKey(
    "admin.login.file",
    "",
    "A file with the logins of the admin port: each line is USER:PASSWORD (HTTP Basic), or a token, which has no colon "
    "(Bearer). Without it there is no login. It is read at the start. Kafka has no such setting.",
)
ADMIN_PROBES_OPEN = ConfigKey(
    "admin.probes.open",
    True,
    "Whether /healthz and /readyz are served without a login, as probes of an orchestrator need it. "
    "Kafka has no such setting.",
)
ADMIN_ALLOWED_HOSTS = ConfigKey(
    "admin.allowed.hosts",
    "",
    "Host names under which the admin port may be asked, without a port: a comma-separated list. On a loopback address "
    "only localhost and loopback addresses are allowed beside these, so that no web page reaches the port by DNS "
    "rebinding. On another address all hosts are allowed if this is empty, otherwise these, IP addresses and "
    "localhost. Requests with the Origin of another site are refused in any case, unless its host is in the list. "
    "Kafka has no such setting.",
)
METRICS_GROUPS_ALLOW = ConfigKey(
    "metrics.groups.allow",
    "",
    "Groups that always have metrics of their own while they exist: a comma-separated list of group ids, not more than "
    "`metrics.groups.max`. Kafka has no such setting.",
)
METRICS_GROUPS_MAX = ConfigKey(
    "metrics.groups.max",
    20,
    "The maximum number of groups with metrics of their own: those of `metrics.groups.allow`, then those with the most "
    "recent rebalances, then those with the most members. A group keeps its metrics for at least ten minutes. "
    "Kafka has no such setting.",
    0,
    1000,
)
METRICS_GROUPS_PARTITIONS_MAX = ConfigKey(
    "metrics.groups.partitions.max",
    1000,
    "The maximum number of partitions with metrics of their lag, over all groups that have metrics of their own. A "
    "group has them for all of its partitions or for none: those with the fewest partitions come first. Each costs "
    "some 50 µs of a scrape. Kafka has no such setting.",
    0,
    10_000,
)
