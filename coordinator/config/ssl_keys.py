"""The keys of TLS (SslConfigs, BrokerSecurityConfigs)."""

from coordinator.config.key import INT32_MAX, ConfigKey, Scope
from coordinator.config.password import NO_PASSWORD

STORE_TYPES = ("JKS", "PKCS12", "PEM")

SSL_KEYSTORE_TYPE = ConfigKey(
    "ssl.keystore.type",
    "JKS",
    "The form of the key store: PEM or PKCS12. JKS, Kafka's default, works for the PKCS12 files that Java writes under "
    "this name too; a file in the old format of Java has to be converted.",
    one_of=STORE_TYPES,
    scope=Scope.LISTENER,
)
SSL_KEYSTORE_LOCATION = ConfigKey(
    "ssl.keystore.location",
    "",
    "The file with the server's private key and its certificate chain, the certificate of the server first. When the "
    "file changes, new connections get the new certificate.",
    scope=Scope.LISTENER,
)
SSL_KEYSTORE_PASSWORD = ConfigKey(
    "ssl.keystore.password",
    NO_PASSWORD,
    "The password of a key store of the type PKCS12. A PEM file has none, but perhaps `ssl.key.password`.",
    scope=Scope.LISTENER,
)
SSL_KEY_PASSWORD = ConfigKey(
    "ssl.key.password",
    NO_PASSWORD,
    "The password of the private key, if it is encrypted.",
    scope=Scope.LISTENER,
)
SSL_KEYSTORE_KEY = ConfigKey(
    "ssl.keystore.key",
    NO_PASSWORD,
    "The private key itself in the form of PEM, PKCS 8, in place of a file. Only with `ssl.keystore.type=PEM`.",
    scope=Scope.LISTENER,
)
SSL_KEYSTORE_CERTIFICATE_CHAIN = ConfigKey(
    "ssl.keystore.certificate.chain",
    NO_PASSWORD,
    "The certificate chain of `ssl.keystore.key` in the form of PEM, the certificate of the server first.",
    scope=Scope.LISTENER,
)
SSL_TRUSTSTORE_TYPE = ConfigKey(
    "ssl.truststore.type",
    "JKS",
    "The form of the trust store; as for `ssl.keystore.type`.",
    one_of=STORE_TYPES,
    scope=Scope.LISTENER,
)
SSL_TRUSTSTORE_LOCATION = ConfigKey(
    "ssl.truststore.location",
    "",
    "The file with the certificates of the authorities whose client certificates are accepted. When it changes, new "
    "connections are checked with the new ones.",
    scope=Scope.LISTENER,
)
SSL_TRUSTSTORE_PASSWORD = ConfigKey(
    "ssl.truststore.password",
    NO_PASSWORD,
    "The password of a trust store of the type PKCS12.",
    scope=Scope.LISTENER,
)
SSL_TRUSTSTORE_CERTIFICATES = ConfigKey(
    "ssl.truststore.certificates",
    NO_PASSWORD,
    "The trusted certificates themselves in the form of PEM, in place of a file. Only with `ssl.truststore.type=PEM`.",
    scope=Scope.LISTENER,
)
SSL_CLIENT_AUTH = ConfigKey(
    "ssl.client.auth",
    "none",
    "Whether clients have to present a certificate. `requested`: they may; without one they are `User:ANONYMOUS`.",
    one_of=("required", "requested", "none"),
    is_case_insensitive=True,
    scope=Scope.LISTENER,
)
SSL_ENABLED_PROTOCOLS: ConfigKey[tuple[str, ...]] = ConfigKey(
    "ssl.enabled.protocols",
    ("TLSv1.2", "TLSv1.3"),
    "The enabled versions of TLS. Older ones are not served.",
    one_of=("TLSv1.2", "TLSv1.3"),
    scope=Scope.LISTENER,
)
SSL_PROTOCOL = ConfigKey(
    "ssl.protocol",
    "TLSv1.3",
    "Accepted and ignored: `ssl.enabled.protocols` says which versions are served.",
    scope=Scope.LISTENER,
)
SSL_CIPHER_SUITES: ConfigKey[tuple[str, ...]] = ConfigKey(
    "ssl.cipher.suites",
    (),
    "The enabled cipher suites, by their standard names (TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) or those of OpenSSL. "
    "Those of TLS 1.3 are enabled together or not at all. If empty, all are that OpenSSL considers strong.",
    scope=Scope.LISTENER,
)
SSL_PRINCIPAL_MAPPING_RULES = ConfigKey(
    "ssl.principal.mapping.rules",
    "DEFAULT",
    "How the distinguished name of a client's certificate becomes the name of its principal: a comma-separated list of "
    "rules, of which the first that matches counts. `RULE:^CN=(.*?),OU=.*$/$1/L` has a regular expression for the "
    "whole name, a replacement, and L or U for lower or upper case; `DEFAULT` is the name itself. Regular expressions "
    "are those of RE2: without references back and looking around. If no rule matches, the connection is closed.",
    scope=Scope.LISTENER,
)
SSL_ALLOW_DN_CHANGES = ConfigKey(
    "ssl.allow.dn.changes",
    False,
    "Whether a key store that has changed may have a certificate with another distinguished name. If not, it is not "
    "used, and the log says so.",
)
SSL_ALLOW_SAN_CHANGES = ConfigKey(
    "ssl.allow.san.changes",
    False,
    "Whether a key store that has changed may have a certificate that lacks one of the alternative names before.",
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = ConfigKey(
    "ssl.endpoint.identification.algorithm",
    "https",
    "Accepted and ignored: clients check the name of the server; the server has no connections of its own.",
    scope=Scope.LISTENER,
)
SSL_HANDSHAKE_TIMEOUT_MS = ConfigKey(
    "ssl.handshake.timeout.ms",
    10_000,
    "How long a TLS handshake may take. A connection that takes longer is closed. Kafka has no such setting.",
    100,
    INT32_MAX,
)
SSL_HANDSHAKES_MAX = ConfigKey(
    "ssl.handshakes.max",
    1_000,
    "The maximum number of TLS handshakes at any time, over all listeners. For a further one, the oldest handshake of "
    "the address that has the most is closed. Kafka has no such limit.",
    1,
    INT32_MAX,
)
SSL_HANDSHAKES_MAX_PER_IP = ConfigKey(
    "ssl.handshakes.max.per.ip",
    200,
    "The maximum number of TLS handshakes at any time from one IP address. For a further one, the oldest of them is "
    "closed. Kafka has no such limit.",
    1,
    INT32_MAX,
)
SSL_STORE_CHECK_INTERVAL_MS = ConfigKey(
    "ssl.store.check.interval.ms",
    10_000,
    "How often the files of key and trust stores are looked at, to load them again when they have changed; -1: only "
    "when `kafka-configs --alter` sets their location again. Kafka has no such setting.",
    -1,
    INT32_MAX,
)
