"""Writes docs/streams-cases.md: plays each case with Kafka Streams 4.3.1 (two minutes; Java and Maven)."""

import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.streams_cases import CASES, StreamsCase, played  # noqa: E402
from tests.eos.java_programs import VERSION, ProgramsMissing  # noqa: E402

PAGE: Final = ROOT / "docs" / "streams-cases.md"
HEAD: Final = f"""# What is told of streams groups

Played with Kafka Streams {VERSION}, `group.protocol=streams`; `make streams-cases` makes this page. What is asserted is
in [`tests/e2e/streams_cases.py`](../tests/e2e/streams_cases.py). ✓: what is told has all of that. Below it is the
story of the last rebalance, and what is found or noted beside it. Times of day are those of the run.

"""


def section(name: str, case: StreamsCase) -> str:
    with tempfile.TemporaryDirectory(prefix="streams-case-") as folder, played(case, Path(folder)) as scene:
        text, lines = scene.told(), scene.told_last()
    missing = [said for said in case.says if said not in text]
    mark = "✓" if not missing else f"✗ (not told: {', '.join(missing)})"
    print(f"{mark} {name}", file=sys.stderr)
    return f"## {name.capitalize()} {mark}\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def main() -> int:
    try:
        sections = [section(name, case) for name, case in CASES.items()]
    except ProgramsMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    PAGE.write_text(HEAD + "\n".join(sections), encoding="utf-8")
    return int(any("✗" in text for text in sections))


if __name__ == "__main__":
    sys.exit(main())
