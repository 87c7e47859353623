"""The keys of connections and requests (SocketServerConfigs)."""

from coordinator.config.key import INT32_MAX, INT64_MAX, ConfigKey

SOCKET_REQUEST_MAX_BYTES = ConfigKey(
    "socket.request.max.bytes",
    104_857_600,
    "The maximum size of a request in bytes. A larger request closes its connection.",
    1,
    INT32_MAX,
)
SOCKET_REQUEST_MAX_ELEMENTS = ConfigKey(
    "socket.request.max.elements",
    200_000,
    "The maximum number of elements that all arrays of a request have together. A request with more closes its "
    "connection. Kafka has no such limit.",
    100,
    INT32_MAX,
)
QUEUED_MAX_REQUEST_BYTES = ConfigKey(
    "queued.max.request.bytes",
    536_870_912,
    "The maximum number of bytes of requests that all connections together hold, unfinished or not handled yet; -1: no "
    "limit. Above it the connection that holds the most is closed. Kafka has no limit by default, and stops reading.",
    -1,
    INT64_MAX,
)
CONNECTIONS_MAX_UNSENT_BYTES = ConfigKey(
    "connections.max.unsent.bytes",
    536_870_912,
    "The maximum number of bytes of responses that all clients together have not read. Above it the connection with "
    "the most is closed. Kafka has no such limit.",
    1_048_576,
    INT64_MAX,
)
CONNECTIONS_MAX_STALLED_MS = ConfigKey(
    "connections.max.stalled.ms",
    60_000,
    "How long a client may take to send a request to its end, or to read its responses, beside the time for 16 kB a "
    "second. A connection that takes longer is closed. Kafka has no such limit.",
    1_000,
    INT32_MAX,
)
MAX_CONNECTIONS = ConfigKey(
    "max.connections",
    INT32_MAX,
    "The maximum number of connections at any time, over all listeners. At this number no more are accepted until some "
    "have gone. There may be fewer: a quarter of the open files that the process may have (`ulimit -n`), at least 256 "
    "and at most half of them, is kept for the log.",
    1,
    INT32_MAX,
)
MAX_CONNECTIONS_PER_IP = ConfigKey(
    "max.connections.per.ip",
    INT32_MAX,
    "The maximum number of connections at any time from one IP address. Further connections are closed.",
    0,
    INT32_MAX,
)
MAX_CONNECTIONS_PER_IP_OVERRIDES = ConfigKey(
    "max.connections.per.ip.overrides",
    "",
    "Other values of `max.connections.per.ip` for some addresses: a comma-separated list of HOST:COUNT, like "
    "`hostName:100,127.0.0.1:200`. A host name is resolved at the start.",
)
MAX_CONNECTION_CREATION_RATE = ConfigKey(
    "max.connection.creation.rate",
    INT32_MAX,
    "The maximum number of new connections a second, over all listeners. Further ones are accepted later.",
    1,
    INT32_MAX,
)
CONNECTIONS_MAX_IDLE_MS = ConfigKey(
    "connections.max.idle.ms",
    600_000,
    "Close a connection after this many ms without incoming data, unless a request is pending. Negative: never.",
    -1,
    INT64_MAX,
)
