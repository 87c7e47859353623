"""Requests, connections and logins."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

REQUEST: Final = "kafka_network_requestmetrics"
REQUEST_JMX: Final = "kafka.network:type=RequestMetrics,name="
SOCKET: Final = "kafka_server_socket_server_metrics"
SOCKET_JMX: Final = "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*:"
LISTENER: Final = ("listener", "networkProcessor")
"""As Kafka; the event loop is network processor 0."""

REQUESTS = Metric(
    f"{REQUEST}_requests",
    Kind.COUNTER,
    "Requests that were answered.",
    ("request", "version"),
    f"{REQUEST_JMX}RequestsPerSec,request=*,version=*: Count",
)
ERRORS = Metric(
    f"{REQUEST}_errors",
    Kind.COUNTER,
    "Error codes in responses, NONE too: each one of a response that has several (for each partition, topic or group).",
    ("request", "error"),
    f"{REQUEST_JMX}ErrorsPerSec,request=*,error=*: Count",
)
TOTAL_TIME_MS = Metric(
    f"{REQUEST}_totaltimems",
    Kind.HISTOGRAM,
    "The time from the arrival of a request to its response in the send buffer, in ms, with the time that it waited "
    "for others (JoinGroup, SyncGroup, Fetch). A Heartbeat that its connection answers at once counts as 0 ms. "
    "Kafka has percentiles and _count.",
    ("request",),
    f"{REQUEST_JMX}TotalTimeMs,request=*: Count, 50thPercentile, …",
)
CONNECTION_COUNT = Metric(
    f"{SOCKET}_connection_count", Kind.GAUGE, "Open connections.", LISTENER, f"{SOCKET_JMX} connection-count"
)
CONNECTION_CREATION = Metric(
    f"{SOCKET}_connection_creation",
    Kind.COUNTER,
    "Connections that were accepted. Its rate is Kafka's connection-creation-rate.",
    LISTENER,
    f"{SOCKET_JMX} connection-creation-total",
)
CONNECTION_CLOSE = Metric(
    f"{SOCKET}_connection_close",
    Kind.COUNTER,
    "Connections that were closed. Its rate is Kafka's connection-close-rate.",
    LISTENER,
    f"{SOCKET_JMX} connection-close-total",
)
INCOMING_BYTES = Metric(
    f"{SOCKET}_incoming_byte",
    Kind.COUNTER,
    "Bytes that were received. Its rate is Kafka's incoming-byte-rate.",
    LISTENER,
    f"{SOCKET_JMX} incoming-byte-total",
)
OUTGOING_BYTES = Metric(
    f"{SOCKET}_outgoing_byte",
    Kind.COUNTER,
    "Bytes that were sent. Its rate is Kafka's outgoing-byte-rate.",
    LISTENER,
    f"{SOCKET_JMX} outgoing-byte-total",
)
CONNECTIONS_REJECTED = Metric(
    "coordinator_connections_rejected",
    Kind.COUNTER,
    "Connections that the server closed because of what came: too many connections, or a request that it cannot read.",
    ("listener",),
)
AUTHORIZATION_DENIED = Metric(
    "coordinator_authorization_denied",
    Kind.COUNTER,
    "Operations that the authorizer denied to clients, by operation and type of resource.",
    ("operation", "resource_type"),
)

# ---- logins

SUCCESSFUL_AUTHENTICATION = Metric(
    f"{SOCKET}_successful_authentication",
    Kind.COUNTER,
    "Connections that logged in by SASL.",
    LISTENER,
    f"{SOCKET_JMX} successful-authentication-total, -rate",
)
FAILED_AUTHENTICATION = Metric(
    f"{SOCKET}_failed_authentication",
    Kind.COUNTER,
    "Connections that tried to log in by SASL and failed.",
    LISTENER,
    f"{SOCKET_JMX} failed-authentication-total, -rate",
)
SUCCESSFUL_REAUTHENTICATION = Metric(
    f"{SOCKET}_successful_reauthentication",
    Kind.COUNTER,
    "Logins that renewed the session of a connection (KIP-368).",
    LISTENER,
    f"{SOCKET_JMX} successful-reauthentication-total, -rate",
)
FAILED_REAUTHENTICATION = Metric(
    f"{SOCKET}_failed_reauthentication",
    Kind.COUNTER,
    "Such logins that failed.",
    LISTENER,
    f"{SOCKET_JMX} failed-reauthentication-total, -rate",
)
EXPIRED_CONNECTIONS_KILLED = Metric(
    f"{SOCKET}_expired_connections_killed_count",
    Kind.COUNTER,
    "Connections that were closed because their session had ended and they did not log in again.",
    LISTENER,
    f"{SOCKET_JMX} expired-connections-killed-count",
)

METRICS: Final = declared(globals())
