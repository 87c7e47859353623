"""All conversations on a real Kafka and on our server: `python -m tests.differential.logins [--record] [NAME …]`."""

import argparse
import json
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from tests.differential.kafka import KafkaMissing
from tests.differential.logins.conversations import CONVERSATIONS, KAFKA_FAILS
from tests.differential.logins.servers import RECORDED, hold, make_keys, running_kafka, running_server


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.logins", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these conversations")
    parser.add_argument("--record", action="store_true", help="keep what Kafka said for `make test`")
    arguments = parser.parse_args()
    chosen = [
        conversation for conversation in CONVERSATIONS if not arguments.names or conversation.name in arguments.names
    ]
    keys = make_keys()
    with tempfile.TemporaryDirectory(prefix="logins-") as folder:
        root = Path(folder)
        (root / "kafka").mkdir()
        (root / "ours").mkdir()
        try:
            with running_kafka(root / "kafka", keys) as addresses:
                expected = hold(addresses, keys, chosen)
        except KafkaMissing as missing:
            print(missing, file=sys.stderr)
            return 2
        with running_server(root / "ours", keys) as addresses:
            found = hold(addresses, keys, chosen)
    different = [name for name in expected if (expected[name] == found[name]) is (name in KAFKA_FAILS)]
    for name in different:
        print(f"\nDIFFERENCE in {name}:")
        for kafka, ours in zip_longest(expected[name], found[name], fillvalue="(nothing)"):
            print(f"  {kafka}" if kafka == ours else f"  Kafka: {kafka}\n  ours:  {ours}")
    if arguments.record:
        RECORDED.write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\n{len(expected)} conversations, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
