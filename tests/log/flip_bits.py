"""`make flip-bits`: flips each bit of a data folder in turn, after a clean stop and after a kill (minutes)."""

import sys
from typing import Final

from tests.log.recovery.damaged_folders import Folder, Start, problems, written

FAILURES_SHOWN: Final = 20


def main(step: int = 1) -> int:
    """Try every `step`th bit; return how many broke the promise."""
    failures = 0
    for name, folder in (("clean stop", written(clean=True)), ("kill", written(clean=False))):
        failures += _all_bits(name, folder, step)
    return failures


def _all_bits(name: str, folder: Folder, step: int) -> int:
    whole = Start(folder)
    bits = [(path, at, bit) for path, at in folder.positions() for bit in range(8)][::step]
    failures = 0
    for number, (path, at, bit) in enumerate(bits):
        if found := problems(Start(folder.with_flipped(path, at, bit)), whole, path):
            failures += 1
            if failures <= FAILURES_SHOWN:
                print(f"\r{name}: {path} byte {at} bit {bit}: {'; '.join(found)}")
        if sys.stderr.isatty() and number % 100 == 0:
            print(f"\r{name}: {number} of {len(bits)} bits", end="", file=sys.stderr)
    print(f"\r{name}: {len(bits)} bits of {len(folder.files)} files flipped, {failures} broke the promise")
    return failures


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1) > 0)
