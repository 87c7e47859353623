import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path

from tests.differential.transactions.pair import TransactionComparison, running_pair
from tests.differential.transactions.play import TransactionHistory
from tests.differential.transactions.steps import transaction_step_from_json

p = argparse.ArgumentParser()
p.add_argument("--histories", type=int, default=100)
p.add_argument("--seed", type=int, default=1)
p.add_argument("--restarts", action="store_true")
p.add_argument("--noconfirm", action="store_true")
p.add_argument("--play", type=Path)
a = p.parse_args()
t = time.monotonic()
with tempfile.TemporaryDirectory() as f, running_pair(Path(f)) as pair:

    async def main():
        c = TransactionComparison(pair, restarts=a.restarts)
        if a.play:
            steps = [
                transaction_step_from_json(json.loads(l)) for l in a.play.read_text().splitlines() if l.startswith("{")
            ]
            hs = [await c.retell(TransactionHistory(0, steps))]
        else:
            hs = await c.random_histories(range(a.seed, a.seed + a.histories))
        n = 0
        for h in hs:
            if h.difference:
                n += 1
                if n <= 8 and not a.noconfirm:
                    h = await c.confirm(h)
                print(f"\nDIFFERENCE seed {h.seed} {h.difference[:400]}")
                if not a.noconfirm and n <= 8:
                    Path(f"/tmp/w/tmp-txns/diff-{h.seed}.txt").write_text(
                        "\n".join(json.dumps(s.as_json()) for s in h.steps)
                    )
                    print(
                        len(h.steps),
                        *(
                            f"{s.as_json().get('on')}:{s.as_json().get('api')}v{s.as_json().get('version')}"
                            for s in h.steps[-12:]
                        ),
                    )
        print(
            len(hs),
            "histories",
            sum(len(h.steps) for h in hs),
            "steps",
            n,
            "differ",
            c.restarts.count,
            "restarts",
            sum(h.attempts - 1 for h in hs),
            "again",
            sum(not h.steps for h in hs),
            "given up",
        )

    asyncio.run(main())
print(f"{time.monotonic() - t:.0f} s")
