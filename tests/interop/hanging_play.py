"""A play that hangs, with a process of its own that does too."""

import os
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(os.environ["HANGING_PLAY_PIDS"]).write_text(f"{os.getpid()} {child.pid}", encoding="ascii")
    child.wait()
