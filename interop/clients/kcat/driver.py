"""The driver of kcat: each member is a process `kcat -G`, whose standard error tells of its partitions.

kcat commits by itself or not at all, never when it is asked to, and has one subscription for its lifetime.
"""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "_python"))

from contract import LOGINS, TLS, Member, emit, librdkafka_security, run

CAN = {"pattern", "static", "range", "roundrobin", "cooperative-sticky", *TLS, *LOGINS} - {"oauthbearer"}
LACKS = {"commit"}
REBALANCED = re.compile(r"^% Group \S+ rebalanced.*?(assigned|assignment|revoked|revoke|lost).*?: ?(.*)$")
PARTITION = re.compile(r"(\S+) \[(\d+)\]")
ERROR = re.compile(r"^% (?:ERROR|FATAL)[^:]*: (.*)$")
EXIT_SECONDS = 20
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


def end_with_parent():
    """Have the kernel kill this process when its parent ends: a killed driver is to look like a crashed process."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class KcatMember(Member):
    def __init__(self, name, options):
        """Start kcat: here and not in a thread of its own, whose end the kernel would take for that of the parent."""
        super().__init__(name, options)
        self.last_error = ""
        self.process = subprocess.Popen(
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=end_with_parent,  # noqa: PLW1509 (it only calls the kernel)
        )
        self.says = threading.Thread(target=self.follow_errors, daemon=True)
        self.reads = threading.Thread(target=self.follow_records, daemon=True)

    def command(self):
        options = self.options
        settings = {
            "client.id": options.get("client_id") or self.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "session.timeout.ms": options.get("session_timeout_ms", 10_000),
            "heartbeat.interval.ms": options.get("heartbeat_interval_ms", 500),
            "max.poll.interval.ms": max(options.get("max_poll_interval_ms", 300_000), 60_000),
            "topic.metadata.refresh.interval.ms": min(options.get("metadata_max_age_ms", 300_000), 300_000),
            "partition.assignment.strategy": ",".join(options.get("assignors", ["range"])),
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
        }
        if options.get("instance_id"):
            settings["group.instance.id"] = options["instance_id"]
        settings.update(librdkafka_security(options.get("security")))
        given = [part for key, value in settings.items() for part in ("-X", f"{key}={value}")]
        topics = ["^" + options["pattern"].lstrip("^")] if options.get("pattern") else options["topics"]
        # -u: each record is written at once; -E: it goes on when a broker is not there for a while.
        return ["kcat", "-b", options["bootstrap"], "-G", options["group"], "-J", "-u", "-E", *given, *topics]

    def open(self):
        self.says.start()
        self.reads.start()

    def follow_errors(self):
        for line in self.process.stderr:
            rebalanced = REBALANCED.match(line.strip())
            if rebalanced:
                self.rebalanced(
                    rebalanced[1], [(topic, int(index)) for topic, index in PARTITION.findall(rebalanced[2])]
                )
            elif ERROR.match(line.strip()):
                self.last_error = ERROR.match(line.strip())[1]
            if not rebalanced:
                sys.stderr.write(line)

    def rebalanced(self, kind, partitions):
        if kind.startswith("assign"):
            self.has_assigned(partitions)
        elif kind == "lost":
            self.has_lost(partitions)
        else:
            self.has_revoked(partitions)

    def follow_records(self):
        for line in self.process.stdout:
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            topic, index, offset = record["topic"], str(record["partition"]), record["offset"]
            then = {topic: {index: offset + 1}}
            emit("records", member=self.name, positions=then, count=1, **{"from": {topic: {index: offset}}})

    def poll(self, seconds):
        """kcat polls by itself; here it is noticed when it has ended."""
        time.sleep(seconds)
        if self.process.poll() is not None:
            self.says.join(EXIT_SECONDS)
            raise RuntimeError(self.last_error or f"kcat has ended (exit status {self.process.returncode})")
        return [], 0

    def subscribe(self, topics):
        raise NotImplementedError("kcat does not change its subscription")

    def commit(self):
        raise NotImplementedError("kcat does not commit when it is asked to")

    def close(self, reason):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(EXIT_SECONDS)
        self.says.join(EXIT_SECONDS)

    def is_fatal(self, problem):
        return isinstance(problem, RuntimeError)


def version():
    shown = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
    kcat, librdkafka = re.search(r"Version (\S+) .*?librdkafka (\S+)", shown).groups()
    return f"{kcat} (librdkafka {librdkafka})"


run("kcat", version(), CAN, KcatMember, LACKS)
