"""Build of the compiled half: message modules from their definitions, then an extension beside every .pyx.

    python setup.py build_ext --inplace --build-lib build/inplace -j2                  # what `make build` does
    COMPILE_TESTS=1 python setup.py build_ext --inplace --build-lib build/inplace -j2  # for tests and benchmarks too

The build is incremental: a definition that did not change leaves its module as it is, and an unchanged .pyx is not
compiled again.
"""

import gzip
import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Final

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

ROOT: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from _wire.generate import generate  # noqa: E402  (the build may run from any directory)

PACKAGES: Final = ("_wire", "coordinator")
"""What is installed. The tests are not: their extensions exist only beside their sources."""

PACKAGE_DATA: Final = {
    "": ["*.pxd", "*.pyi", "*.pyx", "py.typed"],
    "_wire": ["schemas/*.schema"],
    "coordinator.dashboard": ["static/*", "static/vendor/*"],
    "coordinator.audit": ["schema.json"],
    "coordinator.config": ["kafka_broker_configs.json"],
}
"""`python -m _wire describe` reads the definitions at run time."""

DIRECTIVES: Final = {
    "language_level": 3,
    "auto_pickle": False,
    "binding": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}
CYTHON_THREADS: Final = 2


def installed_packages() -> list[str]:
    return find_packages(str(ROOT), include=[pattern for top in PACKAGES for pattern in (top, f"{top}.*")])


def extensions(folders: tuple[str, ...] = PACKAGES) -> list[Extension]:
    """One extension for every .pyx below `folders`."""
    sources = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.pyx"))
    return [
        Extension(
            ".".join(path.relative_to(ROOT).with_suffix("").parts),
            [str(path.relative_to(ROOT))],
            extra_compile_args=["-O3", "-g0"],
        )
        for path in sources
    ]


def compiled() -> list[Extension]:
    """The extensions that this build makes; none where EXTENSIONS_ARE_BUILT says that they are beside their sources.

    An editable install would otherwise compile each of them again, one after the other.
    """
    if os.environ.get("EXTENSIONS_ARE_BUILT"):
        return []
    generate()
    return extensions((*PACKAGES, "tests") if os.environ.get("COMPILE_TESTS") else PACKAGES)


class CompileExtensions(build_ext):
    """Translate the .pyx files when they are compiled, not whenever a tool asks for the metadata; on all processors."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count()

    def run(self) -> None:
        translated = cythonize(
            list(self.extensions),
            nthreads=CYTHON_THREADS,
            build_dir="build/cython",
            compiler_directives=DIRECTIVES,
            quiet=not self.verbose,
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]
        super().run()


class CleanBuild(build):
    """Build from an empty directory.

    Everything in the build directory gets into the wheel, and setuptools leaves what earlier builds made there: modules
    that have since been deleted, and extensions of the tests.
    """

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class SameSourceArchive(sdist):
    """The same files give the same bytes, if SOURCE_DATE_EPOCH says which time they have: setuptools takes the time and
    the user of the build."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):  # type: ignore
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def fixed(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = int(epoch), 0, 0, "", ""
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            return entry

        path = f"{base_name}.tar.gz"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", mtime=int(epoch), fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=fixed)  # in the order of the names
        return path


if __name__ == "__main__":
    setup(
        packages=installed_packages(),
        package_data=PACKAGE_DATA,
        ext_modules=compiled(),
        cmdclass={"build": CleanBuild, "build_ext": CompileExtensions, "sdist": SameSourceArchive},
        zip_safe=False,
    )
