"""Mutants of the server's edge: who is accepted, who is closed, what is said of it."""

from typing import Final

from tests.mutations.mutant import Mutant

SLOW_PEERS_MUTANTS: Final = (
    Mutant(
        "a request may stay unfinished for ever",
        "SlowPeers.due",
        "if begun_ms and now_ms - begun_ms >",
        "if begun_ms and 0 >",
    ),
    Mutant(
        "a large request has no more time than a small one",
        "SlowPeers.due",
        "self._stalled_ms + size_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms",
    ),
    Mutant(
        "each byte of a request renews its time",
        "SlowPeers.due",
        "self._stalled_ms + size_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms + size_bytes * 1000",
    ),
    Mutant(
        "responses may stay unread for ever",
        "SlowPeers.due",
        "if now_ms - connection.congested_ms >",
        "if 0 >",
    ),
    Mutant(
        "a client that reads slowly has no more time than one that does not read",
        "SlowPeers.due",
        "self._stalled_ms + read_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms",
    ),
    Mutant(
        "what is unread gives time, in place of what was read",
        "SlowPeers.due",
        "self._stalled_ms + read_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms + unsent_bytes // BYTES_PER_MS_MIN",
    ),
    Mutant(
        "the budget of responses counts what was read meanwhile",
        "SlowPeers.due",
        "self.holds_responses(connection, connection.kept_bytes(unsent_bytes))",
        "pass",
    ),
    Mutant(
        "the budget of requests has no end",
        "SlowPeers.holds_requests",
        "if 0 <= self._request_bytes_max < self._request_bytes_total:",
        "if False:",
    ),
    Mutant(
        "the budget of responses has no end",
        "SlowPeers.holds_responses",
        "if self._unsent_bytes_total > self._unsent_bytes_max:",
        "if False:",
    ),
    Mutant(
        "the smallest holder is closed",
        "_largest",
        "return max(sizes, key=sizes.__getitem__)",
        "return min(sizes, key=sizes.__getitem__)",
    ),
    Mutant(
        "an aborted connection counts until the loop tells of its end",
        "SlowPeers._abort",
        "self.closed(connection)\nconnection.abort(reason)",
        "connection.abort(reason)",
    ),
    Mutant(
        "requests of closed connections count for ever",
        "SlowPeers.closed",
        "self.holds_requests(connection, 0)",
        "pass",
    ),
    Mutant(
        "slow connections are looked at once",
        "SlowPeers.due",
        "if self._request_bytes or self._unsent_bytes:\n    self._watch()",
        "",
    ),
)

