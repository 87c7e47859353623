"""What all Python drivers have in common: commands from stdin, events to stdout, a thread per member.

A driver implements `Member` and calls `run`. It must work with the oldest Python of any client, and imports nothing but
the standard library.
"""

import json
import logging
import queue
import sys
import threading
import time
import traceback

POLL_SECONDS = 0.1

TLS = {"ssl", "ssl-client-auth"}
LOGINS = {"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}

_output_lock = threading.Lock()


def emit(event, **fields):
    """Write one event."""
    with _output_lock:
        sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
        sys.stdout.flush()


def librdkafka_security(security):
    """The settings of librdkafka for the field `security` of a command, but for tokens."""
    if not security:
        return {}
    settings = {
        "security.protocol": security["protocol"].lower(),
        "ssl.ca.location": security["ca"],
        "ssl.certificate.location": security.get("certificate"),
        "ssl.key.location": security.get("key"),
        "sasl.mechanism": security.get("mechanism"),
        "sasl.username": security.get("username"),
        "sasl.password": security.get("password"),
    }
    return {name: value for name, value in settings.items() if value}


def by_topic(partitions):
    """(topic, index) pairs as topic → indexes."""
    topics = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics


def positions_by_topic(positions):
    """((topic, index), offset) pairs as topic → index → offset."""
    topics = {}
    for (topic, index), offset in positions:
        topics.setdefault(topic, {})[str(index)] = offset
    return topics


class Member(threading.Thread):
    """A consumer on a thread of its own: all its methods are called there.

    Methods that a client fills in: `open`, `poll`, `idle`, `subscribe`, `commit`, `close`.
    """

    def __init__(self, name, options):
        super().__init__(daemon=True, name=name)
        self.name = name
        self.options = options
        self.commands = queue.Queue()
        self.is_paused = False
        self.is_over = False

    def open(self):
        """Make the consumer and subscribe."""
        raise NotImplementedError

    def poll(self, seconds):
        """Call poll; return (topic, index, first offset, last offset) of each run, and the number of records."""
        raise NotImplementedError

    def idle(self, seconds):
        """Pass the time without a poll; what the client does by itself goes on."""
        time.sleep(seconds)

    def subscribe(self, topics):
        raise NotImplementedError

    def commit(self):
        """Commit the positions; return ((topic, index), offset) pairs."""
        raise NotImplementedError

    def acknowledge(self, command):
        """Acknowledge records of a share group, as the command says."""
        raise NotImplementedError

    def close(self, reason):
        raise NotImplementedError

    def is_fatal(self, problem):
        """Whether the consumer can do nothing more after this exception."""
        return False

    def has_assigned(self, partitions):
        self._report("assigned", partitions)

    def has_revoked(self, partitions):
        self._report("revoked", partitions)

    def has_lost(self, partitions):
        self._report("lost", partitions)

    def _report(self, event, partitions):
        emit(event, member=self.name, partitions=by_topic(partitions), time_ms=int(time.time() * 1000))

    def run(self):
        if not self._attempt("start", self.open):
            return
        while not self.is_over:
            self._handle_commands()
            if self.is_over:
                return
            if self.is_paused:
                self.idle(POLL_SECONDS)
            else:
                self._attempt("poll", self._poll)

    def _poll(self):
        runs, count = self.poll(POLL_SECONDS)
        if count:
            first = positions_by_topic(((topic, index), first) for topic, index, first, _ in runs)
            then = positions_by_topic(((topic, index), last + 1) for topic, index, _, last in runs)
            emit("records", member=self.name, positions=then, **{"from": first}, count=count)

    def _handle_commands(self):
        while not self.commands.empty():
            command = self.commands.get()
            do = command["do"]
            if do == "pause":
                self.is_paused = True
            elif do == "resume":
                self.is_paused = False
            elif do == "subscribe":
                self._attempt("subscribe", lambda command=command: self.subscribe(command["topics"]))
            elif do == "commit":
                self._attempt("commit", self._commit)
            elif do == "acknowledge":
                self._attempt("acknowledge", lambda command=command: self.acknowledge(command))
            elif do == "leave":
                self.is_over = True
                if self._attempt("leave", lambda command=command: self.close(command.get("reason"))):
                    emit("left", member=self.name)
            else:
                emit("failed", member=self.name, during=do, error="unknown command", message=do, fatal=False)

    def _commit(self):
        emit("committed", member=self.name, positions=positions_by_topic(self.commit()))

    def _attempt(self, during, action):
        try:
            action()
            return True
        except Exception as problem:
            fatal = during == "start" or self.is_fatal(problem)
            self.is_over = self.is_over or fatal
            message = str(problem) or traceback.format_exc()
            emit("failed", member=self.name, during=during, error=type(problem).__name__, message=message, fatal=fatal)
            return False


def run(client, version, can, member_class, lacks=()):
    """Serve commands until stdin ends. What the client logs as an error goes to stderr."""
    logging.basicConfig(level=logging.ERROR, format="%(name)s %(message)s")
    emit("ready", client=client, version=version, can=sorted(can), lacks=sorted(lacks))
    members = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command["member"]
        if command["do"] == "start":
            members[name] = member_class(name, command)
            members[name].start()
        elif name in members:
            members[name].commands.put(command)
        else:
            emit("failed", member=name, during=command["do"], error="unknown member", message=name, fatal=False)
