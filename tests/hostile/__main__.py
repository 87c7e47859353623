"""`make hostile`: each attack against a fresh server, and the table of what everybody else noticed.

SCALE (1) makes all attacks smaller, ONLY (a regular expression) selects some.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.hostile import peers, requests, transactions
from tests.hostile.target import MIB, Target

ATTACKS: Final = (*requests.ATTACKS, *transactions.ATTACKS, *peers.ATTACKS)
BOUND_MS: Final = 50


def main() -> int:
    scale, only = float(os.environ.get("SCALE", "1")), os.environ.get("ONLY", "")
    print(f"{'attack':<62}{'sent':>12}{'memory':>10}{'wait':>10}  the longest waits of others, ms")
    worst = 0.0
    for attack in ATTACKS:
        if not re.search(only, attack.name):
            continue
        with tempfile.TemporaryDirectory() as folder, Target(Path(folder), None, attack.open_files_max) as target:
            harm = attack.play(target, scale)
        worst = max(worst, harm.longest_wait_ms)
        waits = ", ".join(f"{name} {ms:.0f}" for name, ms in harm.waits_ms.items())
        memory = f"{harm.memory_bytes / MIB:.0f} MiB"
        print(
            f"{attack.name:<62}{harm.sent_bytes:>10,} B{memory:>10}{harm.longest_wait_ms:>7.0f} ms  {waits}", flush=True
        )
    print(f"the longest wait: {worst:.0f} ms, wanted {BOUND_MS}")
    return worst > BOUND_MS


if __name__ == "__main__":
    sys.exit(main())