ACCEPTING_MUTANTS: Final = (
    Mutant(
        "one connection more than max.connections",
        "ConnectionLimits.room",
        "return self._config[MAX_CONNECTIONS] - len(self._accepted)",
        "return self._config[MAX_CONNECTIONS] - len(self._accepted) + 1",
    ),
    Mutant(
        "a connection that never began counts for ever",
        "Acceptor._not_begun",
        "self._limits.not_begun(connection)",
        "pass",
    ),
    Mutant(
        "a connection that begins after the end is served",
        "Acceptor._begin",
        "if not self._listeners:",
        "if False:",
    ),
    Mutant(
        "connections take the last descriptor",
        "Acceptor._room",
        "return min(room, self._descriptors.room(listening.fileno(), self._limits.accepted_count))",
        "return room",
    ),
    Mutant(
        "one address takes the last connections",
        "Acceptor._accept_from",
        "and room <= self._last_share:",
        "and False:",
    ),
    Mutant(
        "the last connections are for nobody",
        "Acceptor._accept_from",
        "self._limits.accepted_from(address) >= FEW_CONNECTIONS",
        "self._limits.accepted_from(address) >= 0",
    ),
    Mutant(
        "accepting never goes on after a pause",
        "Acceptor._retry_accepting",
        "self._loop.add_reader(sock, self._accept_from, sock)",
        "pass",
    ),
    Mutant(
        "accepting tries on without a pause",
        "Acceptor._pause",
        "for sock in self._listeners:\n    self._loop.remove_reader(sock)",
        "pass",
    ),
    Mutant(
        "each try of a pause is logged",
        "Acceptor._pause",
        "if reason and not self._is_reported:",
        "if reason:",
    ),
    Mutant(
        "the end of a pause is not logged",
        "Acceptor._retry_accepting",
        "if self._loop.time() - self._paused_at >= QUIET_SECONDS:",
        "if False:",
    ),
    Mutant(
        "the rate of new connections is not kept",
        "Acceptor._accept_from",
        "self._rate.consume()",
        "",
    ),
    Mutant(
        "connections have no keepalive",
        "Acceptor._start",
        "accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)",
        "",
    ),
    Mutant(
        "a clock that goes back takes tokens away",
        "ConnectionRate.wait",
        "if passed > 0.0:",
        "if True:",
    ),
    Mutant(
        "a long silence allows any number of connections at once",
        "ConnectionRate.wait",
        "min(self._tokens + passed * self._per_second, self._per_second)",
        "self._tokens + passed * self._per_second",
    ),
    Mutant(
        "the reserve of descriptors is not kept",
        "DescriptorReserve._left_of",
        "return self.connections_max - (lowest_free - self._open_log_files())",
        "return self.limit - (lowest_free - self._open_log_files())",
    ),
    Mutant(
        "files of the logs count as connections",
        "DescriptorReserve._left_of",
        "lowest_free - self._open_log_files()",
        "lowest_free",
    ),
    Mutant(
        "connections take the share of the logs while its files are closed",
        "DescriptorReserve.room",
        "if room <= 0:\n    return room\nif",
        "room = UNBOUNDED\nif",
    ),
    Mutant(
        "near the reserve the number of the last connection is believed",
        "DescriptorReserve.room",
        "self._last_given < self.connections_max - FAR:",
        "self._last_given < self.connections_max:",
    ),
    Mutant(
        "the probe of a descriptor stays open",
        "DescriptorReserve.room",
        "os.close(probe)",
        "",
    ),
    Mutant(
        "no descriptor at all is not noticed",
        "DescriptorReserve.room",
        "if problem.errno in OUT_OF_DESCRIPTORS:\n    return 0",
        "if problem.errno in OUT_OF_DESCRIPTORS:\n    return room",
    ),
    Mutant(
        "IPv4 clients of IPv6 sockets have no overrides",
        "_addresses_of",
        "return {str(info[4][0]).removeprefix(IPV4_MAPPED) for info in found}",
        "return {str(info[4][0]) for info in found}",
    ),
)

TELLING_MUTANTS: Final = (
    Mutant(
        "each closed connection has a line",
        "RejectionLog.rejected",
        "if unreported is not None:",
        "if unreported is not None and unreported.count < 0:",
    ),
    Mutant(
        "the first second of a flood is told twice",
        "RejectionLog.report",
        "self._unreported[client_host] = _Unreported()\n                others",
        "others",
    ),
    Mutant(
        "any number of addresses is kept",
        "RejectionLog.rejected",
        "if len(self._unreported) < ADDRESSES_MAX:",
        "if True:",
    ),
    Mutant(
        "a suspended process is reported",
        "StallMeter.sample",
        "new = min(new, explained)",
        "pass",
    ),
    Mutant(
        "a stall that holds the interpreter is not reported",
        "StallMeter.sample",
        "max(computed + max(loop_waited, own_waited), INTERVAL_SECONDS)",
        "INTERVAL_SECONDS",
    ),
    Mutant(
        "a loop without a processor counts as blocked",
        "StallMeter.sample",
        "self.without_cpu += min(loop_waited, new)",
        "",
    ),
    Mutant(
        "a stall does not end with a turn",
        "StallMeter.sample",
        "self.stalled = self.without_cpu = 0.0",
        "pass",
    ),
)

MUTANTS: Final = (*SLOW_PEERS_MUTANTS, *ACCEPTING_MUTANTS, *TELLING_MUTANTS)
