"""Mutants of the server's edge: who is accepted, who is closed, what is said of it."""

from typing import Final

from tests.mutations.mutant import Mutant

ACCEPTOR: Final = "coordinator/server/acceptor.py"
DESCRIPTORS: Final = "coordinator/server/descriptors.py"
LIMITS: Final = "coordinator/server/limits.py"
RATE: Final = "coordinator/server/connection_rate.py"
REJECTION_LOG: Final = "coordinator/server/rejection_log.py"
SLOW_PEERS: Final = "coordinator/server/slow_peers.py"
WATCHDOG: Final = "coordinator/server/watchdog.py"

SLOW_PEERS_MUTANTS: Final = (
    Mutant(
        "a request may stay unfinished for ever",
        SLOW_PEERS,
        "if begun_ms and now_ms - begun_ms >",
        "if begun_ms and 0 >",
    ),
    Mutant(
        "a large request has no more time than a small one",
        SLOW_PEERS,
        "self._stalled_ms + size_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms",
    ),
    Mutant(
        "each byte of a request renews its time",
        SLOW_PEERS,
        "self._stalled_ms + size_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms + size_bytes * 1000",
    ),
    Mutant(
        "responses may stay unread for ever",
        SLOW_PEERS,
        "if now_ms - connection.congested_ms >",
        "if 0 >",
    ),
    Mutant(
        "a client that reads slowly has no more time than one that does not read",
        SLOW_PEERS,
        "self._stalled_ms + read_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms",
    ),
    Mutant(
        "what is unread gives time, in place of what was read",
        SLOW_PEERS,
        "self._stalled_ms + read_bytes // BYTES_PER_MS_MIN",
        "self._stalled_ms + unsent_bytes // BYTES_PER_MS_MIN",
    ),
    Mutant(
        "the budget of responses counts what was read meanwhile",
        SLOW_PEERS,
        "                self.holds_responses(connection, unsent_bytes)\n",
        "                pass\n",
    ),
    Mutant(
        "the budget of requests has no end",
        SLOW_PEERS,
        "if 0 <= self._request_bytes_max < self._request_bytes_total:",
        "if False:",
    ),
    Mutant(
        "the budget of responses has no end",
        SLOW_PEERS,
        "if self._unsent_bytes_total > self._unsent_bytes_max:",
        "if False:",
    ),
    Mutant(
        "the smallest holder is closed",
        SLOW_PEERS,
        "return max(sizes, key=sizes.__getitem__)",
        "return min(sizes, key=sizes.__getitem__)",
    ),
    Mutant(
        "an aborted connection counts until the loop tells of its end",
        SLOW_PEERS,
        "        self.closed(connection)\n        connection.abort(reason)\n",
        "        connection.abort(reason)\n",
    ),
    Mutant(
        "requests of closed connections count for ever",
        SLOW_PEERS,
        "        self.holds_requests(connection, 0)\n        self.holds_responses(connection, 0)\n",
        "        self.holds_responses(connection, 0)\n",
    ),
    Mutant(
        "slow connections are looked at once",
        SLOW_PEERS,
        "        if self._request_bytes or self._unsent_bytes:\n            self._watch()\n",
        "",
    ),
)

