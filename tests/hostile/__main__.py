"""`make hostile`: each attack against a fresh server, and the table of what everybody else noticed.

A wait is what a well-behaved client noticed, by the clock. A turn is the longest of the server's event loop, in
processor time, which other programs on the machine hardly change. An attack may also take so much memory and no more
(`Attack.memory_max`). SCALE (1) makes all attacks smaller, ONLY (a regular
expression) selects some. At a node in front of a Kafka the bound is for what the node answers itself.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.differential.kafka import KafkaMissing
from tests.hostile import (
    acls,
    answers,
    consumer_groups,
    logins,
    nodes,
    peers,
    requests,
    share_groups,
    streams_groups,
    tls,
    transactions,
)
from tests.hostile.target import MIB

ATTACKS: Final = (
    *requests.ATTACKS,
    *consumer_groups.ATTACKS,
    *share_groups.ATTACKS,
    *streams_groups.ATTACKS,
    *transactions.ATTACKS,
    *peers.ATTACKS,
    *tls.ATTACKS,
    *logins.ATTACKS,
    *acls.ATTACKS,
    *answers.ATTACKS,
    *nodes.ATTACKS,
)
BOUND_MS: Final = 50


def main() -> int:
    if len(sys.argv) > 1:
        sys.exit(f"{sys.argv[1]}: takes no arguments; choose by the environment: SCALE=0.1 ONLY='a regular expression'")
    scale, only = float(os.environ.get("SCALE", "1")), os.environ.get("ONLY", "")
    print(f"{'attack':<66}{'sent':>15}{'memory':>10}{'turn':>10}{'wait':>10}  the longest waits of others, ms")
    longest_wait_ms = longest_turn_ms = 0.0
    too_large: list[str] = []
    for attack in ATTACKS:
        if not re.search(only, attack.name):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder, attack.target_in(Path(folder)) as target:
                harm = attack.play(target, scale)
        except KafkaMissing as missing:
            print(f"{attack.name:<66}left out: {missing}", flush=True)
            continue
        longest_wait_ms = max(longest_wait_ms, harm.longest_wait_ms)
        longest_turn_ms = max(longest_turn_ms, harm.longest_turn_ms)
        waits = ", ".join(f"{name} {ms:.0f}" for name, ms in harm.waits_ms.items())
        memory = f"{harm.memory_bytes / MIB:.0f} MiB"
        times = f"{harm.longest_turn_ms:>7.0f} ms{harm.longest_wait_ms:>7.0f} ms"
        print(f"{attack.name:<66}{harm.sent_bytes:>13,} B{memory:>10}{times}  {waits}", flush=True)
        if harm.memory_bytes > attack.memory_max:
            too_large.append(f"{attack.name}: {memory}, at most {attack.memory_max / MIB:.0f}")
    print(f"the longest wait: {longest_wait_ms:.0f} ms, the longest turn: {longest_turn_ms:.0f} ms; wanted {BOUND_MS}")
    for line in too_large:
        print(f"too much memory: {line}")
    return longest_wait_ms > BOUND_MS or bool(too_large)


if __name__ == "__main__":
    sys.exit(main())
