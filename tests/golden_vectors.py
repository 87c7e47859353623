"""The vectors recorded from Apache Kafka; GOLDEN_DIR names another folder to take them from."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

GOLDEN_DIR = Path(os.environ.get("GOLDEN_DIR", Path(__file__).parent / "golden"))


def golden_path(name: str) -> Path:
    """The file of a vector set, `wire/_batches.jsonl.gz` for one."""
    return GOLDEN_DIR / name


def golden_vectors(name: str) -> list[dict[str, Any]]:
    """The lines of a gzipped JSON lines file."""
    with gzip.open(golden_path(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