ACCEPTING_MUTANTS: Final = (
    Mutant(
        "one connection more than max.connections",
        LIMITS,
        "return self.most - len(self._accepted)",
        "return self.most - len(self._accepted) + 1",
    ),
    Mutant(
        "a connection that never began counts for ever",
        ACCEPTOR,
        "                self._limits.not_begun(connection)\n",
        "                pass\n",
    ),
    Mutant(
        "a connection that begins after the end is served",
        ACCEPTOR,
        "if transport is not None and not self._listeners:",
        "if False:",
    ),
    Mutant(
        "connections take the last descriptor",
        ACCEPTOR,
        "return min(room, self._descriptors.room(listening.fileno(), self._limits.accepted_count))",
        "return room",
    ),
    Mutant(
        "one address takes the last connections",
        ACCEPTOR,
        "if room <= self._last_share and",
        "if False and",
    ),
    Mutant(
        "the last connections are for nobody",
        ACCEPTOR,
        "self._limits.accepted_from(address) >= FEW_CONNECTIONS:",
        "self._limits.accepted_from(address) >= 0:",
    ),
    Mutant(
        "accepting never goes on after a pause",
        ACCEPTOR,
        "                self._loop.add_reader(sock, self._accept_from, sock)\n        if self._told:",
        "                pass\n        if self._told:",
    ),
    Mutant(
        "accepting tries on without a pause",
        ACCEPTOR,
        "            for sock in self._listeners:\n                self._loop.remove_reader(sock)\n        self._look",
        "        self._look",
    ),
    Mutant(
        "each try of a pause is logged",
        ACCEPTOR,
        "if reason and not self._told:",
        "if reason:",
    ),
    Mutant(
        "the end of a pause is not logged",
        ACCEPTOR,
        "if self._loop.time() - self._paused_at >= QUIET_SECONDS:",
        "if False:",
    ),
    Mutant(
        "the rate of new connections is not kept",
        ACCEPTOR,
        "            self._rate.take()\n",
        "",
    ),
    Mutant(
        "connections have no keepalive",
        ACCEPTOR,
        "            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n",
        "",
    ),
    Mutant(
        "a clock that goes back takes tokens away",
        RATE,
        "max(now - self._filled_at, 0.0)",
        "(now - self._filled_at)",
    ),
    Mutant(
        "a long silence allows any number of connections at once",
        RATE,
        "min(self._tokens + new, self._per_second)",
        "self._tokens + new",
    ),
    Mutant(
        "the reserve of descriptors is not kept",
        DESCRIPTORS,
        "return min(room, self.connections_max - (probe - self._open_log_files()))",
        "return min(room, self.limit - (probe - self._open_log_files()))",
    ),
    Mutant(
        "files of the logs count as connections",
        DESCRIPTORS,
        "probe - self._open_log_files()",
        "probe",
    ),
    Mutant(
        "connections take the share of the logs while its files are closed",
        DESCRIPTORS,
        "        if room <= 0:\n            return room\n        try:",
        "        room = UNBOUNDED\n        try:",
    ),
    Mutant(
        "the probe of a descriptor stays open",
        DESCRIPTORS,
        "        os.close(probe)\n",
        "",
    ),
    Mutant(
        "no descriptor at all is not noticed",
        DESCRIPTORS,
        "            if problem.errno in OUT_OF_DESCRIPTORS:\n                return 0\n",
        "            if problem.errno in OUT_OF_DESCRIPTORS:\n                return room\n",
    ),
    Mutant(
        "IPv4 clients of IPv6 sockets have no overrides",
        LIMITS,
        "    return {str(each[4][0]).removeprefix(IPV4_MAPPED) for each in found}\n",
        "    return {str(each[4][0]) for each in found}\n",
    ),
)

TELLING_MUTANTS: Final = (
    Mutant(
        "each closed connection has a line",
        REJECTION_LOG,
        "        if untold is not None:\n",
        "        if untold is not None and untold.count < 0:\n",
    ),
    Mutant(
        "the first second of a flood is told twice",
        REJECTION_LOG,
        "                self._untold[client_host] = _Untold()\n                others",
        "                others",
    ),
    Mutant(
        "any number of addresses is kept",
        REJECTION_LOG,
        "if len(self._untold) < ADDRESSES_MAX:",
        "if True:",
    ),
    Mutant(
        "a suspended process is reported",
        WATCHDOG,
        "            new = min(new, explained)\n",
        "            pass\n",
    ),
    Mutant(
        "a stall that holds the interpreter is not reported",
        WATCHDOG,
        "max(computed + max(loop_waited, own_waited), INTERVAL_SECONDS)",
        "INTERVAL_SECONDS",
    ),
    Mutant(
        "a loop without a processor counts as blocked",
        WATCHDOG,
        "        self.without_cpu += min(loop_waited, new)\n",
        "",
    ),
    Mutant(
        "a stall does not end with a turn",
        WATCHDOG,
        "            self.stalled = self.without_cpu = 0.0\n        new",
        "            pass\n        new",
    ),
)

MUTANTS: Final = (*SLOW_PEERS_MUTANTS, *ACCEPTING_MUTANTS, *TELLING_MUTANTS)
