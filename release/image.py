"""`make image-check`: deploy/Containerfile without a container engine, as far as that goes. Needs root and debootstrap.

hadolint reads the file. Its steps are then run in a folder that debootstrap has filled as the base image is: COPY
copies, RUN runs in a chroot. What the last stage holds becomes the root of a server: mounted read-only, with only /data
and /tmp to write to, under the user of the image and without any right of root. Its health command must succeed once
the server serves, and fail once it has stopped. What an engine adds (layers, networks, limits) is not tried.

Environment: IMAGE_CACHE=FOLDER keeps what debootstrap filled.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dockerfile_parse import DockerfileParser

ROOT: Final = Path(__file__).resolve().parent.parent
CONTAINERFILE: Final = ROOT / "deploy" / "Containerfile"
ON_DISK_MB_MAX: Final = 130
PACKED_MB_MAX: Final = 60
IMPORTS: Final = (
    "import cramjam, crc32c, cryptography.hazmat.primitives.serialization.pkcs12, cryptography.x509, greenlet, joserfc,"
    " lz4.block, msgspec, re2, scramp, uvloop, xxhash, zstandard"
)
"""All that is compiled still loads after its symbols were taken away."""
START_SECONDS: Final = 120
STOP_SECONDS: Final = 30
MEGABYTE: Final = 1_000_000
OF_THIS_MACHINE: Final = ("/dev", "/proc", "/etc/resolv.conf", "/etc/hosts")
"""What an engine mounts into a container that is built."""
NETWORK: Final = ("PIP_INDEX_URL", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES: Final = "/run/certificates.of.this.machine"


class Failed(Exception):
    """The file, or the server that it makes, is not as it must be."""


@dataclass
class Stage:
    """What the steps of a stage have made."""

    root: Path
    shell: list[str] = field(default_factory=lambda: ["/bin/sh", "-c"])
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    entry: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def main() -> int:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("image-check: it needs root, and debootstrap (apt-get install debootstrap)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="image-") as scratch:
        try:
            _run(["hadolint", CONTAINERFILE])
            image = build(Path(scratch))
            check_size(image.root)
            check_server(image)
        except (Failed, subprocess.CalledProcessError) as problem:
            print(f"image-check: {problem}", file=sys.stderr)
            return 1
    return 0


def build(scratch: Path) -> Stage:
    """Run all steps. Returns the last stage."""
    with CONTAINERFILE.open("rb") as opened:
        steps = DockerfileParser(fileobj=opened).structure
    stages: dict[str, Stage] = {}
    stage = Stage(scratch)
    for step in steps:
        instruction, value = step["instruction"], step["value"]
        if instruction == "COMMENT":
            continue
        print(f"{instruction} {value[:100]}", flush=True)
        if instruction == "FROM":
            base, _, name = value.partition(" AS ")
            stage = stages[name or "last"] = Stage(scratch / (name or "last"))
            _fill(stage.root, base)
        else:
            _do(stage, stages, instruction, value)
    return stage


def _fill(root: Path, base: str) -> None:
    if base == "scratch":
        root.mkdir()
        return
    suite = base.rpartition(":")[2].removesuffix("-slim")
    cache = Path(os.environ.get("IMAGE_CACHE") or root.parent / "base") / suite
    if not cache.exists():
        part = cache.with_name(f"{suite}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        _run(["debootstrap", "--variant=minbase", suite, part, *_mirror()])
        part.rename(cache)
    _run(["cp", "-a", cache, root])


def _mirror() -> list[str]:
    """The archive that this machine takes its own packages from."""
    for file in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("URIs:") and "debian" in line:
                return [line.split()[1]]
    return []


def _do(stage: Stage, stages: dict[str, Stage], instruction: str, value: str) -> None:
    match instruction:
        case "SHELL":
            stage.shell = json.loads(value)
        case "RUN":
            with _mounted(stage.root, writable=True):
                _run(_inside(stage, [*stage.shell, f"cd {stage.folder} && {value}"], as_user=False))
        case "COPY":
            *sources, target = shlex.split(value)
            origin = ROOT
            if sources[0].startswith("--from="):
                origin = stages[sources.pop(0).removeprefix("--from=")].root
            for source in sources:
                _copy(origin, source.strip("/"), stage.root, target)
        case "WORKDIR":
            stage.folder = value
            (stage.root / value.strip("/")).mkdir(parents=True, exist_ok=True)
        case "ENV":
            stage.environment |= dict(part.split("=", 1) for part in shlex.split(value))
        case "USER":
            stage.user = value
        case "HEALTHCHECK":
            stage.health = json.loads(value.partition("CMD ")[2])
        case "ENTRYPOINT":
            stage.entry = json.loads(value)
        case "CMD":
            stage.arguments = json.loads(value)
        case "EXPOSE" | "VOLUME":
            return  # for an engine
        case other:
            raise Failed(f"{CONTAINERFILE.name}: {other} is not known here")


def _copy(origin: Path, source: str, root: Path, target: str) -> None:
    """As COPY: a folder's contents, or a file below a target that ends with a slash. From here only what git knows."""
    destination = root / target.strip("/")
    if origin != ROOT:
        _run(["cp", "-a", f"{origin / source}/.", destination])
        return
    listed = subprocess.run(["git", "ls-files", "-z", source], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        is_folder = (ROOT / source).is_dir()
        below = Path(name).relative_to(source) if is_folder else Path(name).name if target.endswith("/") else ""
        (destination / below).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, destination / below)


