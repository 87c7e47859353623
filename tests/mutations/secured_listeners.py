"""Mutants of listeners, TLS and the login of HTTP ports: who gets in, what is bounded, what is shown."""

from typing import Final

from tests.mutations.mutant import Mutant

SETTINGS_MUTANTS: Final = (
    Mutant(
        "a secret is shown",
        "Password.__str__",
        "return HIDDEN if self.value else",
        "return self.value if self.value else",
    ),
    Mutant(
        "DescribeConfigs shows secrets",
        "broker_configs._described",
        "value=None if is_sensitive or value is None else",
        "value=None if value is None else",
    ),
    Mutant("settings of a listener are those of all", "ListenerConfig.__getitem__", "if place is None", "if True"),
    Mutant(
        "the settings of another mechanism hold",
        "ListenerConfig.for_mechanism",
        "mechanism_place(self.name, mechanism)",
        'mechanism_place(self.name, "plain")',
    ),
    Mutant("the shortest name of a listener counts", "find_override", "max(places, key=len)", "min(places, key=len)"),
    Mutant(
        "any setting can be set for one listener",
        "find_override",
        "if keys[rest].scope is Scope.BROKER:",
        "if False:",
    ),
    Mutant("a bad line of a file is shown", "read_properties_with_lines", "{number}: expected", "{line}: expected"),
    Mutant("names of listeners are kept as written", "listener._addresses", "Address(name.upper(),", "Address(name,"),
    Mutant("two listeners may have one port", "listener._check_ports", "if len(hosts) > 1 and", "if False and"),
    Mutant("a listener without a protocol is plain text", "_protocol_of", "if protocol is None:", "if False:"),
)

CERTIFICATE_MUTANTS: Final = (
    Mutant("an expired certificate is used", "stores._check", "if certificate.not_valid_after_utc < now:", "if False:"),
    Mutant("a key may belong to another certificate", "stores._check", "if not is_pair:", "if False:"),
    Mutant(
        "clients of any authority are trusted",
        "_verify_clients",
        "context.verify_mode = VERIFY_MODES[requested]",
        "context.verify_mode = ssl.CERT_NONE",
    ),
    Mutant(
        "a required certificate is requested",
        "VERIFY_MODES",
        '"required": ssl.CERT_REQUIRED',
        '"required": ssl.CERT_OPTIONAL',
    ),
    Mutant(
        "commas in names are not escaped",
        "names._escape",
        'f"\\\\{char}" if char in ESCAPED',
        "char if char in ESCAPED",
    ),
    Mutant("the name of a certificate is not reversed", "format_name", "reversed(", "list("),
    Mutant("a rule matches a part of the name", "_Rule.apply", "if not self.pattern.matches(name):", "if False:"),
    Mutant(
        "who no rule applies to is who it says",
        "PrincipalMapper.name_of",
        'raise NoMatchingRule(f"no rule',
        'return distinguished_name\nraise NoMatchingRule(f"no rule',
    ),
    Mutant(
        "another name in a new certificate is taken",
        "TlsListener.load_changed",
        "if old.subject != new.subject and not self._allows_dn_changes:",
        "if False:",
    ),
    Mutant(
        "a new certificate may lack names",
        "TlsListener.load_changed",
        "if not old.alternative_names <= new.alternative_names and",
        "if False and",
    ),
    Mutant("the principal of a certificate is not used", "TlsListener.authenticate", "if certificate:", "if False:"),
)

HANDSHAKE_MUTANTS: Final = (
    Mutant(
        "a handshake may take for ever",
        "TlsHandshakes.due",
        "if begun_ms + self._timeout_ms > now_ms:",
        "if True:",
    ),
    Mutant(
        "an address may have any number of handshakes",
        "TlsHandshakes.begin",
        "if len(of_address) > self._max_per_ip:",
        "if False:",
    ),
    Mutant(
        "there may be any number of handshakes",
        "TlsHandshakes.begin",
        "elif len(self._begun_ms) > self._max:",
        "elif False:",
    ),
    Mutant("the address with the fewest loses one", "TlsHandshakes.begin", "most = max(", "most = min("),
    Mutant(
        "half handshakes do not count for their address",
        "TlsHandshakes.begin",
        "if too_many is not None:",
        "if False:",
    ),
    Mutant(
        "a connection that has gone in its handshake counts",
        "TlsHandshakes.lost",
        "self._limits.not_begun(connection)",
        "pass",
    ),
    Mutant(
        "what a client does not read is not counted",
        "TlsTransport.get_write_buffer_size",
        "self._unsent_bytes + self._tcp.get_write_buffer_size()",
        "self._tcp.get_write_buffer_size()",
    ),
    Mutant(
        "the next request does not wait for a client to read",
        "TlsTransport._pause_connection",
        "self._connection.pause_writing()",
        "pass",
    ),
    Mutant(
        "a session is closed without its end",
        "TlsTransport._send_unsent",
        "self._send_end()",
        "pass",
    ),
)

HTTP_MUTANTS: Final = (
    Mutant("a port is open to all", "LoginGuard.__call__", "self._logins.allow(given[0])", "True"),
    Mutant("passwords may be guessed", "LoginGuard._failed_too_often", "> FAILURES_AT_ONCE - 1", "> 1 << 60"),
    Mutant("every path is a probe", "LoginGuard.__call__", 'scope["path"] in self._open_paths', "self._open_paths"),
    Mutant(
        "addresses that failed are kept for ever",
        "LoginGuard._count_failure",
        "self._failures.popitem(last=False)",
        "pass",
    ),
)

MUTANTS: Final[tuple[Mutant, ...]] = (*SETTINGS_MUTANTS, *CERTIFICATE_MUTANTS, *HANDSHAKE_MUTANTS, *HTTP_MUTANTS)
