"""What a check of a folder in order finds: nothing."""

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.files import DiskFileSystem
from coordinator.log.recovery.verify import Verifier


def test_a_log_that_was_not_opened_since_a_kill_is_no_problem(tmp_path):
    root = tmp_path / "data"
    directory = LogDirectory.open(root, boot_id="one")
    directory.open_log("empty", 0, LogConfig())
    directory.close(clean=False)
    LogDirectory.open(root, boot_id="one").close()
    assert "empty 0 1" in (root / "unrecovered-checkpoint").read_text(encoding="ascii").splitlines()
    assert list(Verifier(DiskFileSystem(), root, None).run()) == []
