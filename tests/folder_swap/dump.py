"""Kafka's DumpLogSegments over the files of a data folder."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coordinator.pipeline.java import require_java
from tests.differential.kafka import kafka_jars

TOOL: Final = "org.apache.kafka.tools.DumpLogSegments"
WAYS: Final = (
    (".log", ("--deep-iteration", "--print-data-log")),
    (".index", ("--index-sanity-check",)),
    (".index", ("--deep-iteration",)),
    (".timeindex", ("--index-sanity-check",)),
    (".timeindex", ("--deep-iteration",)),
    (".txnindex", ()),
    (".snapshot", ()),
)
COMPLAINT: Final = re.compile(
    r"exception|index timestamp|corrupt|not match|could not|invalid bytes|\bfailed\b|isvalid: false|out of order",
    re.IGNORECASE,
)
GAPS_IN: Final = "Non-consecutive offsets in "
GAP: Final = re.compile(r"\s*(-?\d+) is followed by (\d+)")
EMPTY_BATCH: Final = re.compile(r"Index timestamp: \d+, log timestamp: -1$")
"""The entry of a batch without records, which a cleaning keeps for the sequence of its producer: the tool looks for the
largest timestamp of its records. It says so of such batches in Kafka's own segments, too."""
BEGIN: Final = "-1"
"""What the tool takes for the offset before each segment, so that it names a gap before the first record."""
TOOL_SECONDS: Final = 300


@dataclass(slots=True)
class Dumped:
    """What the tool has read, and what it had to say."""

    files: int = 0
    records: int = 0
    complaints: list[str] = field(default_factory=list)


def dump(roots: list[Path], compacted: frozenset[str]) -> Dumped:
    """Run the tool over all files of all partitions. Topics that are `compacted` may have gaps."""
    dumped = Dumped()
    for suffix, options in WAYS:
        files = sorted(path for root in roots for path in root.glob(f"*-[0-9]*/*{suffix}") if _is_of_a_partition(path))
        if not files:
            continue
        # Each file once: a file that is checked in two ways counts once.
        dumped.files += len(files) if options != ("--index-sanity-check",) else 0
        command = [
            str(require_java()),
            "-Xmx512m",
            "-cp",
            f"{kafka_jars()}/*",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
        ]
        command += [TOOL, *options, "--files", ",".join(map(str, files))]
        ran = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=TOOL_SECONDS
        )
        if ran.returncode:
            dumped.complaints.append(f"{suffix}: exit code {ran.returncode}: {ran.stdout[-300:]}")
        _read(ran.stdout, dumped, compacted)
    return dumped


def _read(output: str, dumped: Dumped, compacted: frozenset[str]) -> None:
    gaps_in = ""
    for line in output.splitlines():
        dumped.records += line.startswith("| offset:")
        if line.startswith(GAPS_IN):
            gaps_in = line.removeprefix(GAPS_IN)
        elif gap := GAP.fullmatch(line):
            may_have_gaps = Path(gaps_in).parent.name.rpartition("-")[0] in compacted
            if gap[1] != BEGIN and not may_have_gaps:
                dumped.complaints.append(f"{gaps_in}: {line.strip()}")
        elif EMPTY_BATCH.search(line):
            continue
        elif COMPLAINT.search(line.partition(" payload: ")[0]):
            dumped.complaints.append(line[:300])


def _is_of_a_partition(path: Path) -> bool:
    return not path.parent.name.startswith("__cluster_metadata") and path.stat().st_size > 0
