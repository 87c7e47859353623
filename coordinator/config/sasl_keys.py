"""The keys of logins by SASL (SaslConfigs, BrokerSecurityConfigs)."""

from typing import Final

from coordinator.config.key import INT32_MAX, INT64_MAX, ConfigKey, Scope
from coordinator.config.password import Password

JWT_VALIDATOR: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
JWT_VALIDATOR_BEFORE_4: Final = (
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
)

NO_WORDS: Final[tuple[str, ...]] = ()

SASL_ENABLED_MECHANISMS = ConfigKey(
    "sasl.enabled.mechanisms",
    NO_WORDS,
    "The SASL mechanisms of a listener with a login: a comma-separated list of `PLAIN`, `SCRAM-SHA-256`, "
    "`SCRAM-SHA-512` and `OAUTHBEARER`. Such a listener needs one at least. Kafka's default, GSSAPI, is not served.",
    scope=Scope.LISTENER,
)
SASL_JAAS_CONFIG = ConfigKey(
    "sasl.jaas.config",
    Password(""),
    "For `PLAIN`: the login module that has the users, "
    '`org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";`. Without it they are read '
    "from the file of `java.security.auth.login.config`. The other mechanisms need none.",
    scope=Scope.MECHANISM,
)
JAVA_SECURITY_AUTH_LOGIN_CONFIG = ConfigKey(
    "java.security.auth.login.config",
    "",
    "For `PLAIN`: the JAAS file with the users, in the section `LISTENER.KafkaServer` (the listener in lower case) or "
    "`KafkaServer`. It is read at the start. Kafka takes it as a system property of Java; with `--environment` it is "
    "found in `KAFKA_OPTS`, too.",
)
SASL_SERVER_MAX_RECEIVE_SIZE = ConfigKey(
    "sasl.server.max.receive.size",
    524_288,
    "The maximum size in bytes of a request before its connection has logged in.",
    1,
    INT32_MAX,
    scope=Scope.LISTENER,
)
CONNECTIONS_MAX_REAUTH_MS = ConfigKey(
    "connections.max.reauth.ms",
    0,
    "How long a login is valid, in ms. A client that has not logged in again by then, on the same connection, is "
    "disconnected with its next request (KIP-368). 0: as long as its token, or for ever.",
    0,
    INT64_MAX,
    scope=Scope.MECHANISM,
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = ConfigKey(
    "connection.failed.authentication.delay.ms",
    100,
    "How long the response to a failed login is delayed, in ms. Its connection is closed then.",
    0,
    INT32_MAX,
    scope=Scope.LISTENER,
)
CONNECTION_AUTHENTICATION_MAX_MS = ConfigKey(
    "connection.authentication.max.ms",
    30_000,
    "How long a client may take to log in, in ms. A connection that takes longer is closed. Kafka has no such limit.",
    100,
    INT32_MAX,
    scope=Scope.LISTENER,
)
MAX_AUTHENTICATIONS_PER_IP = ConfigKey(
    "max.authentications.per.ip",
    1_000,
    "The maximum number of connections from one IP address that have not logged in yet. Further ones are closed. Kafka "
    "has no such limit.",
    1,
    INT32_MAX,
)
SASL_SERVER_CALLBACK_HANDLER_CLASS = ConfigKey(
    "sasl.server.callback.handler.class",
    "",
    "Accepted for `OAUTHBEARER`, where Kafka needs the one value that is allowed to check signed tokens. Here they "
    "always are checked.",
    one_of=("", JWT_VALIDATOR, JWT_VALIDATOR_BEFORE_4),
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_URL = ConfigKey(
    "sasl.oauthbearer.jwks.endpoint.url",
    "",
    "Where the public keys are that tokens are signed with, as a JWKS (RFC 7517): `https://…` or `file:///…`. "
    "`OAUTHBEARER` needs it. Plain `http://` is allowed on the loopback interface only.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS = ConfigKey(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    3_600_000,
    "How often the keys are read again, in ms. A token with an unknown key has them read earlier.",
    1_000,
    INT64_MAX,
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS = ConfigKey(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    100,
    "How long to wait after the keys could not be read, in ms; it doubles with each attempt.",
    1,
    INT64_MAX,
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS = ConfigKey(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    10_000,
    "The longest such wait, in ms.",
    1,
    INT64_MAX,
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_EXPECTED_AUDIENCE = ConfigKey(
    "sasl.oauthbearer.expected.audience",
    NO_WORDS,
    "A token must be for one of these audiences (`aud`): a comma-separated list. If empty, a token may name none.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_EXPECTED_ISSUER = ConfigKey(
    "sasl.oauthbearer.expected.issuer",
    "",
    "The issuer (`iss`) that a token must have. If empty, any.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS = ConfigKey(
    "sasl.oauthbearer.clock.skew.seconds",
    30,
    "How far the clocks of this server and of the issuer of tokens may be apart, in seconds.",
    0,
    INT32_MAX,
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_SUB_CLAIM_NAME = ConfigKey(
    "sasl.oauthbearer.sub.claim.name",
    "sub",
    "The claim of a token that names the principal.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_SCOPE_CLAIM_NAME = ConfigKey(
    "sasl.oauthbearer.scope.claim.name",
    "scope",
    "The claim of a token that has its scope.",
    scope=Scope.MECHANISM,
)
SCRAM_CREDENTIALS_MAX = ConfigKey(
    "scram.credentials.max",
    100_000,
    "The maximum number of SCRAM credentials: a user has one for each mechanism. Kafka has no such limit.",
    0,
    INT32_MAX,
)