def _inside(stage: Stage, command: list[str], *, as_user: bool) -> list[str]:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **stage.environment}
    if not as_user:
        environment |= {name: os.environ[name] for name in NETWORK if name in os.environ}
        environment |= {"PIP_CERT": CERTIFICATES} if "PIP_CERT" in os.environ else {}
    chroot = ["chroot", *(["--userspec", stage.user] if as_user else []), str(stage.root)]
    # The change of user takes all rights of root away.
    return ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *chroot, *command]


@contextmanager
def _mounted(root: Path, *, writable: bool) -> Iterator[None]:
    """What an engine mounts; if not `writable`, the root read-only, with a /data and a /tmp of their own."""
    mounts: list[Path] = []
    try:
        if not writable:
            _mount(mounts, root, "--bind", root)
            _run(["mount", "-o", "remount,ro,bind", root])
            _mount(mounts, root / "tmp", "-t", "tmpfs", "tmpfs")
            _mount(mounts, root / "data", "-t", "tmpfs", "-o", "uid=10001,gid=10001,mode=700", "tmpfs")
        given = {path: path for path in OF_THIS_MACHINE}
        if "PIP_CERT" in os.environ:
            given[CERTIFICATES] = os.environ["PIP_CERT"]
        for place, source in given.items() if writable else ():
            target = root / place.strip("/")
            if not target.exists():
                target.touch()  # a file: each base has the folders
            _mount(mounts, target, "--bind", source)
        yield
    finally:
        for path in reversed(mounts):
            _run(["umount", path])


def _mount(mounts: list[Path], target: Path, *how: str | Path) -> None:
    _run(["mount", *how, target])
    mounts.append(target)


def check_size(root: Path) -> None:
    """Raises Failed: the image is too large, on disk or packed as engines send it."""
    on_disk = sum(path.lstat().st_size for path in root.rglob("*") if not path.is_symlink()) / MEGABYTE
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as packed:
        with tarfile.open(packed.name, "w:gz") as archive:
            archive.add(root, arcname=".")
        sent = os.path.getsize(packed.name) / MEGABYTE
    print(f"size: {on_disk:.0f} MB on disk, {sent:.0f} MB packed")
    for part in sorted(root.glob("*")) + sorted((root / "app").glob("*")):
        size = sum(path.lstat().st_size for path in part.rglob("*")) / MEGABYTE
        if size > 2 and not part.is_symlink():
            print(f"  {size:5.1f} MB {part.relative_to(root)}")
    if on_disk > ON_DISK_MB_MAX or sent > PACKED_MB_MAX:
        raise Failed(f"the image is larger than {ON_DISK_MB_MAX} MB on disk, or {PACKED_MB_MAX} MB packed")


def check_server(image: Stage) -> None:
    """Raises Failed: the server does not start, does not serve, or is not seen as it is by the health command."""
    with _mounted(image.root, writable=False):
        writing = _inside(image, [image.entry[0], "-c", "open('/app/x', 'w')"], as_user=False)
        if subprocess.run(writing, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            raise Failed("the root can be written to")
        _run(_inside(image, [image.entry[0], "-c", IMPORTS], as_user=True))
        command = _inside(image, [*image.entry, *image.arguments], as_user=True)
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _wait_until_healthy(image, server)
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
            owner = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
            rights = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
            memory = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
            print(f"serves as user {owner}, with the rights {rights}, in {int(memory) / 1000:.0f} MB of memory")
            if owner == "0" or int(rights, 16):
                raise Failed("the server has rights of root")
            _ask(image)
            server.terminate()
            if server.wait(STOP_SECONDS) != 0:
                raise Failed(f"the stop ended with {server.returncode}")
        finally:
            with suppress(ProcessLookupError):
                server.kill()
            assert server.stderr is not None
            print(server.stderr.read(), end="")
        if _is_healthy(image):
            raise Failed("the health command succeeds without a server")
    print("healthy while it served, and not afterwards")


def _wait_until_healthy(image: Stage, server: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_healthy(image):
        if server.poll() is not None or time.monotonic() > deadline:
            raise Failed("the server does not become healthy")
        time.sleep(0.2)


def _is_healthy(image: Stage) -> bool:
    command = _inside(image, image.health, as_user=True)
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _ask(image: Stage) -> None:
    """A client of the image itself: its command, beside the server."""
    listed = _inside(image, [*image.entry, "groups", "list", "--bootstrap", "127.0.0.1:9092"], as_user=True)
    _run(listed)


def _run(command: Sequence[str | Path]) -> None:
    """Raises Failed if the command fails."""
    run = subprocess.run(list(map(str, command)), check=False)
    if run.returncode:
        raise Failed(f"{Path(str(command[0])).name} ended with {run.returncode}: {shlex.join(map(str, command))[:300]}")


if __name__ == "__main__":
    sys.exit(main())
