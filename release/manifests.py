"""`make manifests-check`: the manifests of Kubernetes against its schemas, which kubernetes-validate ships, and the
units of systemd by systemd-analyze, if it is there."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import kubernetes_validate
import yaml

DEPLOY: Final = Path(__file__).resolve().parent.parent / "deploy"
KUBERNETES: Final = ("1.30", "1.33", kubernetes_validate.latest_version())
"""Old enough to be no longer supported, and the newest."""
COMMAND: Final = "/opt/coordinator/bin/coordinator"


def main() -> int:
    problems = [*_of_kubernetes(), *_of_systemd()]
    for problem in problems:
        print(f"manifests-check: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _of_kubernetes() -> list[str]:
    problems = []
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            for version in KUBERNETES:
                try:
                    kubernetes_validate.validate(manifest, version, strict=True)
                except kubernetes_validate.ValidationError as problem:
                    problems.append(f"{path.name}: {manifest['kind']}, Kubernetes {version}: {problem.message}")
            print(f"{path.name}: {manifest['kind']} checked for Kubernetes {', '.join(KUBERNETES)}")
    return problems


def _of_systemd() -> list[str]:
    if shutil.which("systemd-analyze") is None:
        print("systemd-analyze is missing: the units are not checked")
        return []
    with tempfile.TemporaryDirectory() as folder:
        for unit in (DEPLOY / "systemd").iterdir():
            # The command is checked to exist, and it does not where nothing is installed.
            text = unit.read_text(encoding="utf-8").replace(COMMAND, sys.executable)
            Path(folder, unit.name).write_text(text, encoding="utf-8")
        units = sorted(map(str, Path(folder).iterdir()))
        run = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    print(f"{len(units)} units checked by systemd-analyze")
    return run.stderr.splitlines() or ([] if run.returncode == 0 else ["systemd-analyze verify failed"])


if __name__ == "__main__":
    sys.exit(main())
