"""Runs a target under atheris (libFuzzer): its seeds, its limits, and how libFuzzer learns that an input was news.

The code under test is compiled and carries no coverage counters. What tells inputs apart is what became of them: which
message, which version, and where it was refused. Each such outcome is a counter of its own, so an input that gets one
field further than all before it is kept and built upon.
"""

import ctypes
import hashlib
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

WORK = Path(os.environ.get("FUZZ_DIR", Path(__file__).parents[2] / ".fuzz"))
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
INPUT_BYTES_MAX = 2_048
MEMORY_MB_MAX = 1_024
INPUT_SECONDS_MAX = 5
OUTCOMES = 1 << 16
NUMBER = re.compile(r"-?\b(0x)?[0-9a-f]*\d[0-9a-f]*\b")
LIBFUZZER = "atheris.core_with_libfuzzer"


class Outcomes:
    """Counters that libFuzzer reads after each input and then sets to 0."""

    def __init__(self) -> None:
        library = ctypes.CDLL(str(import_module(LIBFUZZER).__file__))
        self.counters = (ctypes.c_uint8 * OUTCOMES)()
        addresses = (ctypes.c_uint64 * (2 * OUTCOMES))()  # a table of (program counter, flags), one per counter
        for i in range(OUTCOMES):
            addresses[2 * i] = i + 1
        self.addresses = addresses
        register(library, "__sanitizer_cov_8bit_counters_init", self.counters)
        register(library, "__sanitizer_cov_pcs_init", addresses)

    def saw(self, outcome: str) -> None:
        """Numbers in it do not count: the third element fails as the second one does."""
        self.counters[zlib.crc32(NUMBER.sub("", outcome).encode()) % OUTCOMES] = 1


def register(library: ctypes.CDLL, function: str, array: "ctypes.Array[Any]") -> None:
    start = ctypes.addressof(array)
    library[function](ctypes.c_void_p(start), ctypes.c_void_p(start + ctypes.sizeof(array)))


def replay(one_input: Callable[[bytes, Callable[[str], None]], None], corpus: Path) -> None:
    outcomes: set[str] = set()
    inputs = sorted(corpus.iterdir())
    for path in inputs:
        one_input(path.read_bytes(), outcomes.add)
    print(f"{len(inputs)} inputs, {len(outcomes)} outcomes")


def fuzz(name: str, one_input: Callable[[bytes, Callable[[str], None]], None], seeds: Iterable[bytes]) -> None:
    """Run `one_input(data, saw)` for FUZZ_SECONDS. What it raises ends the run, and the input is kept in FUZZ_DIR.

    With the argument `replay`, run it once for each input that was kept before, in this process and without libFuzzer.
    """
    corpus = WORK / name
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        if len(seed) <= INPUT_BYTES_MAX:
            (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    if sys.argv[1:] == ["replay"]:
        replay(one_input, corpus)
        return
    options = {
        "max_total_time": SECONDS,
        "max_len": INPUT_BYTES_MAX,
        "timeout": INPUT_SECONDS_MAX,
        "rss_limit_mb": MEMORY_MB_MAX,
        "print_final_stats": 1,
        "artifact_prefix": f"{WORK}/{name}-",
    }
    given = [f"-{option}={value}" for option, value in options.items()]
    import atheris  # here, so that a test may try a target without it

    outcomes = Outcomes()
    atheris.Setup([sys.argv[0], *given, *sys.argv[1:], str(corpus)], lambda data: one_input(data, outcomes.saw))
    atheris.Fuzz()
